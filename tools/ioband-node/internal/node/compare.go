// SPDX-License-Identifier: GPL-2.0-only

package node

import (
	"context"
	"strings"

	"dm-ioband/tools/ioband-node/internal/cgroup"
	"dm-ioband/tools/ioband-node/internal/class"
	"dm-ioband/tools/ioband-node/internal/ioband"
)

// kernelState is what the kernel has at one moment.
type kernelState struct {
	trees    map[ioband.Tree]ioband.Device
	settings map[ioband.Group]class.Setting
}

func (n *Node) read(ctx context.Context) (kernelState, error) {
	devices, err := n.Kernel.Devices(ctx)
	if err != nil {
		return kernelState{}, err
	}
	state := kernelState{trees: ioband.Trees(devices)}
	if len(state.trees) == 0 {
		return state, n.Kernel.Available(ctx)
	}
	state.settings, err = n.Kernel.Settings(ctx)
	return state, err
}

// Compare changes what differs, of all pods and of the cgroups in the configuration.
func (n *Node) Compare(ctx context.Context) {
	n.compare(ctx, func(Pod) bool { return true }, true)
}

func (n *Node) compare(ctx context.Context, which func(Pod) bool, groups bool) {
	state, err := n.read(ctx)
	if ctx.Err() != nil {
		return
	}
	n.setUnavailable(err)
	for _, pod := range n.Pods() {
		if which(pod) {
			n.comparePod(ctx, pod, state, err)
		}
	}
	if !groups || err != nil {
		return
	}
	for path, items := range n.Config.GroupItems() {
		if problem := n.compareGroup(ctx, path, items, state); problem != nil {
			n.complain(path, firstLine(problem))
		}
	}
}

// comparePod handles one pod; nothing that fails hinders its containers.
func (n *Node) comparePod(ctx context.Context, pod Pod, state kernelState, err error) {
	wish := n.Config.Wish(pod.Namespace, pod.Annotations)
	for _, note := range wish.Notes {
		n.say(pod, note.Reason, note.Message)
	}
	switch {
	case err != nil && wish.Asked && ioband.IsUnavailable(err):
		n.say(pod, Unavailable, "the node cannot share I/O, so the annotations have no effect: "+firstLine(err))
	case err != nil && wish.Asked:
		n.say(pod, Failed, firstLine(err))
	case err == nil && wish.Asked && len(state.trees) == 0:
		n.say(pod, NoPool, "the node has no ioband device yet, so the annotations have no effect")
	}
	if err != nil {
		return
	}
	failures := []error{n.compareGroup(ctx, pod.Cgroup, wish.Pod, state)}
	for _, container := range pod.Containers {
		failures = append(failures, n.compareGroup(ctx, container.Cgroup, wish.Containers[container.Name], state))
	}
	for _, failure := range failures {
		if failure != nil && wish.Asked {
			n.say(pod, Failed, firstLine(failure))
		}
	}
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// compareGroup handles one cgroup in all trees.  A cgroup that is gone is none of the
// kernel's any more.
func (n *Node) compareGroup(ctx context.Context, path string, items class.Items, state kernelState) error {
	n.changing.Lock()
	defer n.changing.Unlock()
	var first error
	for tree, device := range state.trees {
		group := ioband.Group{Tree: tree, Path: path}
		words := state.settings[group].Changes(items.On(ioband.Fits(device)))
		if len(words) == 0 || path == "" || !cgroup.Exists(n.Root, path) {
			continue
		}
		err := n.Kernel.Set(ctx, group, words)
		if err != nil && !cgroup.Exists(n.Root, path) {
			continue
		}
		n.count(err)
		if err != nil && first == nil {
			first = err
		}
	}
	return first
}
