// SPDX-License-Identifier: GPL-2.0-only

// Package nri is the plugin of the container runtime: it learns of pods and containers,
// and has their settings made before a container runs.
package nri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"
	"github.com/containerd/ttrpc"

	"dm-ioband/tools/ioband-node/internal/cgroup"
	"dm-ioband/tools/ioband-node/internal/node"
)

const (
	pluginName  = "ioband"
	pluginIndex = "50"
)

// The start of a container waits for its settings for three quarters of the time after
// which the runtime drops a plugin: 2 seconds, unless the runtime is configured otherwise.
const (
	patienceParts = 3
	patienceOf    = 4
)

// dialPatience is how long the runtime may take to accept a connection.
const dialPatience = 10 * time.Second

// registration is how long the runtime may take to configure a plugin that it has registered.
var registration = 10 * time.Second

// retry is the time between two attempts to reach the runtime.
const retry = time.Second

// Plugin is connected to one runtime.
type Plugin struct {
	Node   *node.Node
	Socket string

	connected  atomic.Bool
	patience   atomic.Int64 // of the start of a container
	late       atomic.Int64 // settings that are still being made, of containers that run
	configured chan struct{}
	givenUp    atomic.Bool          // no configuration is taken any more
	timeout    func() time.Duration // that the runtime has said
}

// Connected tells whether the runtime has configured the plugin.
func (p *Plugin) Connected() bool { return p.connected.Load() }

