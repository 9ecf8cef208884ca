// SPDX-License-Identifier: GPL-2.0-only

package class

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// The annotations of a pod.
const (
	Prefix             = "ioband.io/"
	resctrlPod         = "blockio.resources.beta.kubernetes.io/pod"
	resctrlContainer   = "blockio.resources.beta.kubernetes.io/container."
	containerInfix     = ".container."
	keyClass           = "class"
	keyWeight          = "weight"
	keyMinimum         = "minimum"
	keyMaximum         = "maximum"
	keyLatency         = "latency"
	annotationsAllowed = "class, weight, minimum, maximum and latency"
)

// Why a note about an annotation is made; the reason of the event.
const (
	Refused   = "IobandRefused"
	Bounded   = "IobandBounded"
	PlainUnit = "IobandPlainUnit"
)

// The annotations of a pod may have 256 KiB; these bound the notes about them.
const (
	notesMax   = 16
	messageMax = 1024
)

// Note says what of a wish was not done.
type Note struct {
	Reason  string
	Message string
}

// Wish is what a pod asks for.
type Wish struct {
	// Pod is for the cgroup of the pod.
	Pod Items
	// Containers are for those of its containers, by name.
	Containers map[string]Items
	Notes      []Note
	unknown    []string // names of annotations
	// Asked says that an annotation asks for something, even if it was refused.
	Asked bool
}

// annotation is one of a pod.
type annotation struct {
	name, value string
}

// asked is what the annotations say of one cgroup, by key.
type asked map[string]annotation

// sort puts the annotations into the pod's part and those of containers; "" is the pod.
func (w *Wish) sort(annotations map[string]string) map[string]asked {
	parts := map[string]asked{"": {}}
	add := func(container, key, value, name string) {
		if parts[container] == nil {
			parts[container] = asked{}
		}
		if before, twice := parts[container][key]; twice && before.value != value {
			w.note(Refused, "%s: %s names class %q", name, before.name, before.value)
			return
		}
		parts[container][key] = annotation{name, value}
	}
	for _, name := range sortedKeys(annotations) {
		value := strings.TrimSpace(annotations[name])
		if rest, found := strings.CutPrefix(name, Prefix); found {
			key, container, _ := strings.Cut(rest, containerInfix)
			add(container, key, value, name)
		} else if container, found := strings.CutPrefix(name, resctrlContainer); found {
			add(container, keyClass, value, name)
		} else if name == resctrlPod {
			add("", keyClass, value, name)
		}
	}
	return parts
}

