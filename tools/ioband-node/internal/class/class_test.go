// SPDX-License-Identifier: GPL-2.0-only

package class

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const config = `
classes:
  gold: {weight: 800, minimum: "rbps=50MiB", latency: 5ms}
  capped: {maximum: "rbps=10MiB wbps=10MiB", namespaces: ["batch-*"]}
  web: {weight: 50, namespaces: ["web"]}
default: gold
bounds:
  weight: {min: 10, max: 500}
  minimum: "rbps=20MiB"
  maximum: any
  latency: 2ms
groups:
  /kubepods.slice: {weight: 400}
volumes:
  - {match: "vg1/*", how: insert}
`

func parse(t testing.TB, text string) *Config {
	t.Helper()
	parsed, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func nowhere(string) bool { return false }

func reasons(wish Wish) string {
	var words []string
	for _, note := range wish.Notes {
		words = append(words, note.Reason)
	}
	return strings.Join(words, " ")
}

func TestWishOfThePod(t *testing.T) {
	gold := Setting{Weight: 800, Min: Rates{ReadBytes: 50 << 20}, LatencyUS: 5000}
	capped := Setting{Max: Rates{10 << 20, 10 << 20}}
	tests := []struct {
		name        string
		annotations map[string]string
		want        Setting
		reasons     string
		says        string
	}{
		{"nothing gives the default class", nil, gold, "", ""},
		{"class of goresctrl's annotation", map[string]string{resctrlPod: "capped"}, capped, "", ""},
		{"own annotation of a class", map[string]string{"ioband.io/class": "capped"}, capped, "", ""},
		{"both, and they differ", map[string]string{resctrlPod: "capped", "ioband.io/class": "gold"},
			capped, Refused, "ioband.io/class"},
		{"unknown class", map[string]string{resctrlPod: "tin"}, gold, Refused, `no class "tin"`},
		{"empty class", map[string]string{"ioband.io/class": ""}, gold, Refused, `no class ""`},
		{"class of another namespace", map[string]string{"ioband.io/class": "web"}, gold, Refused, `not for namespace "batch-1"`},
		{"unknown class beside a value", map[string]string{"ioband.io/class": "tin", "ioband.io/weight": "300"},
			Setting{Weight: 300, Min: gold.Min, LatencyUS: 5000}, Refused, `no class "tin"`},
		{"value beside a class", map[string]string{"ioband.io/class": "gold", "ioband.io/weight": "300"},
			Setting{Weight: 300, Min: gold.Min, LatencyUS: 5000}, "", ""},
		{"weight above the bound", map[string]string{"ioband.io/class": "capped", "ioband.io/weight": "900"},
			Setting{Weight: 500, Max: capped.Max}, Bounded, "500 is set"},
		{"malformed weight", map[string]string{"ioband.io/class": "capped", "ioband.io/weight": "much"},
			capped, Refused, "1 to 10000"},
		{"minimum above the bound", map[string]string{"ioband.io/minimum": "rbps=1GiB"},
			Setting{Weight: 800, Min: Rates{20 << 20}, LatencyUS: 5000}, Bounded, "rbps=1073741824"},
		{"minimum of a kind without a bound", map[string]string{"ioband.io/minimum": "wbps=1MiB"},
			Setting{Weight: 800, LatencyUS: 5000}, Refused, "no bound for wbps"},
		{"maximum is not wider than the class's",
			map[string]string{"ioband.io/class": "capped", "ioband.io/maximum": "rbps=1GiB wbps=1MiB wiops=5K"},
			Setting{Max: Rates{10 << 20, 1 << 20, 0, 5000}}, Bounded, "maximum of the class"},
		{"maximum that stops the pod", map[string]string{"ioband.io/class": "capped", "ioband.io/maximum": "rbps=1"},
			Setting{Max: Rates{64 << 10, 10 << 20}}, Bounded, "least maximum"},
		{"minimum above the own maximum",
			map[string]string{"ioband.io/minimum": "rbps=20MiB", "ioband.io/maximum": "rbps=5MiB"},
			Setting{Weight: 800, Min: Rates{5 << 20}, Max: Rates{5 << 20}, LatencyUS: 5000}, Bounded, "above the maximum"},
		{"latency below the bound", map[string]string{"ioband.io/latency": "100us"},
			Setting{Weight: 800, Min: gold.Min, LatencyUS: 2000}, Bounded, "2000us"},
		{"unknown key", map[string]string{"ioband.io/wieght": "300"}, gold, Refused, "ioband.io/wieght"},
		{"unit with another meaning than before",
			map[string]string{"ioband.io/class": "capped", "ioband.io/maximum": "wiops=5K rbps=1M wbps=1M"},
			Setting{Max: Rates{1_000_000, 1_000_000, 0, 5000}}, PlainUnit, "ioband.io/maximum: rbps=1M: K, M, G and T are powers of 1000"},
		{"annotations of others", map[string]string{"example.org/weight": "300"}, gold, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wish := parse(t, config).Wish("batch-1", test.annotations)
			if got := wish.Pod.On(nowhere); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if got := reasons(wish); got != test.reasons {
				t.Errorf("reasons %q, want %q: %v", got, test.reasons, wish.Notes)
			}
			if test.says != "" && !strings.Contains(wish.Notes[0].Message, test.says) {
				t.Errorf("%q does not say %q", wish.Notes[0].Message, test.says)
			}
		})
	}
}

