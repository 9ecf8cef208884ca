// SPDX-License-Identifier: GPL-2.0-only

// Package class turns the annotations of a pod into settings of groups, within the bounds
// that the administrator has set.  It is pure, but for reading files.
package class

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"gopkg.in/yaml.v3"
)

// Config is the configuration of the node.
type Config struct {
	// Classes are what the annotation of a class may name.
	Classes map[string]Class `yaml:"classes"`
	// ClassFile has further classes, in the format of goresctrl.
	ClassFile string `yaml:"classFile"`
	// Default is the class of pods that name none.
	Default string `yaml:"default"`
	// Bounds limit what a pod may ask for beside a class.
	Bounds Bounds `yaml:"bounds"`
	// Groups are settings of cgroups by path, such as the slices of the kubelet.
	Groups map[string]Class `yaml:"groups"`
	// Volumes are to have ioband.
	Volumes []Volume `yaml:"volumes"`

	resctrl map[string]Items
	notes   []string
}

// Notes are what to tell the administrator of a valid configuration, one for each item.
func (c *Config) Notes() []string { return c.notes }

// Class is a named setting.
type Class struct {
	Words `yaml:",inline"`
	// Namespaces are patterns; without any, pods of all namespaces may name the class.
	Namespaces []string `yaml:"namespaces"`

	setting Setting
}

// Words are the parts of a setting as text.
type Words struct {
	Weight  string `yaml:"weight"`
	Minimum string `yaml:"minimum"`
	Maximum string `yaml:"maximum"`
	Latency string `yaml:"latency"`
}

// Volume names devices that are to have ioband.
type Volume struct {
	// Match is a pattern: VG/LV, or a path below /dev.
	Match string `yaml:"match"`
	// How is insert or wrap.
	How string `yaml:"how"`
	// Pool is the name of the pool; without one iobandctl names it after the disks.
	Pool string `yaml:"pool"`
}

// Load reads the configuration, and the class file that it names.
func Load(file string) (*Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	config, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if config.ClassFile != "" {
		text, err := os.ReadFile(config.ClassFile)
		if err != nil {
			return nil, err
		}
		if err := config.addClassFile(text); err != nil {
			return nil, fmt.Errorf("%s: %w", config.ClassFile, err)
		}
	}
	if config.Default != "" && !config.has(config.Default) {
		return nil, fmt.Errorf("%s: default: there is no class %q", file, config.Default)
	}
	return config, nil
}

// decode refuses keys that are not known.
func decode(text []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// Parse reads the configuration without its class file.
func Parse(text []byte) (*Config, error) {
	config := &Config{}
	if err := decode(text, config); err != nil {
		return nil, err
	}
	if err := config.readAll("classes", config.Classes); err != nil {
		return nil, err
	}
	if err := config.readAll("groups", config.Groups); err != nil {
		return nil, err
	}
	for name := range config.Groups {
		if !path.IsAbs(name) || path.Clean(name) != name || name == "/" {
			return nil, fmt.Errorf("groups: %q is not the path of a cgroup below /sys/fs/cgroup", name)
		}
	}
	for i, volume := range config.Volumes {
		if err := volume.check(); err != nil {
			return nil, fmt.Errorf("volumes: entry %d: %w", i+1, err)
		}
	}
	config.noteUnits("bounds", config.Bounds.Minimum, config.Bounds.Maximum)
	return config, config.Bounds.read()
}

// noteUnits makes a note if the rates of an item have a unit with another meaning than before.
func (c *Config) noteUnits(item, minimum, maximum string) {
	if note := cmp.Or(plainUnit(minimum), plainUnit(maximum)); note != "" {
		c.notes = append(c.notes, item+": "+note)
	}
}

func (c *Config) readAll(where string, classes map[string]Class) error {
	for _, name := range sortedKeys(classes) {
		class := classes[name]
		setting, err := class.read()
		if err != nil {
			return fmt.Errorf("%s: %s: %w", where, name, err)
		}
		for _, pattern := range class.Namespaces {
			if _, err := path.Match(pattern, ""); err != nil {
				return fmt.Errorf("%s: %s: namespaces: %q: %w", where, name, pattern, err)
			}
		}
		class.setting = setting
		classes[name] = class
		c.noteUnits(where+": "+name, class.Minimum, class.Maximum)
	}
	return nil
}

func (v Volume) check() error {
	if _, err := path.Match(v.Match, ""); err != nil || v.Match == "" {
		return fmt.Errorf("match: %q is no pattern of VG/LV or of a path", v.Match)
	}
	if v.How != "insert" && v.How != "wrap" {
		return fmt.Errorf("how: %q is neither insert nor wrap", v.How)
	}
	return nil
}

// read reads the words; an empty one is the default.
func (w Words) read() (Setting, error) {
	var setting Setting
	var err error
	if w.Weight != "" {
		if setting.Weight, err = ParseWeight(w.Weight); err != nil {
			return setting, fmt.Errorf("weight: %w", err)
		}
	}
	if w.Minimum != "" {
		if setting.Min, err = ParseRates(w.Minimum); err != nil {
			return setting, fmt.Errorf("minimum: %w", err)
		}
	}
	if w.Maximum != "" {
		if setting.Max, err = ParseRates(w.Maximum); err != nil {
			return setting, fmt.Errorf("maximum: %w", err)
		}
	}
	if w.Latency != "" {
		if setting.LatencyUS, err = ParseLatency(w.Latency); err != nil {
			return setting, fmt.Errorf("latency: %w", err)
		}
	}
	if kind := setting.contradiction(); kind != Kinds {
		return setting, fmt.Errorf("the minimum of %s is more than the maximum", RateNames[kind])
	}
	return setting, nil
}

// contradiction returns the first kind with a minimum above its maximum, or Kinds.
func (s Setting) contradiction() int {
	for kind := range RateNames {
		if s.Max[kind] != 0 && s.Min[kind] > s.Max[kind] {
			return kind
		}
	}
	return Kinds
}

// GroupItems are the settings of the cgroups that the configuration names by path.
func (c *Config) GroupItems() map[string]Items {
	all := make(map[string]Items, len(c.Groups))
	for name, class := range c.Groups {
		all[name] = Items{{Setting: class.setting}}
	}
	return all
}

func (c *Config) has(name string) bool {
	_, found := c.Classes[name]
	if !found {
		_, found = c.resctrl[name]
	}
	return found
}

// itemsOf returns the settings of a class for pods of a namespace.
func (c *Config) itemsOf(name, namespace string) (Items, error) {
	if class, found := c.Classes[name]; found {
		if !class.allows(namespace) {
			return nil, fmt.Errorf("class %q is not for namespace %q", name, namespace)
		}
		return Items{{Setting: class.setting}}, nil
	}
	if items, found := c.resctrl[name]; found {
		return items, nil
	}
	return nil, fmt.Errorf("the configuration of the node has no class %q", name)
}

func (c Class) allows(namespace string) bool {
	for _, pattern := range c.Namespaces {
		if fits, _ := path.Match(pattern, namespace); fits {
			return true
		}
	}
	return len(c.Namespaces) == 0
}
