// SPDX-License-Identifier: GPL-2.0-only

// Package node keeps the settings of the pods' cgroups as the pods ask for them.
//
// It compares what the pods that run now ask for with what the kernel has, and changes
// what differs: when a container starts, when an annotation is edited, when a device of
// device-mapper comes or goes, and every few seconds.  It holds no file.  The runtime
// tells which pods there are, the cluster what their annotations are, and the kernel what
// their groups have.
package node

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"maps"
	"sync"
	"time"

	"dm-ioband/tools/ioband-node/internal/cgroup"
	"dm-ioband/tools/ioband-node/internal/class"
	"dm-ioband/tools/ioband-node/internal/ioband"
	"dm-ioband/tools/ioband-node/internal/loop"
)

// Reasons of events beside those of package class.
const (
	Unavailable = "IobandUnavailable"
	NoPool      = "IobandNoPool"
	Failed      = "IobandFailed"
)

// clusterPatience is how long the first comparison waits for the API server.
const clusterPatience = 10 * time.Second

// notYet is the state before the first comparison.
const notYet = "the settings are not compared yet"

// Kernel is what iobandctl does.
type Kernel interface {
	// Available says why there is no ioband; it is asked if there are no devices.
	Available(ctx context.Context) error
	Devices(ctx context.Context) ([]ioband.Device, error)
	Settings(ctx context.Context) (map[ioband.Group]class.Setting, error)
	Set(ctx context.Context, group ioband.Group, words []string) error
}

// Identity is how the runtime and the cluster both know a pod.  The UID alone does not do:
// the cluster's is an annotation in some pods, and so any pod could name that of another.
type Identity struct {
	Namespace string
	Name      string
	UID       string
}

// Pod is a sandbox of the runtime.  After the end of its sandbox a pod gets another, and the
// runtime lists both for a while.
type Pod struct {
	ID          string
	Namespace   string
	Name        string
	UID         string
	Cgroup      string
	Annotations map[string]string
	Containers  map[string]Container

	// order is higher the later the sandbox was added or started a container.
	order uint64
}

func (p Pod) identity() Identity { return Identity{p.Namespace, p.Name, p.UID} }

// Container is one of a pod, by its id.
type Container struct {
	Name   string
	Cgroup string
}

// Reporter tells the user of a pod something, as an event in the cluster.  It returns false
// if it cannot now; then it is called again at the next comparison.
type Reporter func(pod Pod, reason, message string) bool

// toldMax is how many different events a pod has in its life; an edit may make new ones.
const toldMax = 64

// Counts are for metrics.
type Counts struct {
	Pods        int
	Changes     uint64
	Failures    uint64
	Events      map[string]uint64
	Unavailable string
}

// Node is the state: all of it is the runtime's or the cluster's.
type Node struct {
	Config *class.Config
	Kernel Kernel
	Report Reporter
	// Root is the hierarchy of cgroups.
	Root string

	// Cluster tells that annotations come from the cluster.
	Cluster bool

	loop   loop.Loop
	listed chan struct{} // closed when the cluster has told all annotations once
	once   sync.Once     // closes it

	mutex  sync.Mutex // guards what follows; held for no call of Kernel or Report
	pods   map[string]Pod
	added  uint64 // the order of the last pod
	edits  map[Identity]map[string]string
	told   map[string]map[[sha256.Size]byte]bool // by the UID of a pod
	counts Counts
	// complaints are the last about groups of the configuration, by path.
	complaints map[string]string

	changing sync.Mutex // held while one group is compared and changed; before mutex
}

// New returns a node without pods.
func New(config *class.Config, kernel Kernel, report Reporter) *Node {
	return &Node{
		Config: config, Kernel: kernel, Report: report, Root: cgroup.Root,
		loop:   loop.New(),
		pods:   map[string]Pod{},
		edits:  map[Identity]map[string]string{},
		told:   map[string]map[[sha256.Size]byte]bool{},
		counts: Counts{Events: map[string]uint64{}, Unavailable: notYet},
		listed: make(chan struct{}), complaints: map[string]string{},
	}
}

// Kick has all compared soon.
func (n *Node) Kick() { n.loop.Kick() }

// Run compares all, again and again.
func (n *Node) Run(ctx context.Context) {
	n.awaitCluster(ctx)
	n.loop.Run(ctx, n.Compare)
}

// awaitCluster waits for the annotations of the cluster.  Those of the runtime are as old as
// the pod, and would take back later edits.
func (n *Node) awaitCluster(ctx context.Context) {
	if !n.Cluster {
		return
	}
	select {
	case <-n.listed:
	case <-ctx.Done():
	case <-time.After(clusterPatience):
		log.Print("cluster: no answer; the annotations are those that the runtime has")
	}
}

// Replace has the pods be these.  Of two sandboxes of one pod the later one counts.
func (n *Node) Replace(pods []Pod) {
	n.mutex.Lock()
	n.pods = make(map[string]Pod, len(pods))
	for _, pod := range pods {
		n.put(pod)
	}
	n.mutex.Unlock()
	n.Kick()
}

// put adds or changes a pod, which is the latest then.  The mutex is held.
func (n *Node) put(pod Pod) {
	n.added++
	pod.order = n.added
	n.pods[pod.ID] = pod
}