func TestWishOfContainers(t *testing.T) {
	wish := parse(t, config).Wish("default", map[string]string{
		"ioband.io/weight.container.db":                          "400",
		"blockio.resources.beta.kubernetes.io/container.sidecar": "capped",
	})
	if got := wish.Containers["db"].On(nowhere); got != (Setting{Weight: 400}) {
		t.Errorf("db: %+v", got)
	}
	if got := wish.Containers["sidecar"].On(nowhere); got != (Setting{}) {
		t.Errorf("a class of another namespace: %+v", got)
	}
	if len(wish.Notes) != 1 || !strings.Contains(wish.Notes[0].Message, `not for namespace "default"`) {
		t.Errorf("notes: %v", wish.Notes)
	}
	if !wish.Asked || parse(t, config).Wish("default", nil).Asked {
		t.Error("Asked is not what the annotations say")
	}
}

func TestAContainerHasNoMinimum(t *testing.T) {
	wish := parse(t, config).Wish("default", map[string]string{
		"ioband.io/minimum.container.db":   "rbps=1MiB",
		"ioband.io/weight.container.db":    "300",
		"ioband.io/class.container.golden": "gold",
	})
	for name, want := range map[string]Setting{"db": {Weight: 300}, "golden": {}} {
		if got := wish.Containers[name].On(nowhere); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if reasons(wish) != Refused+" "+Refused || !strings.Contains(wish.Notes[0].Message, "pod as a whole") {
		t.Errorf("%v", wish.Notes)
	}
}

func TestTheNotesAreBounded(t *testing.T) {
	annotations := map[string]string{"ioband.io/class": strings.Repeat("x", 2000)}
	for i := range 100 {
		annotations[fmt.Sprint("ioband.io/unknown-", i)] = "1"
	}
	wish := parse(t, config).Wish("default", annotations)
	if len(wish.Notes) != 2 || len(wish.Notes[0].Message) != messageMax || !strings.Contains(wish.Notes[1].Message, "of 100") {
		t.Errorf("%v", wish.Notes)
	}
	for i := range 100 {
		annotations[fmt.Sprint("ioband.io/weight.container.", i)] = fmt.Sprint("w", i)
	}
	if wish := parse(t, config).Wish("default", annotations); len(wish.Notes) != notesMax {
		t.Errorf("%d notes", len(wish.Notes))
	}
}

// Each word that iobandctl gets.
var word = regexp.MustCompile(`^[a-z_]+=[0-9a-z]+$`)

// checkItems checks that no setting exceeds what config allows.
func checkItems(t *testing.T, items Items, isContainer bool) {
	s := items.On(nowhere)
	if s.Weight != 0 && s.Weight != 50 && s.Weight != 800 && (s.Weight < 10 || s.Weight > 500) {
		t.Errorf("weight %d", s.Weight)
	}
	if s.LatencyUS != 0 && s.LatencyUS < 2000 {
		t.Errorf("latency %d", s.LatencyUS)
	}
	if isContainer && items.haveMinimum() {
		t.Errorf("minimum of a container: %v", s.Min)
	}
	for kind, least := range leastMaximum {
		if s.Max[kind] != 0 && (s.Max[kind] < least || s.Max[kind] > RateMax) {
			t.Errorf("maximum %v", s.Max)
		}
		if s.Min[kind] > 50<<20 || kind != ReadBytes && s.Min[kind] != 0 {
			t.Errorf("minimum %v", s.Min)
		}
		if s.Max[kind] != 0 && s.Min[kind] > s.Max[kind] {
			t.Errorf("minimum %v, maximum %v", s.Min, s.Max)
		}
	}
	for _, text := range (Setting{}).Changes(s) {
		if !word.MatchString(text) {
			t.Errorf("%q", text)
		}
	}
}

// FuzzWish shows that no annotations get more than the configuration allows ("make fuzz").
func FuzzWish(f *testing.F) {
	for _, seed := range [][4]string{
		{"ioband.io/weight", "9000", "ioband.io/class", "gold"},
		{"ioband.io/minimum", "rbps=60MiB", "ioband.io/minimum.container.db", "rbps=1"},
		{"ioband.io/maximum", "rbps=10M wiops=7", "ioband.io/latency", "2.5ms"},
		{"ioband.io/maximum", "rbps=1MiB", "ioband.io/minimum", "rbps=5MiB wiops=3"},
		{resctrlPod, "capped", resctrlContainer + "db", "web"},
		{"ioband.io/weight.container.db", "idle", "ioband.io/class.container.db", "gold"},
		{"ioband.io/latency", "1us", "ioband.io/nothing", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], "default")
	}
	configured := parse(f, config)
	f.Fuzz(func(t *testing.T, name, value, other, second, namespace string) {
		wish := configured.Wish(namespace, map[string]string{name: value, other: second})
		checkItems(t, wish.Pod, false)
		for _, items := range wish.Containers {
			checkItems(t, items, true)
		}
		if len(wish.Notes) > notesMax {
			t.Errorf("%d notes", len(wish.Notes))
		}
		for _, note := range wish.Notes {
			if len(note.Message) > messageMax {
				t.Errorf("a note of %d bytes", len(note.Message))
			}
		}
	})
}

