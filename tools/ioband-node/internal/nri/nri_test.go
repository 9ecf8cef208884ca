// SPDX-License-Identifier: GPL-2.0-only

package nri

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/net/multiplex"
	"github.com/containerd/ttrpc"

	"dm-ioband/tools/ioband-node/internal/class"
	"dm-ioband/tools/ioband-node/internal/ioband"
	"dm-ioband/tools/ioband-node/internal/node"
)

// kernel remembers the groups that it is told of.
type kernel struct {
	mutex sync.Mutex
	set   map[string]string
	delay time.Duration
}

func (k *kernel) Devices(context.Context) ([]ioband.Device, error) {
	return []ioband.Device{{Name: "io-a", Pool: "sda", Mode: "cgroup"}}, nil
}

func (k *kernel) Available(context.Context) error { return nil }

func (k *kernel) Settings(context.Context) (map[ioband.Group]class.Setting, error) { return nil, nil }

func (k *kernel) Set(_ context.Context, group ioband.Group, words []string) error {
	time.Sleep(k.delay)
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.set[group.Path] = words[0]
	return nil
}

func (k *kernel) of(path string) string {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.set[path]
}

// startRuntime starts the side of containerd, with pods that run already.
func startRuntime(t *testing.T, socket string, pods []*api.PodSandbox, containers []*api.Container) *adaptation.Adaptation {
	t.Helper()
	synchronize := func(ctx context.Context, call adaptation.SyncCB) error {
		_, err := call(ctx, pods, containers)
		return err
	}
	update := func(context.Context, []*adaptation.ContainerUpdate) ([]*adaptation.ContainerUpdate, error) {
		return nil, nil
	}
	runtime, err := adaptation.New("containerd", "2.0.0", synchronize, update, adaptation.WithSocketPath(socket),
		adaptation.WithPluginPath(t.TempDir()), adaptation.WithPluginConfigPath(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.Start(); err != nil {
		t.Fatal(err)
	}
	return runtime
}

// link stands between plugin and runtime: in one process the runtime does not end its
// connections as the end of containerd does.
type link struct {
	listener net.Listener
	ends     []net.Conn
	mutex    sync.Mutex
}

func startLink(t *testing.T, socket, runtime string) *link {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", runtime)
			if err != nil {
				near.Close()
				continue
			}
			l.mutex.Lock()
			l.ends = append(l.ends, near, far)
			l.mutex.Unlock()
			go func() { _, _ = io.Copy(near, far); near.Close() }()
			go func() { _, _ = io.Copy(far, near); far.Close() }()
		}
	}()
	return l
}

