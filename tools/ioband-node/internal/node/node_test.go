// SPDX-License-Identifier: GPL-2.0-only

package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dm-ioband/tools/ioband-node/internal/class"
	"dm-ioband/tools/ioband-node/internal/ioband"
)

// kernel keeps its messages as text.
type kernel struct {
	asked    chan struct{} // unless nil, has an entry for each list of devices
	mutex    sync.Mutex
	devices  []ioband.Device
	settings map[ioband.Group]class.Setting
	told     []string
	fails    error
	refuses  error
	lacks    error
}

func (k *kernel) Devices(context.Context) ([]ioband.Device, error) {
	if k.asked != nil {
		k.asked <- struct{}{}
	}
	return k.devices, k.fails
}

func (k *kernel) Available(context.Context) error { return k.lacks }

func (k *kernel) Settings(context.Context) (map[ioband.Group]class.Setting, error) {
	return k.settings, k.fails
}

func (k *kernel) Set(_ context.Context, group ioband.Group, words []string) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.told = append(k.told, fmt.Sprintf("%s%s %s %s", group.Tree.Pool, group.Tree.Device, group.Path, strings.Join(words, " ")))
	return k.refuses
}

// takeTold returns the messages since the last call, sorted.
func (k *kernel) takeTold() string {
	slices.Sort(k.told)
	told := strings.Join(k.told, "\n")
	k.told = nil
	return told
}

type rig struct {
	*Node
	kernel *kernel
	events []string
	full   bool // no event is taken
}

func newRig(t *testing.T) *rig {
	t.Helper()
	config, err := class.Parse([]byte(`
classes: {gold: {weight: 800}, bounded: {maximum: rbps=1MiB}}
bounds: {weight: {max: 500}}
groups: {/kubepods.slice: {weight: 400}}
`))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{kernel: &kernel{settings: map[ioband.Group]class.Setting{}}}
	r.kernel.devices = []ioband.Device{{Name: "io-a", Pool: "sda", Mode: "cgroup"}}
	r.Node = New(config, r.kernel, func(pod Pod, reason, message string) bool {
		if !r.full {
			r.events = append(r.events, pod.Name+" "+reason+" "+message)
		}
		return !r.full
	})
	r.Root = t.TempDir()
	return r
}