func TestConcerned(t *testing.T) {
	want := map[string]string{"ioband.io/class": "a", resctrlPod: "b", resctrlContainer + "db": "c"}
	all := map[string]string{"ioband.i": "x", "example.org/ioband.io/class": "x", resctrlPod + "s": "x"}
	maps.Copy(all, want)
	if got := Concerned(all); !maps.Equal(got, want) {
		t.Error(got)
	}
}

func TestWithoutBoundsValuesAreRefused(t *testing.T) {
	for _, key := range []string{"weight=5", "minimum=rbps=5", "maximum=rbps=5", "latency=5ms"} {
		name, value, _ := strings.Cut(key, "=")
		wish := parse(t, "").Wish("default", map[string]string{Prefix + name: value})
		if reasons(wish) != Refused || wish.Pod.On(nowhere) != (Setting{}) {
			t.Errorf("%s: %v", key, wish)
		}
	}
}

func TestClassFileOfGoresctrl(t *testing.T) {
	directory := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(directory, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	classes := write("blockio.yaml", `
Classes:
  low:
    - Weight: 80
    - Devices: [/dev/sd*]
      ThrottleReadBps: 50M
      ThrottleWriteIOPS: 10k
    - Devices: [/dev/sda]
      ThrottleReadBps: 1Mi
      Weight: 50
`)
	loaded, err := Load(write("node.yaml", "classFile: "+classes+"\nbounds: {latency: 1ms}"))
	if err != nil {
		t.Fatal(err)
	}
	items := loaded.Wish("default", map[string]string{resctrlPod: "low", "ioband.io/latency": "3ms"}).Pod
	on := func(path string) Setting {
		return items.On(func(pattern string) bool {
			fits, _ := filepath.Match(pattern, path)
			return fits
		})
	}
	for path, want := range map[string]Setting{
		"/dev/vda": {Weight: 80, LatencyUS: 3000},
		"/dev/sdb": {Weight: 80, Max: Rates{ReadBytes: 50e6, WriteIOs: 10000}, LatencyUS: 3000},
		"/dev/sda": {Weight: 50, Max: Rates{ReadBytes: 1 << 20}, LatencyUS: 3000},
	} {
		if got := on(path); got != want {
			t.Errorf("%s: got %+v, want %+v", path, got, want)
		}
	}
}

func TestTheClassIdleIsBelowAllWeights(t *testing.T) {
	asks := map[string]string{"ioband.io/weight": "idle"}
	for bounds, want := range map[string]Weight{"{max: 500}": 1, "{min: 20, max: 500}": 20, "{min: idle, max: 500}": Idle} {
		wish := parse(t, "bounds: {weight: "+bounds+"}").Wish("shop", asks)
		if got := wish.Pod.On(nowhere).Weight; got != want || (got == Idle) != (len(wish.Notes) == 0) {
			t.Errorf("within %s: %v, %v", bounds, got, wish.Notes)
		}
	}
	named := map[string]string{"ioband.io/class": "batch"}
	idle := parse(t, "classes: {batch: {weight: idle}}").Wish("shop", named).Pod.On(nowhere)
	if got := (Setting{}).Changes(idle); !slices.Equal(got, []string{"weight=idle"}) {
		t.Errorf("changes to idle are %v", got)
	}
	if got := idle.Changes(Setting{}); !slices.Equal(got, []string{"weight=default"}) {
		t.Errorf("changes from idle are %v", got)
	}
}

func TestMistakesInTheConfiguration(t *testing.T) {
	for text, says := range map[string]string{
		"clases: {}":                "clases",
		"classes: {a: {weight: 0}}": "1 to 10000",
		"classes: {a: {minimum: rbps=2MiB, maximum: rbps=1MiB}}":   "minimum of rbps",
		"classes: {a: {latency: 5}}":                               "us, ms or s",
		"classes: {a: {maximum: 'rbps=1 rbps=2'}}":                 "given twice",
		"classes: {a: {maximum: speed=1}}":                         "none of rbps=",
		"bounds: {weight: {min: 50, max: 20}}":                     "not less than min",
		"bounds: {weight: {min: 50}}":                              "not less than min",
		"bounds: {weight: {min: 50, max: much}}":                   "1 to 10000",
		"bounds: {maximum: all}":                                   "bounds: maximum",
		"volumes: [{match: vg/*, how: put}]":                       "neither insert nor wrap",
		"volumes: [{match: '[', how: wrap}]":                       "no pattern",
		"groups: {kubepods.slice: {weight: 5}}":                    "not the path of a cgroup",
		"groups: {/a: {weight: 5, latency: 11s}}":                  "10s",
		"classes: {a: {namespaces: ['[']}}":                        "namespaces",
		"classes: {a: {maximum: rbps=2TiB}}":                       "from 1 to",
		"classes: {a: {weight: 5, colour: red}}":                   "colour",
		"bounds: {latency: soon}":                                  "bounds: latency",
		"bounds: {minimum: rbps=0}":                                "bounds: minimum",
		"volumes: [{match: vg/*, how: insert, pools: a}]":          "pools",
		"classes: {a: {weight: 5}}\ndefault: [a]":                  "line 2",
		"classes: {a: {maximum: ' '}}":                             "no rate is given",
		"classes: {a: {maximum: rbps=18446744073709551615KiB}}":    "from 1 to",
		"groups: {/kubepods.slice/../a: {weight: 5}}":              "not the path of a cgroup",
		"classes: {a: {weight: 5}}\nclasses: {b: {weight: 5}}":     "already defined",
		"classes: {a: {latency: 0.1us}}":                           "from 1us",
		"classes: {a: {latency: NaNs}}":                            "from 1us",
		"classes: {a: {maximum: rbps=-1}}":                         "from 1 to",
		"bounds: {weight: {min: 1, max: 20000}}":                   "1 to 10000",
		"bounds: {weight: {min: 1, max: 20}, weights: {max: 2}}\n": "weights",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v does not say %q", text, err, says)
		}
	}
}