// Concerned returns the annotations that are for ioband.
func Concerned(annotations map[string]string) map[string]string {
	concerned := map[string]string{}
	for name, value := range annotations {
		if strings.HasPrefix(name, Prefix) || strings.HasPrefix(name, resctrlContainer) || name == resctrlPod {
			concerned[name] = value
		}
	}
	return concerned
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// Wish returns what the annotations of a pod ask for, within the bounds.
func (c *Config) Wish(namespace string, annotations map[string]string) Wish {
	wish := Wish{Containers: map[string]Items{}}
	parts := wish.sort(annotations)
	for _, container := range sortedKeys(parts) {
		part := parts[container]
		wish.Asked = wish.Asked || len(part) > 0
		r := resolver{config: c, wish: &wish, part: part, container: container}
		items := r.resolve(namespace)
		if container == "" {
			wish.Pod = items
		} else {
			wish.Containers[container] = items
		}
	}
	if n := len(wish.unknown); n > 0 {
		wish.note(Refused, "%s (of %d that are not known): the annotations are %s", wish.unknown[0], n, annotationsAllowed)
	}
	return wish
}

func (w *Wish) note(reason, format string, args ...any) {
	note := Note{reason, fmt.Sprintf(format, args...)}
	if len(note.Message) > messageMax {
		note.Message = note.Message[:messageMax]
	}
	if len(w.Notes) < notesMax && !slices.Contains(w.Notes, note) {
		w.Notes = append(w.Notes, note)
	}
}

// resolver makes settings of the annotations for one cgroup.
type resolver struct {
	config    *Config
	wish      *Wish
	part      asked
	container string
}

func (r *resolver) note(reason, key, format string, args ...any) {
	name := cmp.Or(r.part[key].name, Prefix+key)
	r.wish.note(reason, "%s: %s", name, fmt.Sprintf(format, args...))
}

func (r *resolver) resolve(namespace string) Items {
	items := r.classItems(namespace)
	for _, key := range sortedKeys(r.part) {
		value := r.part[key].value
		switch key {
		case keyClass:
		case keyWeight:
			r.weight(items, value)
		case keyMinimum:
			r.minimum(items, value)
		case keyMaximum:
			r.maximum(items, value)
		case keyLatency:
			r.latency(items, value)
		default:
			r.wish.unknown = append(r.wish.unknown, r.part[key].name)
		}
	}
	r.keepMaximum(items)
	return items
}

// classItems are those of the class, or an empty setting; the caller may change them.  A pod
// with a refused class has the default class, and so does not escape its maximum.
func (r *resolver) classItems(namespace string) Items {
	items := Items{{}}
	if class, given := r.part[keyClass]; given {
		found, err := r.config.itemsOf(class.value, namespace)
		if err == nil && r.container != "" && found.haveMinimum() {
			err = fmt.Errorf("class %q has a minimum, and a minimum is for the pod as a whole", class.value)
		}
		if err == nil {
			return append(items, found...)
		}
		r.note(Refused, keyClass, "%v", err)
	}
	if r.container != "" || r.config.Default == "" {
		return items
	}
	found, _ := r.config.itemsOf(r.config.Default, namespace)
	return append(items, found...)
}

func (r *resolver) weight(items Items, text string) {
	weight, err := ParseWeight(text)
	bounds := r.config.Bounds.Weight
	if err != nil || bounds == nil {
		r.refuse(keyWeight, err)
		return
	}
	if bounded := min(max(weight, bounds.Min), bounds.Max); bounded != weight {
		r.note(Bounded, keyWeight, "%v is not within %v and %v; %v is set", weight, bounds.Min, bounds.Max, bounded)
		weight = bounded
	}
	for i := range items {
		items[i].Setting.Weight = weight
	}
}

// refuse notes why a value is not taken: it is malformed, or its kind has no bound.
func (r *resolver) refuse(key string, err error) {
	if err == nil {
		err = fmt.Errorf("the configuration of the node has no bounds for this, which means that it is refused")
	}
	r.note(Refused, key, "%v", err)
}

// rates reads rates, of which none is above the bound.
func (r *resolver) rates(key, text string, bound *Rates) (Rates, bool) {
	rates, err := ParseRates(text)
	if err != nil || bound == nil {
		r.refuse(key, err)
		return rates, false
	}
	if note := plainUnit(text); note != "" {
		r.note(PlainUnit, key, "%s", note)
	}
	for kind, name := range RateNames {
		switch {
		case rates[kind] == 0:
		case bound[kind] == 0:
			r.note(Refused, key, "the configuration of the node has no bound for %s", name)
			rates[kind] = 0
		case rates[kind] > bound[kind]:
			r.note(Bounded, key, "%s=%d is above the bound; %d is set", name, rates[kind], bound[kind])
			rates[kind] = bound[kind]
		}
	}
	return rates, true
}

// minimum is none of a container: those of all containers of a pod would add up beyond the bound.
func (r *resolver) minimum(items Items, text string) {
	if r.container != "" {
		r.refuse(keyMinimum, fmt.Errorf("a minimum is for the pod as a whole"))
		return
	}
	rates, ok := r.rates(keyMinimum, text, r.config.Bounds.minimum)
	if !ok {
		return
	}
	for i := range items {
		items[i].Setting.Min = rates
	}
}

// maximum makes that of a class narrower, never wider.
func (r *resolver) maximum(items Items, text string) {
	bound := r.config.Bounds.maximum
	rates, ok := r.rates(keyMaximum, text, bound)
	if !ok {
		return
	}
	for kind, name := range RateNames {
		if least := min(leastMaximum[kind], bound[kind]); rates[kind] != 0 && rates[kind] < least {
			r.note(Bounded, keyMaximum, "%s=%d is below the least maximum; %d is set", name, rates[kind], least)
			rates[kind] = least
		}
	}
	for i := range items {
		of := &items[i].Setting.Max
		for kind, name := range RateNames {
			switch {
			case rates[kind] == 0:
			case of[kind] != 0 && of[kind] < rates[kind]:
				r.note(Bounded, keyMaximum, "%s=%d is above the maximum of the class; %d is set",
					name, rates[kind], of[kind])
			default:
				of[kind] = rates[kind]
			}
		}
	}
}

func (r *resolver) latency(items Items, text string) {
	us, err := ParseLatency(text)
	bound := r.config.Bounds.latencyUS
	if err != nil || bound == 0 {
		r.refuse(keyLatency, err)
		return
	}
	if us < bound {
		r.note(Bounded, keyLatency, "%dus is below the bound; %dus is set", us, bound)
		us = bound
	}
	for i := range items {
		items[i].Setting.LatencyUS = us
	}
}

// keepMaximum bounds the minimum by the maximum, which the kernel would keep to.
func (r *resolver) keepMaximum(items Items) {
	for i := range items {
		setting := &items[i].Setting
		for kind := setting.contradiction(); kind != Kinds; kind = setting.contradiction() {
			r.note(Bounded, keyMinimum, "%s=%d is above the maximum; %d is set",
				RateNames[kind], setting.Min[kind], setting.Max[kind])
			setting.Min[kind] = setting.Max[kind]
		}
	}
}