func (r *rig) cgroup(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(r.Root, path), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// web is how the cluster knows the pod of the rig.
var web = Identity{"default", "web", "u1"}

func (r *rig) pod(t *testing.T, annotations map[string]string) Pod {
	return Pod{ID: "s1", Namespace: "default", Name: "web", UID: "u1", Annotations: annotations,
		Cgroup: r.cgroup(t, "/kubepods/pod1")}
}

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestStartSetsPodAndContainer(t *testing.T) {
	r := newRig(t)
	pod := r.pod(t, map[string]string{"ioband.io/weight": "300", "ioband.io/class.container.db": "bounded"})
	db := Container{"db", r.cgroup(t, "/kubepods/pod1/c1")}
	r.Start(context.Background(), pod, "c1", db)
	check(t, "told", r.kernel.takeTold(), "sda /kubepods/pod1 weight=300\nsda /kubepods/pod1/c1 max_rbps=1048576")
	check(t, "events", strings.Join(r.events, "\n"), "")
}

func TestOnlyDifferencesAreTold(t *testing.T) {
	r := newRig(t)
	pod := r.pod(t, map[string]string{"ioband.io/weight": "300"})
	group := ioband.Group{Tree: ioband.Tree{Pool: "sda"}, Path: pod.Cgroup}
	r.kernel.settings[group] = class.Setting{Weight: 300}
	r.Replace([]Pod{pod})
	r.Compare(context.Background())
	check(t, "nothing differs", r.kernel.takeTold(), "")
	r.Edit(web, map[string]string{})
	r.Compare(context.Background())
	check(t, "the annotation is taken away", r.kernel.takeTold(), "sda /kubepods/pod1 weight=default")
	r.Edit(web, map[string]string{"ioband.io/class": "gold"})
	r.Compare(context.Background())
	check(t, "another", r.kernel.takeTold(), "sda /kubepods/pod1 weight=800")
	r.Forget(func(Identity) bool { return false })
	r.Compare(context.Background())
	check(t, "the runtime's annotations hold again", r.kernel.takeTold(), "")
}

func TestAnEditIsOfThePodWithAllThreeNames(t *testing.T) {
	r := newRig(t)
	r.Replace([]Pod{r.pod(t, map[string]string{"ioband.io/weight": "300"})})
	r.Edit(web, map[string]string{"ioband.io/class": "gold"})
	foreign := map[string]string{"ioband.io/weight": "1"}
	r.Edit(Identity{"default", "thief", "u1"}, foreign)
	r.Edit(Identity{"other", "web", "u1"}, foreign)
	r.Edit(Identity{"default", "web", "u2"}, foreign)
	r.Compare(context.Background())
	check(t, "told", r.kernel.takeTold(), "sda /kubepods/pod1 weight=800")
	r.Forget(func(pod Identity) bool { return pod.Name == web.Name })
	r.Compare(context.Background())
	check(t, "another pod is gone", r.kernel.takeTold(), "sda /kubepods/pod1 weight=800")
}

func TestAllTreesAndTheConfiguredGroups(t *testing.T) {
	r := newRig(t)
	r.cgroup(t, "/kubepods.slice")
	r.kernel.devices = append(r.kernel.devices,
		ioband.Device{Name: "own", Pool: "sda", Mode: "device+cgroup"},
		ioband.Device{Name: "u", Pool: "sdb", Mode: "uid"},
		ioband.Device{Name: "c", Pool: "sdc", Mode: "cgroup"})
	r.Replace([]Pod{r.pod(t, map[string]string{"ioband.io/class": "gold"})})
	r.Compare(context.Background())
	check(t, "told", r.kernel.takeTold(), strings.Join([]string{
		"sda /kubepods.slice weight=400", "sda /kubepods/pod1 weight=800",
		"sdaown /kubepods.slice weight=400", "sdaown /kubepods/pod1 weight=800",
		"sdc /kubepods.slice weight=400", "sdc /kubepods/pod1 weight=800"}, "\n"))
}

func TestAPodThatIsGone(t *testing.T) {
	r := newRig(t)
	pod := r.pod(t, map[string]string{"ioband.io/class": "gold"})
	r.Replace([]Pod{pod})
	if err := os.Remove(filepath.Join(r.Root, pod.Cgroup)); err != nil {
		t.Fatal(err)
	}
	r.kernel.refuses = &ioband.Error{Code: 3, Says: "no such group"}
	r.Compare(context.Background())
	check(t, "without a cgroup", r.kernel.takeTold(), "")
	r.Remove(pod.ID)
	if counts := r.Counts(); counts.Pods != 0 || counts.Failures != 0 || len(r.events) != 0 {
		t.Errorf("%+v, %v", counts, r.events)
	}
}

func TestTheLastSandboxOfAPodCounts(t *testing.T) {
	r := newRig(t)
	before := r.pod(t, map[string]string{"ioband.io/class": "tin"})
	after := r.pod(t, map[string]string{"ioband.io/class": "gold"})
	after.ID = "s2"
	path := r.cgroup(t, "/kubepods/pod1/c1")
	r.Replace([]Pod{before})
	r.Compare(context.Background())
	check(t, "events", strings.Join(r.events, "\n"), `web IobandRefused ioband.io/class: the configuration of the node has no class "tin"`)
	r.Add(after)
	for range 10 { // the order of a map is another one each time
		r.Compare(context.Background())
		check(t, "told", r.kernel.takeTold(), "sda /kubepods/pod1 weight=800")
	}
	r.Start(context.Background(), after, "c1", Container{"db", path})
	if pods := r.Counts().Pods; pods != 1 || len(r.Pods()) != 1 || r.Pods()[0].ID != "s2" {
		t.Errorf("%d pods: %v", pods, r.Pods())
	}
	r.kernel.takeTold()
	r.Remove("s1")
	r.Compare(context.Background())
	check(t, "the old sandbox is removed", r.kernel.takeTold(), "sda /kubepods/pod1 weight=800")
	if len(r.events) != 1 {
		t.Errorf("events %v", r.events)
	}
	r.Replace([]Pod{before, after})
	r.Compare(context.Background())
	check(t, "the runtime tells of both", r.kernel.takeTold(), "sda /kubepods/pod1 weight=800")
	r.Remove("s1")
	r.Remove("s2")
	if len(r.told) != 0 {
		t.Errorf("what was told of a pod that is gone is kept: %v", r.told)
	}
	r.say(before, class.Refused, "too late")
	if len(r.told) != 0 || len(r.events) != 1 {
		t.Errorf("a pod that is gone is told something: %v", r.events)
	}
}

func TestARemovedSandboxTakesNoEventsOfAnother(t *testing.T) {
	r := newRig(t)
	before := r.pod(t, map[string]string{"ioband.io/class": "tin"})
	after := before
	after.ID = "s2"
	r.Replace([]Pod{before, after})
	r.Compare(context.Background())
	r.Remove("s1")
	r.Compare(context.Background())
	if len(r.events) != 1 {
		t.Errorf("events %v", r.events)
	}
}

func TestEventsAreMadeOnce(t *testing.T) {
	noModule := &ioband.Error{Code: 6, Says: "the kernel has no ioband target\nload it"}
	asks := map[string]string{"ioband.io/weight": "300"}
	for _, test := range []struct {
		name        string
		annotations map[string]string
		prepare     func(k *kernel)
		want        string
	}{
		{"no module", asks, func(k *kernel) { k.fails = noModule },
			"web IobandUnavailable the node cannot share I/O, so the annotations have no effect: the kernel has no ioband target"},
		{"no module, and nothing is asked for", nil, func(k *kernel) { k.fails = noModule }, ""},
		{"another failure", asks, func(k *kernel) { k.fails = &ioband.Error{Code: 1, Says: "broken"} }, "web IobandFailed broken"},
		{"neither a module nor a device", asks, func(k *kernel) { k.devices, k.lacks = nil, noModule },
			"web IobandUnavailable the node cannot share I/O, so the annotations have no effect: the kernel has no ioband target"},
		{"no device", asks, func(k *kernel) { k.devices = nil },
			"web IobandNoPool the node has no ioband device yet, so the annotations have no effect"},
		{"refused by the kernel", asks, func(k *kernel) { k.refuses = &ioband.Error{Code: 3, Says: "io is not enabled"} },
			"web IobandFailed io is not enabled"},
		{"refused by the bounds", map[string]string{"ioband.io/latency": "5ms"}, func(*kernel) {},
			"web IobandRefused ioband.io/latency: the configuration of the node has no bounds for this, which means that it is refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			test.prepare(r.kernel)
			r.Replace([]Pod{r.pod(t, test.annotations)})
			r.Compare(context.Background())
			r.Compare(context.Background())
			check(t, "events", strings.Join(r.events, "\n"), test.want)
		})
	}
}

