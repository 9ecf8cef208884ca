// SPDX-License-Identifier: GPL-2.0-only

package volume

import (
	"path/filepath"
	"slices"
	"strings"
)

// The commands of LVM that change volumes.
var (
	changing = []string{"lvchange", "lvconvert", "lvcreate", "lvextend", "lvreduce", "lvremove", "lvrename",
		"lvresize", "pvmove", "vgcfgrestore", "vgchange", "vgexport", "vgimport", "vgmerge", "vgreduce",
		"vgremove", "vgrename", "vgsplit"}
	// Of these, the name of a group stands for all volumes in it.
	ofGroups = []string{"lvchange", "lvremove", "vgchange", "vgexport", "vgmerge", "vgreduce", "vgremove",
		"vgrename", "vgsplit"}
	removing = []string{"lvremove", "vgremove"}
	resizing = []string{"lvextend", "lvresize"}
	// The options of lvchange and vgchange that deactivate.
	deactivating = []string{"-an", "--activate=n", "-aln", "-aen"}
)

// Changes tells whether a command of LVM may change volumes.
func Changes(args []string) bool {
	return len(args) > 0 && slices.Contains(changing, args[0])
}

// command is what one of LVM does.
type command struct {
	numbers map[string]bool
	removes bool
	resizes bool
}

func (c command) names(number string) bool { return c.numbers[number] }

// parseCommand finds the volumes that a command names.  Every argument that is the name of
// a volume counts, also the value of an option: to take ioband out for a moment harms
// nothing.
func parseCommand(args []string, lvs []volume) command {
	result := command{numbers: map[string]bool{}}
	if !Changes(args) {
		return result
	}
	verb, rest := args[0], args[1:]
	result.removes = slices.Contains(removing, verb) || deactivates(rest)
	result.resizes = slices.Contains(resizing, verb)
	for i, arg := range rest {
		name := normalise(arg)
		for _, lv := range lvs {
			group, volume, _ := strings.Cut(lv.name, "/")
			pair := i+1 < len(rest) && name == group && rest[i+1] == volume && verb == "lvrename"
			whole := name == group && slices.Contains(ofGroups, verb)
			if name == lv.name || pair || whole {
				result.numbers[lv.number] = true
			}
		}
	}
	return result
}

func deactivates(args []string) bool {
	for i, arg := range args {
		if slices.Contains(deactivating, arg) {
			return true
		}
		if (arg == "-a" || arg == "--activate") && i+1 < len(args) && strings.HasSuffix(args[i+1], "n") {
			return true
		}
	}
	return false
}

// normalise turns the ways to name a volume or a group into VG/LV or VG.
func normalise(arg string) string {
	if name, found := strings.CutPrefix(arg, "/dev/mapper/"); found {
		if group, volume, isVolume := splitName(name); isVolume {
			return group + "/" + volume
		}
	}
	return strings.TrimPrefix(filepath.Clean(arg), "/dev/")
}

// IsCommand tells whether a name is that of one of LVM's commands, by which a link to this program may be called.
func IsCommand(name string) bool {
	for _, prefix := range []string{"lv", "vg", "pv"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