// Run connects to the runtime, and again when it is started anew, until the end.
func (p *Plugin) Run(ctx context.Context) {
	said := ""
	for ctx.Err() == nil {
		err := p.serve(ctx)
		p.connected.Store(false)
		if ctx.Err() == nil && err != nil && err.Error() != said {
			said = err.Error()
			log.Printf("runtime: %s; trying again", said)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

// serve is one connection.  All of it has ended when this returns.
func (p *Plugin) serve(ctx context.Context) error {
	connection, err := net.DialTimeout("unix", p.Socket, dialPatience)
	if err != nil {
		return err
	}
	defer connection.Close()
	p.configured = make(chan struct{}, 1)
	p.givenUp.Store(false)
	registered, closed := make(chan struct{}, 1), make(chan struct{}, 1)
	plugin, err := stub.New(p, stub.WithPluginName(pluginName), stub.WithPluginIdx(pluginIndex),
		stub.WithConnection(connection), stub.WithOnClose(func() { signal(closed) }),
		stub.WithTTRPCOptions([]ttrpc.ClientOpts{afterCall(func() { signal(registered) })}, nil))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.timeout = plugin.RequestTimeout
	ended := make(chan error, 1)
	go func() { ended <- plugin.Run(ctx) }()
	select { // the stub waits for 5 seconds
	case err := <-ended:
		return err
	case <-registered:
	}
	select {
	case err := <-ended:
		return err
	case <-p.configured:
	case <-time.After(registration):
		p.giveUp(plugin)
		cancel()
		<-ended
		return fmt.Errorf("%s: no configuration within %v", p.Socket, registration)
	}
	select {
	case err := <-ended:
		plugin.Stop()
		return err
	case <-closed:
		cancel()
		<-ended
		return fmt.Errorf("%s: the connection was closed", p.Socket)
	}
}

// afterCall has a function called after each call of the stub; the first registers the plugin.
func afterCall(done func()) ttrpc.ClientOpts {
	return ttrpc.WithUnaryClientInterceptor(func(ctx context.Context, request *ttrpc.Request, response *ttrpc.Response,
		_ *ttrpc.UnaryClientInfo, invoke ttrpc.Invoker) error {
		defer done()
		return invoke(ctx, request, response)
	})
}

// giveUp ends a stub that waits for its configuration after it was registered.  It does so without
// an end, even if the connection is closed, but a configuration that is refused ends it.
func (p *Plugin) giveUp(plugin stub.Stub) {
	p.givenUp.Store(true)
	if service, is := plugin.(api.PluginService); is {
		_, _ = service.Configure(context.Background(), &api.ConfigureRequest{})
	}
}

// signal sends without waiting; once is as good as twice.
func signal(channel chan<- struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

// Configure is called by the runtime first.
func (p *Plugin) Configure(_ context.Context, _, runtime, version string) (api.EventMask, error) {
	if p.givenUp.Load() {
		return 0, errors.New("the configuration comes too late")
	}
	log.Printf("runtime: connected to %s %s", runtime, version)
	timeout := p.timeout()
	if timeout <= 0 {
		timeout = stub.DefaultRequestTimeout
	}
	p.patience.Store(int64(timeout * patienceParts / patienceOf))
	p.connected.Store(true)
	signal(p.configured)
	return 0, nil
}

// Synchronize is called next, with all that runs.  The settings of before are in the
// kernel, so nothing is lost if what differs is changed a little later.
func (p *Plugin) Synchronize(_ context.Context, pods []*api.PodSandbox, containers []*api.Container) ([]*api.ContainerUpdate, error) {
	known, lived := map[string]node.Pod{}, map[string]life{}
	for _, pod := range pods {
		known[pod.GetId()] = podOf(pod)
		lived[pod.GetId()] = life{running: pod.GetPid() != 0}
	}
	for _, container := range containers {
		id := container.GetPodSandboxId()
		if pod, found := known[id]; found {
			pod.Containers[container.GetId()] = containerOf(container)
			lived[id] = lived[id].with(container)
		}
	}
	list := make([]node.Pod, 0, len(known))
	for _, pod := range known {
		list = append(list, pod)
	}
	slices.SortFunc(list, func(a, b node.Pod) int { return lived[a.ID].compare(lived[b.ID]) })
	p.Node.Replace(list)
	return nil, nil
}

// life orders the sandboxes of one pod: the runtime tells no time of theirs.
type life struct {
	running bool  // the sandbox, or a container in it
	created int64 // its last container
}

func (l life) with(container *api.Container) life {
	return life{
		l.running || container.GetState() == api.ContainerState_CONTAINER_RUNNING,
		max(l.created, container.GetCreatedAt()),
	}
}

func (l life) compare(other life) int {
	if l.running != other.running {
		if other.running {
			return -1
		}
		return 1
	}
	return cmp.Compare(l.created, other.created)
}

// RunPodSandbox is called for a pod that begins.
func (p *Plugin) RunPodSandbox(_ context.Context, pod *api.PodSandbox) error {
	p.Node.Add(podOf(pod))
	return nil
}

// StopPodSandbox is called when its containers have ended.
func (p *Plugin) StopPodSandbox(_ context.Context, pod *api.PodSandbox) error {
	p.Node.Remove(pod.GetId())
	return nil
}

// RemovePodSandbox is called when it is removed, in some cases without a stop.
func (p *Plugin) RemovePodSandbox(_ context.Context, pod *api.PodSandbox) error {
	p.Node.Remove(pod.GetId())
	return nil
}

// StartContainer is called when the cgroup of a container is there, and its program does
// not run yet.  A failure is an event on the pod, and does not hinder the container.  The
// runtime starts one container after another, so that only the first waits for a kernel that
// does not answer.
func (p *Plugin) StartContainer(_ context.Context, pod *api.PodSandbox, container *api.Container) error {
	if p.late.Load() > 0 {
		p.Node.AddContainer(podOf(pod), container.GetId(), containerOf(container))
		p.Node.Kick()
		return nil
	}
	done, patience := make(chan struct{}), time.Duration(p.patience.Load())
	go func() {
		p.Node.Start(context.Background(), podOf(pod), container.GetId(), containerOf(container))
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patience):
		p.late.Add(1)
		go func() { <-done; p.late.Add(-1) }()
		log.Printf("container %s: starts before its settings are made, which took more than %v",
			container.GetId(), patience)
	}
	return nil
}

// PostUpdateContainer is called when the runtime has changed the cgroup.
func (p *Plugin) PostUpdateContainer(context.Context, *api.PodSandbox, *api.Container) error {
	p.Node.Kick()
	return nil
}

// RemoveContainer is called when a container is removed.
func (p *Plugin) RemoveContainer(_ context.Context, pod *api.PodSandbox, container *api.Container) error {
	p.Node.RemoveContainer(pod.GetId(), container.GetId())
	return nil
}

func podOf(pod *api.PodSandbox) node.Pod {
	path, err := cgroup.OfPod(pod.GetLinux().GetCgroupParent())
	if err != nil {
		log.Printf("pod %s/%s: cgroup parent: %v; it has no group of its own", pod.GetNamespace(), pod.GetName(), err)
	}
	return node.Pod{
		ID: pod.GetId(), Namespace: pod.GetNamespace(), Name: pod.GetName(), UID: pod.GetUid(),
		Cgroup: path, Annotations: pod.GetAnnotations(), Containers: map[string]node.Container{},
	}
}

func containerOf(container *api.Container) node.Container {
	path, err := cgroup.OfContainer(container.GetLinux().GetCgroupsPath())
	if err != nil {
		log.Printf("container %s: cgroup: %v", container.GetId(), err)
	}
	return node.Container{Name: container.GetName(), Cgroup: path}
}
