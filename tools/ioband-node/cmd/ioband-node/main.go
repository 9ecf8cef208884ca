// SPDX-License-Identifier: GPL-2.0-only

// Ioband-node gives the pods of a Kubernetes node the shares of I/O that they ask for.
//
// The packages use each other downwards only:
//
//	main  nri  kube  metrics    flags; the runtime, the cluster, Prometheus
//	node                        what the pods ask for against what the kernel has
//	volume  uevent              ioband on the volumes; devices that come and go
//	ioband                      iobandctl
//	class  cgroup  loop         annotations to settings, names to paths (pure); repeated calls
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"dm-ioband/tools/ioband-node/internal/cgroup"
	"dm-ioband/tools/ioband-node/internal/class"
	"dm-ioband/tools/ioband-node/internal/ioband"
	"dm-ioband/tools/ioband-node/internal/kube"
	"dm-ioband/tools/ioband-node/internal/metrics"
	"dm-ioband/tools/ioband-node/internal/node"
	"dm-ioband/tools/ioband-node/internal/nri"
	"dm-ioband/tools/ioband-node/internal/uevent"
	"dm-ioband/tools/ioband-node/internal/volume"
)

const (
	program       = "ioband-node"
	defaultSocket = "/run/ioband-node/lvm.sock"
	exitUsage     = 2
)

type options struct {
	config, nriSocket, kubeURL, nodeName, metrics, iobandctl, lvmSocket string
	noKube                                                              bool
}

func main() {
	log.SetFlags(0)
	name := filepath.Base(os.Args[0])
	if name == "lvm" {
		os.Exit(volume.Wrap(lvmSocket(), name, os.Args[1:]))
	}
	if name != program && volume.IsCommand(name) {
		os.Exit(volume.Wrap(lvmSocket(), name, append([]string{name}, os.Args[1:]...)))
	}
	if len(os.Args) > 1 && os.Args[1] == "lvm" {
		os.Exit(lvm(os.Args[2:]))
	}
	if err := run(parse()); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		os.Exit(1)
	}
}

func lvmSocket() string {
	return cmp.Or(os.Getenv("IOBAND_NODE_SOCKET"), defaultSocket)
}

// lvm is the wrapper: ioband-node lvm [--] COMMAND ...
func lvm(args []string) int {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintf(os.Stderr, "%s: lvm: give a command of LVM, such as lvextend, and its arguments\n", program)
		return exitUsage
	}
	return volume.Wrap(lvmSocket(), "lvm", args)
}

// define defines the flags, which change the options when they are parsed.
func define(flags *flag.FlagSet) *options {
	o := &options{}
	flags.StringVar(&o.config, "config", "/etc/ioband-node/node.yaml", "the configuration of the node")
	flags.StringVar(&o.nriSocket, "nri-socket", "/var/run/nri/nri.sock", "the socket of the container runtime")
	flags.StringVar(&o.kubeURL, "kube-url", "", "an API server without TLS, in place of the cluster's")
	flags.BoolVar(&o.noKube, "no-kube", false, "take annotations from the runtime alone, and make no events")
	flags.StringVar(&o.nodeName, "node-name", os.Getenv("NODE_NAME"), "the name of the node in the cluster")
	flags.StringVar(&o.metrics, "metrics", "127.0.0.1:9640", "where to serve /metrics and /healthz")
	flags.StringVar(&o.iobandctl, "iobandctl", "iobandctl", "the program iobandctl")
	flags.StringVar(&o.lvmSocket, "lvm-socket", lvmSocket(), "where to serve ioband-node lvm")
	return o
}

func parse() options {
	o := define(flag.CommandLine)
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "%s: %q is neither a flag nor lvm\n", program, flag.Arg(0))
		os.Exit(exitUsage)
	}
	if o.nodeName == "" {
		o.nodeName, _ = os.Hostname()
	}
	return *o
}

func (o options) client() (*kube.Client, error) {
	switch {
	case o.noKube:
		return nil, nil
	case o.kubeURL != "":
		return kube.New(o.kubeURL, o.nodeName), nil
	}
	return kube.InCluster(o.nodeName)
}

func run(o options) error {
	if err := cgroup.Check(cgroup.Root); err != nil {
		return err
	}
	config, err := class.Load(o.config)
	if err != nil {
		return err
	}
	for _, note := range config.Notes() {
		log.Printf("%s: %s", o.config, note)
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	tool := ioband.Tool{Program: o.iobandctl}
	report := func(node.Pod, string, string) bool { return true }
	if client != nil {
		events := kube.NewEvents(client)
		go events.Run(ctx)
		report = func(pod node.Pod, reason, message string) bool {
			return events.Warn(pod.Namespace, pod.Name, pod.UID, reason, message)
		}
	}
	keeper := volume.NewKeeper(tool, config.Volumes)
	if err := keeper.Serve(ctx, o.lvmSocket); err != nil {
		return err
	}
	state := node.New(config, tool, report)
	state.Cluster = client != nil
	if err := uevent.Watch(ctx, func() { keeper.Kick(); state.Kick() }); err != nil {
		return err
	}
	plugin := &nri.Plugin{Node: state, Socket: o.nriSocket}
	go plugin.Run(ctx)
	if client != nil {
		go client.Run(ctx, state)
	}
	if err := serve(ctx, o.metrics, metrics.Source{
		Ioband: tool.Metrics, Counts: state.Counts, Pods: state.Pods, Connected: plugin.Connected,
	}); err != nil {
		return err
	}
	follow(ctx, state, keeper)
	return nil
}

// follow has volumes and settings follow what changes, until the end.
func follow(ctx context.Context, state *node.Node, keeper *volume.Keeper) {
	go keeper.Run(ctx)
	state.Run(ctx)
	keeper.Close()
}

func serve(ctx context.Context, address string, source metrics.Source) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: metrics.Handler(source), ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout: metrics.WriteTimeout, IdleTimeout: time.Minute}
	context.AfterFunc(ctx, func() { server.Close() })
	go func() { _ = server.Serve(listener) }()
	return nil
}
