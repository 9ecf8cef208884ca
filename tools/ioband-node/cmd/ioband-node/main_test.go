// SPDX-License-Identifier: GPL-2.0-only

package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"dm-ioband/tools/ioband-node/internal/class"
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
}

// object has the parts of the manifests that are looked at.
type object struct {
	Kind  string           `yaml:"kind"`
	Rules []map[string]any `yaml:"rules"`
	Spec  struct {
		Template struct {
			Spec struct {
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
	pod := objects(t, "daemonset.yaml")[0].Spec.Template.Spec
	volumes := map[string]bool{}
	for _, volume := range pod.Volumes {
		volumes[volume.Name] = true
	}
	mounts := map[string]bool{}
	for _, one := range append(pod.Containers, pod.InitContainers...) {
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
	// The last is a patch for a DaemonSet of others.
	listed := map[string]bool{"kustomization.yaml": true, "node.yaml": true, "lvm-localpv.yaml": true}
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
