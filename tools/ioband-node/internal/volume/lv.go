// SPDX-License-Identifier: GPL-2.0-only

// Package volume puts ioband on the volumes that the configuration names, and takes it out
// for the time in which LVM changes them.
package volume

import (
	"os"
	"path/filepath"
	"strings"

	"dm-ioband/tools/ioband-node/internal/ioband"
)

// volume is a logical volume, or another device that the configuration names.
type volume struct {
	// name is VG/LV, or a path.
	name   string
	number string
	// identity changes when another volume is made with the same name.
	identity string
}

// A logical volume has this before the 64 letters of its group's and its own UUID in the
// UUID of device-mapper; what LVM makes for itself has a suffix behind them.
const (
	lvmPrefix   = "LVM-"
	lvmUUIDSize = len(lvmPrefix) + 64
)

// splitName splits the name of device-mapper: vg--1-lv is the volume lv of vg-1.
func splitName(name string) (group, volume string, found bool) {
	for i := 0; i < len(name); i++ {
		if name[i] != '-' {
			continue
		}
		if i+1 < len(name) && name[i+1] == '-' {
			i++
			continue
		}
		undouble := func(text string) string { return strings.ReplaceAll(text, "--", "-") }
		return undouble(name[:i]), undouble(name[i+1:]), i > 0 && i+1 < len(name)
	}
	return "", "", false
}

func readLine(directory, name string) string {
	text, _ := os.ReadFile(filepath.Join(directory, name))
	return strings.TrimSpace(string(text))
}

// active lists the logical volumes that are active.
func active() []volume {
	directories, _ := filepath.Glob(filepath.Join(ioband.Sys, "block/dm-*"))
	var volumes []volume
	for _, directory := range directories {
		uuid := readLine(directory, "dm/uuid")
		group, name, found := splitName(readLine(directory, "dm/name"))
		if found && len(uuid) == lvmUUIDSize && strings.HasPrefix(uuid, lvmPrefix) {
			volumes = append(volumes, volume{group + "/" + name, readLine(directory, "dev"), uuid})
		}
	}
	return volumes
}

// named lists the devices with paths that fit a pattern.
func named(pattern string) []volume {
	paths, _ := filepath.Glob(pattern)
	var volumes []volume
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		number := readLine(filepath.Join(ioband.Sys, "class/block", filepath.Base(real)), "dev")
		if number != "" {
			volumes = append(volumes, volume{path, number, number})
		}
	}
	return volumes
}
