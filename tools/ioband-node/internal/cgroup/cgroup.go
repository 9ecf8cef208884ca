// SPDX-License-Identifier: GPL-2.0-only

// Package cgroup finds the cgroups of pods and containers, as the drivers systemd and
// cgroupfs name them.
package cgroup

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Root is where the hierarchy is mounted.
const Root = "/sys/fs/cgroup"

// Check refuses version 1 of cgroups, and a mount that begins elsewhere than at the root.
func Check(root string) error {
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err != nil {
		return fmt.Errorf("cgroup version 1 is not supported: %s is not the root of version 2 "+
			"(boot with systemd.unified_cgroup_hierarchy=1, or mount the host's %s here)", root, Root)
	}
	if _, err := os.Stat(filepath.Join(root, "cgroup.type")); err == nil {
		return fmt.Errorf("%s is not the root of all cgroups: run in the cgroup namespace of the host "+
			"(privileged: true)", root)
	}
	return nil
}

// expand returns the path of a slice of systemd: a-b.slice is in a.slice.
func expand(slice string) (string, error) {
	name, found := strings.CutSuffix(slice, ".slice")
	if !found || name == "" || strings.Contains(slice, "/") {
		return "", fmt.Errorf("%q is not the name of a slice", slice)
	}
	if name == "-" {
		return "/", nil
	}
	result, prefix := "/", ""
	for _, part := range strings.Split(name, "-") {
		if part == "" {
			return "", fmt.Errorf("%q is not the name of a slice", slice)
		}
		prefix += part
		result = path.Join(result, prefix+".slice")
		prefix += "-"
	}
	return result, nil
}

// OfPod returns the cgroup of a pod, from the cgroup parent of its sandbox.
func OfPod(parent string) (string, error) {
	if strings.HasSuffix(parent, ".slice") {
		return expand(path.Base(parent))
	}
	return absolute(parent)
}

// OfContainer returns the cgroup of a container, from linux.cgroupsPath of its
// specification.  The driver systemd has SLICE:PREFIX:NAME there.
func OfContainer(cgroupsPath string) (string, error) {
	parts := strings.Split(cgroupsPath, ":")
	if len(parts) != 3 {
		return absolute(cgroupsPath)
	}
	slice, err := "/system.slice", error(nil)
	if parts[0] != "" {
		slice, err = expand(parts[0])
	}
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(parts[2], ".slice") {
		return path.Join(slice, parts[2]), nil
	}
	unit := parts[2] + ".scope"
	if parts[1] != "" {
		unit = parts[1] + "-" + unit
	}
	return path.Join(slice, unit), nil
}

func absolute(name string) (string, error) {
	clean := path.Clean("/" + name)
	if name == "" || clean == "/" {
		return "", fmt.Errorf("%q is no cgroup below the root", name)
	}
	return clean, nil
}

// Exists tells whether a cgroup is there.
func Exists(root, name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}