func TestAContainerThatIsRemoved(t *testing.T) {
	r := newRig(t)
	pod := r.pod(t, map[string]string{"ioband.io/class.container.db": "gold"})
	path := r.cgroup(t, "/kubepods/pod1/c1")
	r.Start(context.Background(), pod, "c1", Container{"db", path})
	r.kernel.takeTold()
	r.RemoveContainer(pod.ID, "c1")
	r.Compare(context.Background())
	check(t, "told", r.kernel.takeTold(), "")
}

func TestTheFirstComparisonAwaitsTheCluster(t *testing.T) {
	r := newRig(t)
	r.Cluster = true
	pod := r.pod(t, map[string]string{"ioband.io/class": "gold"})
	group := ioband.Group{Tree: ioband.Tree{Pool: "sda"}, Path: pod.Cgroup}
	r.kernel.settings[group] = class.Setting{Weight: 300}
	r.Replace([]Pod{pod})
	ctx, cancel := context.WithCancel(context.Background())
	r.kernel.asked = make(chan struct{}, 100)
	done := make(chan struct{})
	go func() { r.Run(ctx); close(done) }()
	// The annotation was edited to what the kernel has, before this process was started.
	r.Edit(web, map[string]string{"ioband.io/weight": "300"})
	select {
	case <-r.kernel.asked:
		t.Error("compared before the cluster has told the annotations")
	case <-time.After(200 * time.Millisecond):
	}
	r.Listed()
	r.Listed()
	<-r.kernel.asked
	<-r.kernel.asked
	cancel()
	<-done
	check(t, "told", r.kernel.takeTold(), "")
}

func TestAnEditForOthersStartsNoComparison(t *testing.T) {
	r := newRig(t)
	pod := r.pod(t, nil)
	r.kernel.asked = make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { r.Run(ctx); close(done) }()
	<-r.kernel.asked
	r.Edit(pod.identity(), map[string]string{"ioband.io/class": "gold"})
	<-r.kernel.asked
	<-r.kernel.asked // once more
	r.Edit(pod.identity(), map[string]string{"ioband.io/class": "gold", "example.org/time": "2"})
	select {
	case <-r.kernel.asked:
		t.Error("compared all")
	case <-time.After(300 * time.Millisecond):
	}
	cancel()
	<-done
}

func TestEventsAreTriedAgainAndBounded(t *testing.T) {
	r := newRig(t)
	r.Replace([]Pod{r.pod(t, map[string]string{"ioband.io/class": "tin"})})
	r.full = true
	r.Compare(context.Background())
	check(t, "counted", fmt.Sprint(r.Counts().Events), "map[]")
	r.full = false
	r.Compare(context.Background())
	r.Compare(context.Background())
	if len(r.events) != 1 {
		t.Errorf("events %v", r.events)
	}
	for i := range 2 * toldMax {
		r.Edit(web, map[string]string{"ioband.io/class": fmt.Sprint("tin-", i)})
		r.Compare(context.Background())
	}
	if len(r.events) != toldMax {
		t.Errorf("%d events", len(r.events))
	}
}

func TestNotReadyBeforeTheFirstComparison(t *testing.T) {
	r := newRig(t)
	check(t, "before", r.Counts().Unavailable, notYet)
	r.Compare(context.Background())
	check(t, "after", r.Counts().Unavailable, "")
}

func TestRunHearsOfAnEdit(t *testing.T) {
	r := newRig(t)
	r.Replace([]Pod{r.pod(t, nil)})
	ctx, cancel := context.WithCancel(context.Background())
	r.kernel.asked = make(chan struct{}, 100)
	done := make(chan struct{})
	go func() { r.Run(ctx); close(done) }()
	<-r.kernel.asked
	<-r.kernel.asked // of the kick of Replace
	r.Edit(web, map[string]string{"ioband.io/class": "gold"})
	<-r.kernel.asked
	r.Edit(web, map[string]string{"ioband.io/class": "gold", "other": "2"})
	<-r.kernel.asked
	cancel()
	<-done
	if told := r.kernel.takeTold(); !strings.Contains(told, "sda /kubepods/pod1 weight=800") {
		t.Errorf("told %q", told)
	}
}
