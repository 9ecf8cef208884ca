// SPDX-License-Identifier: GPL-2.0-only

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"dm-ioband/tools/ioband-node/internal/class"
	"dm-ioband/tools/ioband-node/internal/ioband"
	"dm-ioband/tools/ioband-node/internal/node"
	"dm-ioband/tools/ioband-node/internal/volume"
)

const manifests = "../../../../packaging/kubernetes"

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(manifests, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type named struct {
	Name      string `yaml:"name"`
	MountPath string `yaml:"mountPath"`
}

type container struct {
	Args         []string `yaml:"args"`
	VolumeMounts []named  `yaml:"volumeMounts"`
	Security     struct {
		Privileged bool `yaml:"privileged"`
	} `yaml:"securityContext"`
}

// object has the parts of the manifests that are looked at.
type object struct {
	Kind  string           `yaml:"kind"`
	Rules []map[string]any `yaml:"rules"`
	Spec  struct {
		UpdateStrategy struct {
			RollingUpdate struct {
				MaxUnavailable string `yaml:"maxUnavailable"`
			} `yaml:"rollingUpdate"`
		} `yaml:"updateStrategy"`
		Template struct {
			Spec struct {
				Grace          int         `yaml:"terminationGracePeriodSeconds"`
				InitContainers []container `yaml:"initContainers"`
				Containers     []container `yaml:"containers"`
				Volumes        []named     `yaml:"volumes"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
	Resources []string `yaml:"resources"`
}

func objects(t *testing.T, name string) []object {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(read(t, name)))
	var all []object
	for {
		var one object
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, one)
	}
}

// slow is an iobandctl that ends its insert when the file "go" is there, or the test has ended.
const slow = `#!/bin/sh
cd "$(dirname "$0")" || exit
case $1 in
list) echo '{"devices": [{"name": "io-a", "number": "253:9", "pool": "sda", "mode": "cgroup"}]}' ;;
groups) echo '{"weights": []}' ;;
insert) >inserting; until [ -e go ] || [ ! -e iobandctl ]; do sleep 0.01; done ;;
set) echo "$@" >>sets ;;
esac
`

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func await(t *testing.T, file, says string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), says) {
			return
		} else if time.Now().After(end) {
			t.Fatalf("%s has %q, and not %q", file, text, says)
		}
	}
}

func TestAnEditDoesNotWaitForAnInsertion(t *testing.T) {
	directory := t.TempDir()
	ioband.Sys = filepath.Join(directory, "sys")
	for file, text := range map[string]string{"dev": "253:0", "dm/name": "vg1-a", "dm/uuid": "LVM-" + strings.Repeat("a", 64)} {
		write(t, filepath.Join(ioband.Sys, "block/dm-0", file), text+"\n")
	}
	write(t, filepath.Join(directory, "iobandctl"), slow)
	write(t, filepath.Join(directory, "pod1", "cgroup.procs"), "")
	config, err := class.Parse([]byte("classes: {gold: {weight: 800}}\nvolumes: [{match: vg1/*, how: insert}]"))
	if err != nil {
		t.Fatal(err)
	}
	tool := ioband.Tool{Program: filepath.Join(directory, "iobandctl")}
	state := node.New(config, tool, func(node.Pod, string, string) bool { return true })
	state.Root = directory
	state.Replace([]node.Pod{{ID: "s1", Namespace: "shop", Name: "web", UID: "u1", Cgroup: "/pod1"}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { follow(ctx, state, volume.NewKeeper(tool, config.Volumes)); close(done) }()
	await(t, filepath.Join(directory, "inserting"), "")
	state.Edit(node.Identity{Namespace: "shop", Name: "web", UID: "u1"}, map[string]string{"ioband.io/class": "gold"})
	await(t, filepath.Join(directory, "sets"), "cgroup:/pod1 weight=800")
	write(t, filepath.Join(directory, "go"), "")
	cancel()
	<-done
}

func TestTheConfigurationOfTheManifests(t *testing.T) {
	config, err := class.Load(filepath.Join(manifests, "node.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	wish := config.Wish("default", map[string]string{"ioband.io/class": "system"})
	if len(wish.Notes) != 1 {
		t.Errorf("a minimum is for everyone: %v", wish)
	}
}

func TestTheRightsAreTheLeast(t *testing.T) {
	var rules []map[string]any
	for _, one := range objects(t, "rbac.yaml") {
		rules = append(rules, one.Rules...)
	}
	want := []map[string]any{
		{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"list", "watch"}},
		{"apiGroups": []any{""}, "resources": []any{"events"}, "verbs": []any{"create"}},
	}
	if !reflect.DeepEqual(rules, want) {
		t.Errorf("%v", rules)
	}
}

func TestTheDaemonSet(t *testing.T) {
	spec := objects(t, "daemonset.yaml")[0].Spec
	if most := spec.UpdateStrategy.RollingUpdate.MaxUnavailable; most != "100%" {
		t.Errorf("a node that is not ready stops a rollout: maxUnavailable is %q", most)
	}
	pod := spec.Template.Spec
	// iobandctl runs for a minute at most, and has 5 seconds to end.
	if pod.Grace <= 65 {
		t.Errorf("the pod is killed after %d seconds", pod.Grace)
	}
	volumes := map[string]bool{}
	for _, volume := range pod.Volumes {
		volumes[volume.Name] = true
	}
	mounts := map[string]bool{}
	for _, one := range append(pod.Containers, pod.InitContainers...) {
		if !one.Security.Privileged {
			t.Errorf("SELinux keeps a container from the paths of the node: %v", one)
		}
		for _, mount := range one.VolumeMounts {
			mounts[mount.Name] = true
			if !volumes[mount.Name] {
				t.Errorf("there is no volume %s", mount.Name)
			}
		}
	}
	if len(mounts) != len(volumes) {
		t.Errorf("volumes %v, of which these are mounted: %v", volumes, mounts)
	}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	o := define(flags)
	if err := flags.Parse(pod.Containers[0].Args); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{o.config, o.nriSocket, o.lvmSocket, "/sys/fs/cgroup", "/dev", "/run/iobandctl", "/run/udev", "/run/lock/lvm",
		"/lib/modules"} {
		found := false
		for _, mount := range pod.Containers[0].VolumeMounts {
			found = found || path == mount.MountPath || strings.HasPrefix(path, mount.MountPath+"/")
		}
		if !found {
			t.Errorf("%s is not mounted", path)
		}
	}
}

func TestTheKustomizationHasAllManifests(t *testing.T) {
	// The others are a patch for the DaemonSet of a CSI driver, and an example.
	listed := map[string]bool{"kustomization.yaml": true, "node.yaml": true, "lvm-localpv.yaml": true, "two-pods.yaml": true}
	for _, name := range objects(t, "kustomization.yaml")[0].Resources {
		objects(t, name)
		listed[name] = true
	}
	files, _ := filepath.Glob(filepath.Join(manifests, "*.yaml"))
	for _, file := range files {
		if !listed[filepath.Base(file)] {
			t.Errorf("%s is in no kustomization", file)
		}
	}
}