func (l *link) cut() {
	l.listener.Close()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, end := range l.ends {
		end.Close()
	}
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func pod(id string) *api.PodSandbox {
	return &api.PodSandbox{Id: id, Name: id, Uid: "u" + id, Namespace: "default",
		Annotations: map[string]string{"ioband.io/weight": "300", "ioband.io/weight.container.db": "200"},
		Linux:       &api.LinuxPodSandbox{CgroupParent: "/kubepods.slice/kubepods-pod" + id + ".slice"}}
}

func container(id string) *api.Container {
	return &api.Container{Id: "c" + id, PodSandboxId: id, Name: "db",
		Linux: &api.LinuxContainer{CgroupsPath: "kubepods-pod" + id + ".slice:cri-containerd:c" + id}}
}

func pathOf(id string) string { return "/kubepods.slice/kubepods-pod" + id + ".slice" }

func TestPlugin(t *testing.T) {
	config, err := class.Parse([]byte("bounds: {weight: {max: 500}}"))
	if err != nil {
		t.Fatal(err)
	}
	fake := &kernel{set: map[string]string{}}
	state := node.New(config, fake, func(node.Pod, string, string) bool { return true })
	state.Root = t.TempDir()
	for _, id := range []string{"1", "2"} {
		if err := os.MkdirAll(filepath.Join(state.Root, pathOf(id), "cri-containerd-c"+id+".scope"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(t.TempDir(), "nri.sock")
	plugin := &Plugin{Node: state, Socket: socket}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go state.Run(ctx)
	go plugin.Run(ctx) // before the runtime is there
	time.Sleep(50 * time.Millisecond)
	if plugin.Connected() {
		t.Error("connected to nothing")
	}

	runtime := startRuntime(t, socket+".1", []*api.PodSandbox{pod("1")}, []*api.Container{container("1")})
	defer runtime.Stop()
	connection := startLink(t, socket, socket+".1")
	await(t, "the pod that runs has its weights", func() bool {
		return fake.of(pathOf("1")) == "weight=300" && fake.of(pathOf("1")+"/cri-containerd-c1.scope") == "weight=200"
	})

	if err := runtime.RunPodSandbox(ctx, &api.RunPodSandboxRequest{Pod: pod("2")}); err != nil {
		t.Fatal(err)
	}
	if err := runtime.StartContainer(ctx, &api.StartContainerRequest{Pod: pod("2"), Container: container("2")}); err != nil {
		t.Fatal(err)
	}
	if fake.of(pathOf("2")) != "weight=300" || fake.of(pathOf("2")+"/cri-containerd-c2.scope") != "weight=200" {
		t.Errorf("when a container starts, its settings are not made: %v", fake.set)
	}

	fake.delay = time.Hour // a kernel that does not answer
	begun := time.Now()
	if err := runtime.StartContainer(ctx, &api.StartContainerRequest{Pod: pod("2"), Container: container("2")}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < api.DefaultPluginRequestTimeout/2 || took > api.DefaultPluginRequestTimeout {
		t.Errorf("the start of a container took %v", took)
	}

	begun = time.Now() // the next one does not wait again
	if err := runtime.StartContainer(ctx, &api.StartContainerRequest{Pod: pod("1"), Container: container("3")}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > api.DefaultPluginRequestTimeout/2 {
		t.Errorf("the start of the next container took %v", took)
	}
	known := map[string]bool{}
	for _, pod := range state.Pods() {
		for id := range pod.Containers {
			known[id] = true
		}
	}
	if !known["c3"] {
		t.Errorf("the containers are %v", known)
	}

	for _, id := range []string{"1", "2"} {
		if err := runtime.StopPodSandbox(ctx, &api.StopPodSandboxRequest{Pod: pod(id)}); err != nil {
			t.Fatal(err)
		}
	}
	if pods := state.Counts().Pods; pods != 0 {
		t.Errorf("%d pods are left", pods)
	}

	connection.cut()
	await(t, "the plugin notices that the runtime ends", func() bool { return !plugin.Connected() })
	again := startRuntime(t, socket+".2", []*api.PodSandbox{pod("1")}, nil)
	defer again.Stop()
	defer startLink(t, socket, socket+".2").cut()
	await(t, "it is connected again, and knows the pods", func() bool {
		return plugin.Connected() && state.Counts().Pods == 1
	})
}

// mute is a runtime that registers plugins, and configures none.
type mute struct{}

func (mute) RegisterPlugin(context.Context, *api.RegisterPluginRequest) (*api.Empty, error) {
	return &api.Empty{}, nil
}

func (mute) UpdateContainers(context.Context, *api.UpdateContainersRequest) (*api.UpdateContainersResponse, error) {
	return nil, nil
}

// serveMute accepts connections until the listener is closed; with hangUp each is closed soon.
func serveMute(t *testing.T, listener net.Listener, hangUp bool) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := ttrpc.NewServer()
		if err != nil {
			t.Error(err)
			return
		}
		api.RegisterRuntimeService(server, mute{})
		mux := multiplex.Multiplex(connection)
		services, err := mux.Listen(multiplex.RuntimeServiceConn)
		if err != nil {
			t.Error(err)
			return
		}
		go func() { _ = server.Serve(context.Background(), services) }()
		if hangUp {
			time.AfterFunc(registration/2, func() { mux.Close() })
		}
	}
}

// ofStubs returns how many goroutines are in the library's side of a plugin.
func ofStubs() int {
	stacks := make([]byte, 1<<22)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "created by github.com/containerd/nri/pkg/stub")
}

func newPlugin(t *testing.T) *Plugin {
	t.Helper()
	config, err := class.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	state := node.New(config, &kernel{set: map[string]string{}}, func(node.Pod, string, string) bool { return true })
	return &Plugin{Node: state, Socket: filepath.Join(t.TempDir(), "nri.sock")}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestARuntimeThatDoesNotConfigureLeavesNothingBehind(t *testing.T) {
	defer func(was time.Duration) { registration = was }(registration)
	registration = 100 * time.Millisecond
	for _, hangUp := range []bool{false, true} {
		plugin := newPlugin(t)
		listener, err := net.Listen("unix", plugin.Socket)
		if err != nil {
			t.Fatal(err)
		}
		go serveMute(t, listener, hangUp)
		for range 5 {
			err := plugin.serve(context.Background())
			if err == nil || !hangUp && !strings.Contains(err.Error(), "no configuration") {
				t.Errorf("the runtime hangs up: %v; %v", hangUp, err)
			}
		}
		await(t, "the library's goroutines end", func() bool { return ofStubs() == 0 })
		listener.Close()
	}
}

func TestAnotherConnectionLeavesNothingOfTheOneBefore(t *testing.T) {
	plugin := newPlugin(t)
	before := openFiles(t)
	far := startRuntime(t, plugin.Socket+".1", nil, nil)
	for range 4 {
		ctx, cancel := context.WithCancel(context.Background())
		connection := startLink(t, plugin.Socket, plugin.Socket+".1")
		ended := make(chan error)
		go func() { ended <- plugin.serve(ctx) }()
		await(t, "connected", plugin.Connected)
		connection.cut()
		if err := <-ended; err == nil {
			t.Error("the end of the connection is no error")
		}
		plugin.connected.Store(false)
		cancel()
	}
	await(t, "the library's goroutines end", func() bool { return ofStubs() == 0 })
	far.Stop()
	await(t, "no file is left open", func() bool { return openFiles(t) <= before })
}

func TestTheSandboxThatRunsIsTheLast(t *testing.T) {
	plugin := newPlugin(t)
	dead, lives, bare := pod("1"), pod("1"), pod("1")
	dead.Id, lives.Id, bare.Id = "dead", "lives", "bare"
	running := &api.Container{Id: "c", PodSandboxId: "lives", State: api.ContainerState_CONTAINER_RUNNING}
	ended := &api.Container{Id: "e", PodSandboxId: "dead", State: api.ContainerState_CONTAINER_STOPPED, CreatedAt: 5}
	older := &api.Container{Id: "o", PodSandboxId: "bare", State: api.ContainerState_CONTAINER_STOPPED, CreatedAt: 3}
	bare.Pid = 17
	for range 10 { // the order of a map is another one each time
		for want, pods := range map[string][]*api.PodSandbox{"lives": {lives, dead}, "bare": {dead, bare}} {
			if _, err := plugin.Synchronize(context.Background(), pods, []*api.Container{running, ended}); err != nil {
				t.Fatal(err)
			}
			if got := plugin.Node.Pods(); len(got) != 1 || got[0].ID != want {
				t.Errorf("%v, want %s", got, want)
			}
		}
		bare.Pid = 0
		if _, err := plugin.Synchronize(context.Background(), []*api.PodSandbox{dead, bare}, []*api.Container{ended, older}); err != nil {
			t.Fatal(err)
		}
		if got := plugin.Node.Pods(); len(got) != 1 || got[0].ID != "dead" {
			t.Errorf("%v, want that with the newest container", got)
		}
		bare.Pid = 17
	}
}
