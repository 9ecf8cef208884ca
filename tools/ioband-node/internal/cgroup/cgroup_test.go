// SPDX-License-Identifier: GPL-2.0-only

package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPods(t *testing.T) {
	const burstable = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1a_2b.slice"
	for parent, want := range map[string]string{
		burstable:                             burstable,
		"kubepods-burstable-pod1a_2b.slice":   burstable,
		"/kubepods.slice/kubepods-pod1.slice": "/kubepods.slice/kubepods-pod1.slice",
		"/kubepods/burstable/pod1a-2b":        "/kubepods/burstable/pod1a-2b",
		"kubepods/pod1":                       "/kubepods/pod1",
		"":                                    "",
		"/":                                   "",
		"a--b.slice":                          "",
	} {
		if got, err := OfPod(parent); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: got %q, %v, want %q", parent, got, err, want)
		}
	}
}

func TestContainers(t *testing.T) {
	for path, want := range map[string]string{
		"kubepods-pod1.slice:cri-containerd:ab": "/kubepods.slice/kubepods-pod1.slice/cri-containerd-ab.scope",
		"kubepods-pod1.slice:crio:ab":           "/kubepods.slice/kubepods-pod1.slice/crio-ab.scope",
		":runc:ab":                              "/system.slice/runc-ab.scope",
		"system.slice::ab":                      "/system.slice/ab.scope",
		"-.slice:runc:ab":                       "/runc-ab.scope",
		"/kubepods/burstable/pod1/ab":           "/kubepods/burstable/pod1/ab",
		"nonsense:cri-containerd:ab":            "",
		"":                                      "",
	} {
		if got, err := OfContainer(path); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: got %q, %v, want %q", path, got, err, want)
		}
	}
}

func TestOnlyTheRootOfVersion2(t *testing.T) {
	root := t.TempDir()
	if err := Check(root); err == nil || !strings.Contains(err.Error(), "cgroup version 1") {
		t.Error(err)
	}
	touch := func(name string) {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	touch("cgroup.controllers")
	if err := Check(root); err != nil {
		t.Error(err)
	}
	touch("cgroup.type")
	if err := Check(root); err == nil || !strings.Contains(err.Error(), "not the root") {
		t.Error(err)
	}
}
