// SPDX-License-Identifier: GPL-2.0-only

package volume

import (
	"context"
	"log"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"dm-ioband/tools/ioband-node/internal/class"
	"dm-ioband/tools/ioband-node/internal/ioband"
	"dm-ioband/tools/ioband-node/internal/loop"
)

// Tool is the part of iobandctl that is used.
type Tool interface {
	Devices(ctx context.Context) ([]ioband.Device, error)
	Run(ctx context.Context, args ...string) ([]byte, error)
}

// A refused volume is tried again after these, the second at most.
const (
	firstPause = 5 * time.Second
	lastPause  = 5 * time.Minute
)

// Keeper keeps ioband on the volumes.
type Keeper struct {
	Tool    Tool
	Volumes []class.Volume

	loop  loop.Loop
	mutex sync.Mutex // held while devices are changed
	busy  int        // how many commands of LVM run; meanwhile nothing is inserted
	later map[string]pause
}

// pause is for how long a volume is left alone.
type pause struct {
	until  time.Time
	length time.Duration
}

// NewKeeper returns a keeper of volumes.
func NewKeeper(tool Tool, volumes []class.Volume) *Keeper {
	return &Keeper{Tool: tool, Volumes: volumes, loop: loop.New()}
}

// Kick has the volumes looked at soon.
func (k *Keeper) Kick() { k.loop.Kick() }

// Run ensures that the volumes have ioband, until the end.  It has a loop of its own: the
// insertion into one volume may take 40 seconds, and an edited annotation does not wait for it.
func (k *Keeper) Run(ctx context.Context) { k.loop.Run(ctx, k.Ensure) }

// Close waits until no device is being changed, and allows no change any more.
func (k *Keeper) Close() {
	k.mutex.Lock()
}

// has tells whether ioband is in a volume, or over it.
func has(devices []ioband.Device, number string) bool {
	return slices.ContainsFunc(devices, func(device ioband.Device) bool {
		return device.Inserted && device.Number == number || !device.Inserted && device.BelowNumber == number
	})
}

// Ensure puts ioband on the volumes that the configuration names, where it is not.
func (k *Keeper) Ensure(ctx context.Context) {
	if len(k.Volumes) == 0 {
		return
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.busy > 0 {
		return
	}
	k.ensure(ctx)
}

func (k *Keeper) ensure(ctx context.Context) {
	devices, err := k.Tool.Devices(ctx)
	if err != nil {
		return // the comparison of the pods reports it
	}
	lvs, seen := active(), map[string]bool{}
	for _, wanted := range k.Volumes {
		for _, volume := range wantedVolumes(wanted, lvs) {
			if seen[volume.number] {
				continue // the first entry that fits goes first
			}
			seen[volume.number] = true
			if ctx.Err() != nil {
				return // each change may take a minute
			}
			if has(devices, volume.number) {
				delete(k.later, volume.identity)
			} else if time.Now().After(k.later[volume.identity].until) {
				k.put(ctx, wanted, volume)
			}
		}
	}
}

func wantedVolumes(wanted class.Volume, lvs []volume) []volume {
	if filepath.IsAbs(wanted.Match) {
		return named(wanted.Match)
	}
	var volumes []volume
	for _, lv := range lvs {
		if fits, _ := path.Match(wanted.Match, lv.name); fits {
			volumes = append(volumes, lv)
		}
	}
	return volumes
}

// put inserts or wraps.  It names the volume by its number: udev may not have made the links yet
// of a volume that LVM has changed without udev, as in a container.  The pause covers a volume into
// which ioband does not go itself, such as a snapshot.
func (k *Keeper) put(ctx context.Context, wanted class.Volume, volume volume) {
	args := []string{wanted.How}
	if wanted.Pool != "" {
		args = append(args, "--pool", wanted.Pool)
	}
	_, err := k.Tool.Run(ctx, append(args, volume.number)...)
	if k.later == nil {
		k.later = map[string]pause{}
	}
	length := min(max(2*k.later[volume.identity].length, firstPause), lastPause)
	k.later[volume.identity] = pause{time.Now().Add(length), length}
	if err != nil {
		log.Printf("volume %s: %v; trying again in %v", volume.name, err, length)
	} else {
		log.Printf("volume %s: %s", volume.name, wanted.How)
	}
}

// begin takes ioband out of what a command of LVM is about to change.
func (k *Keeper) begin(ctx context.Context, args []string) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.busy++
	devices, err := k.Tool.Devices(ctx)
	if ioband.IsUnavailable(err) {
		return nil // then ioband is in no volume
	}
	if err != nil {
		return err
	}
	command := parseCommand(args, active())
	for _, device := range devices {
		var failure error
		switch {
		case device.Inserted && command.names(device.Number):
			_, failure = k.Tool.Run(ctx, "extract", device.Name)
		case !device.Inserted && command.removes && command.names(device.BelowNumber):
			_, failure = k.Tool.Run(ctx, "unwrap", device.Name)
		}
		if failure != nil && err == nil {
			err = failure
		}
	}
	return err
}

// end puts it back, as the configuration says.  A device over a volume that has grown
// grows too.
func (k *Keeper) end(ctx context.Context, args []string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.busy--
	lvs := active()
	command := parseCommand(args, lvs)
	for _, lv := range lvs {
		if command.names(lv.number) {
			delete(k.later, lv.identity)
		}
	}
	if command.resizes {
		k.resize(ctx, command)
	}
	if k.busy == 0 && len(k.Volumes) > 0 {
		k.ensure(ctx)
	}
}

func (k *Keeper) resize(ctx context.Context, command command) {
	devices, _ := k.Tool.Devices(ctx)
	for _, device := range devices {
		if device.Inserted || !command.names(device.BelowNumber) {
			continue
		}
		if _, err := k.Tool.Run(ctx, "resize", device.Name); err != nil {
			log.Printf("volume %s: %v", strings.TrimSpace(device.Below), err)
		}
	}
}