// Add adds a pod.
func (n *Node) Add(pod Pod) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if before, found := n.pods[pod.ID]; found {
		pod.Containers = before.Containers
	}
	n.put(pod)
}

// Remove forgets a sandbox; its groups end with its cgroups.  Another sandbox of the same pod
// keeps its settings, and its events are not made again.
func (n *Node) Remove(id string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	uid := n.pods[id].UID
	delete(n.pods, id)
	if !n.hasUID(uid) {
		delete(n.told, uid)
	}
}

// hasUID tells whether there is a sandbox of a pod.  The mutex is held.
func (n *Node) hasUID(uid string) bool {
	for _, pod := range n.pods {
		if pod.UID == uid {
			return true
		}
	}
	return false
}

// RemoveContainer forgets a container.
func (n *Node) RemoveContainer(pod, id string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if of := n.pods[pod].Containers; of != nil {
		containers := maps.Clone(of)
		delete(containers, id)
		changed := n.pods[pod]
		changed.Containers = containers
		n.pods[pod] = changed
	}
}

// Start sets the wishes of a container and its pod before the container runs.
func (n *Node) Start(ctx context.Context, pod Pod, id string, container Container) {
	n.AddContainer(pod, id, container)
	n.compare(ctx, func(other Pod) bool { return other.ID == pod.ID }, false)
}

// AddContainer adds a container and its pod.
func (n *Node) AddContainer(pod Pod, id string, container Container) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	containers := maps.Clone(n.pods[pod.ID].Containers)
	if containers == nil {
		containers = map[string]Container{}
	}
	containers[id] = container
	pod.Containers = containers
	n.put(pod)
}

// Edit takes over the annotations of a pod from the cluster.  Those of others, of which some
// change each second, start no comparison.
func (n *Node) Edit(pod Identity, annotations map[string]string) {
	annotations = class.Concerned(annotations)
	n.mutex.Lock()
	before, known := n.edits[pod]
	n.edits[pod] = annotations
	n.mutex.Unlock()
	if !known || !maps.Equal(before, annotations) {
		n.Kick()
	}
}

// Listed is called when the cluster has told the annotations of all pods.
func (n *Node) Listed() {
	n.once.Do(func() { close(n.listed) })
}

// Forget forgets the annotations of pods that are not in the cluster any more, for which
// the function is false.
func (n *Node) Forget(keep func(pod Identity) bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for pod := range n.edits {
		if !keep(pod) {
			delete(n.edits, pod)
		}
	}
}

// Counts returns the counters.
func (n *Node) Counts() Counts {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	counts := n.counts
	counts.Pods = len(n.latest())
	counts.Events = maps.Clone(n.counts.Events)
	return counts
}

// Pods returns the pods, with the annotations of the cluster where those are known.
func (n *Node) Pods() []Pod {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	latest := n.latest()
	pods := make([]Pod, 0, len(latest))
	for _, pod := range latest {
		if edited, found := n.edits[pod.identity()]; found {
			pod.Annotations = edited
		}
		pods = append(pods, pod)
	}
	return pods
}

// latest returns the last sandbox of each pod.  An earlier sandbox has the same cgroup, and its
// annotations may be older.  The mutex is held.
func (n *Node) latest() map[Identity]Pod {
	latest := make(map[Identity]Pod, len(n.pods))
	for _, pod := range n.pods {
		if pod.order > latest[pod.identity()].order {
			latest[pod.identity()] = pod
		}
	}
	return latest
}

// say reports something once, as long as the pod is there.
func (n *Node) say(pod Pod, reason, message string) {
	key := sha256.Sum256([]byte(reason + " " + message))
	n.mutex.Lock()
	if !n.hasUID(pod.UID) { // it has gone meanwhile
		n.mutex.Unlock()
		return
	}
	told := n.told[pod.UID]
	if told == nil {
		told = map[[sha256.Size]byte]bool{}
		n.told[pod.UID] = told
	}
	is := told[key] || len(told) >= toldMax
	if !is {
		told[key] = true
	}
	n.mutex.Unlock()
	if is {
		return
	}
	reported := n.Report(pod, reason, message)
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if !reported {
		delete(told, key)
		return
	}
	n.counts.Events[reason]++
	log.Printf("pod %s/%s: %s: %s", pod.Namespace, pod.Name, reason, message)
}

// complain logs a failure of a group of the configuration, once.
func (n *Node) complain(path, problem string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.complaints[path] != problem {
		n.complaints[path] = problem
		log.Printf("cgroup %s: %s", path, problem)
	}
}

func (n *Node) count(err error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if err != nil {
		n.counts.Failures++
	} else {
		n.counts.Changes++
	}
}

func (n *Node) setUnavailable(err error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	was := n.counts.Unavailable
	n.counts.Unavailable = ""
	if err != nil {
		n.counts.Unavailable = err.Error()
	}
	if n.counts.Unavailable != was {
		log.Printf("ioband: %s", orAvailable(n.counts.Unavailable))
	}
}

func orAvailable(problem string) string {
	if problem == "" {
		return "available"
	}
	return fmt.Sprintf("not available: %s", problem)
}