func TestChanges(t *testing.T) {
	from := Setting{Weight: 300, Max: Rates{ReadBytes: 5}, LatencyUS: 2000}
	to := Setting{Max: Rates{WriteIOs: 7}, Min: Rates{ReadBytes: 3}}
	want := []string{"weight=default", "max_rbps=max", "min_rbps=3", "max_wiops=7", "latency=none"}
	if got := from.Changes(to); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := to.Changes(to); got != nil {
		t.Errorf("no change is %v", got)
	}
	back := []string{"weight=300", "max_rbps=5", "min_rbps=0", "max_wiops=max", "latency=2000us"}
	if got := to.Changes(from); !reflect.DeepEqual(got, back) {
		t.Errorf("got %v, want %v", got, back)
	}
}

// TestPlainUnits sees that each item with a unit that has another meaning than before is named
// once.
func TestPlainUnits(t *testing.T) {
	notes := parse(t, `
classes:
  b: {minimum: "riops=5K rbps=1K", maximum: "rbps=2M wbps=1M"}
  a: {maximum: "rbps=10MB wbps=1MiB wiops=5K"}
bounds: {minimum: "rbps=1GiB", maximum: "wbps=1G"}
groups:
  /kubepods.slice: {maximum: "wbps=1T"}
`).Notes()
	var items []string
	for _, note := range notes {
		item, _, _ := strings.Cut(note, ": K, M, G and T are powers of 1000")
		items = append(items, item)
	}
	want := []string{"classes: b: rbps=1K", "groups: /kubepods.slice: wbps=1T", "bounds: wbps=1G"}
	if !reflect.DeepEqual(items, want) {
		t.Errorf("got %q, want %q", items, want)
	}
	if notes := parse(t, config).Notes(); notes != nil {
		t.Errorf("notes without such a unit: %q", notes)
	}
}

// TestUnits sees that units mean what iobandctl makes of them.
func TestUnits(t *testing.T) {
	for text, want := range map[string]Rates{
		"rbps=50M":             {ReadBytes: 50_000_000},
		"rbps=50MB wbps=7K":    {ReadBytes: 50_000_000, WriteBytes: 7000},
		"rbps=50MiB":           {ReadBytes: 50 << 20},
		"wbps=1TiB riops=2K":   {WriteBytes: RateMax, ReadIOs: 2000},
		"rbps=1000 wiops=3M":   {ReadBytes: 1000, WriteIOs: 3_000_000},
		"rbps=999GB wbps=1KiB": {ReadBytes: 999_000_000_000, WriteBytes: 1024},
	} {
		if got, err := ParseRates(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"riops=2KiB", "riops=2KB", "rbps=5B", "rbps=5iB", "rbps=5Mi", "rbps=MiB", "rbps=5KK"} {
		if got, err := ParseRates(text); err == nil || !strings.Contains(err.Error(), "powers of 1024") {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
