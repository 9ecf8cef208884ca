// SPDX-License-Identifier: GPL-2.0-only

package ioband

import (
	"os"
	"path/filepath"
)

// Sys is where sysfs is mounted.
var Sys = "/sys"

// Disks returns the kernel's names of the physical disks below a device, and of the
// devices between.
func Disks(number string) []string {
	directory, err := filepath.EvalSymlinks(filepath.Join(Sys, "dev/block", number))
	if err != nil {
		return nil
	}
	return below(directory)
}

func below(directory string) []string {
	names := []string{filepath.Base(directory)}
	if _, err := os.Stat(filepath.Join(directory, "partition")); err == nil {
		return append(names, below(filepath.Dir(directory))...)
	}
	entries, _ := os.ReadDir(filepath.Join(directory, "slaves"))
	for _, entry := range entries {
		next, err := filepath.EvalSymlinks(filepath.Join(directory, "slaves", entry.Name()))
		if err == nil {
			names = append(names, below(next)...)
		}
	}
	return names
}

// Fits returns a function that tells whether a pattern of paths fits one of the disks
// below a device.
func Fits(device Device) func(pattern string) bool {
	var names map[string]bool
	return func(pattern string) bool {
		if names == nil {
			names = map[string]bool{}
			for _, name := range Disks(device.BelowNumber) {
				names[name] = true
			}
		}
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if real, err := filepath.EvalSymlinks(path); err == nil && names[filepath.Base(real)] {
				return true
			}
		}
		return false
	}
}
