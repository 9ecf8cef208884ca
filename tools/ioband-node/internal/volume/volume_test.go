// SPDX-License-Identifier: GPL-2.0-only

package volume

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dm-ioband/tools/ioband-node/internal/class"
	"dm-ioband/tools/ioband-node/internal/ioband"
)

// tool is an iobandctl that inserts and extracts.
type tool struct {
	devices []ioband.Device
	names   map[string]string // of volumes by number
	changed func()            // unless nil, called by Run
	told    []string
	refuses error
}

func (f *tool) Devices(context.Context) ([]ioband.Device, error) { return slices.Clone(f.devices), nil }

func (f *tool) Run(_ context.Context, args ...string) ([]byte, error) {
	f.told = append(f.told, strings.Join(args, " "))
	if f.changed != nil {
		f.changed()
	}
	name := args[len(args)-1]
	switch {
	case f.refuses != nil:
		return nil, f.refuses
	case args[0] == "insert":
		f.devices = append(f.devices, ioband.Device{Name: f.names[name], Number: name, Inserted: true})
	case args[0] == "wrap":
		f.devices = append(f.devices, ioband.Device{Name: "io-" + f.names[name], BelowNumber: name})
	case args[0] == "extract", args[0] == "unwrap":
		f.devices = slices.DeleteFunc(f.devices, func(d ioband.Device) bool { return d.Name == name })
	}
	return nil, nil
}

func (f *tool) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(f.told, want) {
		t.Errorf("told %q, want %q", f.told, want)
	}
	f.told = nil
}

// mapped makes a device of device-mapper in sysfs.
func mapped(t *testing.T, number, name, uuid string) {
	t.Helper()
	directory := filepath.Join(ioband.Sys, "block", "dm-"+number)
	if err := os.MkdirAll(filepath.Join(directory, "dm"), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"dev": "253:" + number, "dm/name": name, "dm/uuid": uuid} {
		if err := os.WriteFile(filepath.Join(directory, file), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func uuid(letter string) string { return lvmPrefix + strings.Repeat(letter, 64) }

func rig(t *testing.T, volumes ...class.Volume) (*Keeper, *tool) {
	t.Helper()
	before := ioband.Sys
	ioband.Sys = t.TempDir()
	t.Cleanup(func() { ioband.Sys = before })
	mapped(t, "0", "vg1-pvc--a", uuid("a"))
	mapped(t, "1", "vg1-pvc--b", uuid("b"))
	mapped(t, "2", "vg2-root", uuid("c"))
	mapped(t, "3", "vg1-pool-tpool", uuid("d")+"-tpool")
	mapped(t, "4", "vg1-luks", "CRYPT-LUKS2-x")
	fake := &tool{names: map[string]string{"253:0": "vg1/pvc-a", "253:1": "vg1/pvc-b", "253:2": "vg2/root"}}
	return NewKeeper(fake, volumes), fake
}

func TestNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"vg-lv": {"vg", "lv"}, "vg--1-pvc--a--b": {"vg-1", "pvc-a-b"}, "a----b-c": {"a--b", "c"},
	} {
		group, volume, found := splitName(name)
		if !found || group != want[0] || volume != want[1] {
			t.Errorf("%s: %q, %q, %v", name, group, volume, found)
		}
	}
	for _, name := range []string{"vg", "vg--lv", "-lv", "vg-", ""} {
		if _, _, found := splitName(name); found {
			t.Errorf("%q is no name of a volume", name)
		}
	}
}

func TestEnsure(t *testing.T) {
	keeper, fake := rig(t, class.Volume{Match: "vg1/*", How: "insert", Pool: "p"}, class.Volume{Match: "vg2/*", How: "wrap"})
	keeper.Ensure(context.Background())
	fake.expect(t, "insert --pool p 253:0", "insert --pool p 253:1", "wrap 253:2")
	keeper.Ensure(context.Background())
	fake.expect(t)
	// LVM has given the volume a new table: ioband is out, and goes in at once.
	fake.devices = fake.devices[1:]
	keeper.Ensure(context.Background())
	fake.expect(t, "insert --pool p 253:0")
}

func TestTheEndWaitsForOneVolume(t *testing.T) {
	keeper, fake := rig(t, class.Volume{Match: "vg1/*", How: "insert"})
	ctx, cancel := context.WithCancel(context.Background())
	fake.changed = cancel
	keeper.Ensure(ctx)
	fake.expect(t, "insert 253:0")
}

func TestTheFirstEntryThatFits(t *testing.T) {
	keeper, fake := rig(t, class.Volume{Match: "vg1/*-a", How: "wrap"}, class.Volume{Match: "vg1/*", How: "insert"})
	fake.refuses = errors.New("in use")
	keeper.Ensure(context.Background())
	fake.expect(t, "wrap 253:0", "insert 253:1")
}

func TestRefusedVolumesAreLeftAloneForAWhile(t *testing.T) {
	keeper, fake := rig(t, class.Volume{Match: "vg2/*", How: "insert"})
	fake.refuses = errors.New("in use")
	keeper.Ensure(context.Background())
	keeper.Ensure(context.Background())
	fake.expect(t, "insert 253:2")
	// Another volume of that name is tried at once.
	mapped(t, "2", "vg2-root", uuid("x"))
	keeper.Ensure(context.Background())
	fake.expect(t, "insert 253:2")
}

func TestCommandsAndTheVolumesTheyName(t *testing.T) {
	rig(t)
	for line, want := range map[string]string{
		"lvextend -L +1G vg1/pvc-a":               "253:0 resizes",
		"lvextend -L +1G /dev/vg1/pvc-a":          "253:0 resizes",
		"lvremove -y /dev/mapper/vg1-pvc--a":      "253:0 removes",
		"lvremove -y vg1":                         "253:0 253:1 removes",
		"lvcreate -s -n snap vg1/pvc-b":           "253:1",
		"lvcreate -n new -L 1G vg1":               "",
		"lvrename vg1 pvc-a pvc-c":                "253:0",
		"lvchange -an vg1/pvc-a":                  "253:0 removes",
		"vgchange --activate n vg1":               "253:0 253:1 removes",
		"lvchange -ay vg1/pvc-a":                  "253:0",
		"lvs -o lv_name vg1/pvc-a":                "",
		"lvconvert --thinpool vg1/pool vg1/pvc-a": "253:0",
	} {
		command := parseCommand(strings.Fields(line), active())
		var words []string
		for number := range command.numbers {
			words = append(words, number)
		}
		slices.Sort(words)
		if command.removes {
			words = append(words, "removes")
		}
		if command.resizes {
			words = append(words, "resizes")
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

// program makes a script that writes its arguments down, and ends with a code.
func program(t *testing.T, directory, name, log, code string) {
	t.Helper()
	script := "#!/bin/sh\necho \"$0 $*\" >>" + log + "\nexit " + code + "\n"
	if err := os.WriteFile(filepath.Join(directory, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestTheWrapperOfLVM(t *testing.T) {
	keeper, fake := rig(t, class.Volume{Match: "vg1/*", How: "insert"})
	directory := t.TempDir()
	socket, log := filepath.Join(directory, "run", "lvm.sock"), filepath.Join(directory, "log")
	t.Setenv("PATH", directory+":"+os.Getenv("PATH"))
	program(t, directory, "lvm", log, "5")
	program(t, directory, "lvextend", log, "0")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := keeper.Serve(ctx, socket); err != nil {
		t.Fatal(err)
	}
	keeper.Ensure(ctx)
	fake.told = nil
	if code := Wrap(socket, "lvm", []string{"lvremove", "-y", "vg1/pvc-a"}); code != 5 {
		t.Errorf("exit code %d", code)
	}
	fake.expect(t, "extract vg1/pvc-a", "insert 253:0")
	if code := Wrap(socket, "lvextend", []string{"lvextend", "-L", "2G", "vg1/pvc-b"}); code != 0 {
		t.Errorf("exit code %d", code)
	}
	fake.expect(t, "extract vg1/pvc-b", "insert 253:1")
	if code := Wrap(socket, "lvm", []string{"lvs"}); code != 5 {
		t.Errorf("exit code %d", code)
	}
	fake.expect(t)
	// Without a process of the node, LVM runs all the same.
	if code := Wrap(socket+".none", "lvm", []string{"lvremove", "vg1/pvc-a"}); code != 5 {
		t.Errorf("exit code %d", code)
	}
	text, _ := os.ReadFile(log)
	want := []string{"lvm lvremove -y vg1/pvc-a", "lvextend -L 2G vg1/pvc-b", "lvm lvs", "lvm lvremove vg1/pvc-a", ""}
	for i, line := range strings.Split(string(text), "\n") {
		if got := strings.TrimPrefix(line, directory+"/"); got != want[i] {
			t.Errorf("ran %q, want %q", got, want[i])
		}
	}
	// A link to this program, as the container of a CSI driver has it in PATH.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	links := t.TempDir()
	if err := os.Symlink(self, filepath.Join(links, "lvextend")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", links+":"+os.Getenv("PATH"))
	if path, err := find("lvextend"); path != filepath.Join(directory, "lvextend") {
		t.Errorf("found %s, %v", path, err)
	}
	if Wrap(socket, "no-such-program", nil) != exitNotFound {
		t.Error("a program that is not there")
	}
}

func TestWhileLVMRunsNothingIsInserted(t *testing.T) {
	keeper, fake := rig(t, class.Volume{Match: "vg1/*", How: "insert"})
	args := []string{"lvcreate", "-n", "new", "vg1"}
	if err := keeper.begin(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	keeper.Ensure(context.Background())
	fake.expect(t)
	keeper.end(context.Background(), args)
	fake.expect(t, "insert 253:0", "insert 253:1")
}

func TestAWrapperThatDies(t *testing.T) {
	keeper, fake := rig(t, class.Volume{Match: "vg1/pvc-a", How: "insert"})
	socket := filepath.Join(t.TempDir(), "lvm.sock")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := keeper.Serve(ctx, socket); err != nil {
		t.Fatal(err)
	}
	keeper.Ensure(ctx)
	s, err := ask(socket, []string{"lvextend", "vg1/pvc-a"})
	if err != nil {
		t.Fatal(err)
	}
	s.connection.Close()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		keeper.mutex.Lock()
		busy := keeper.busy
		keeper.mutex.Unlock()
		if busy == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the keeper waits for a wrapper that has died")
		}
	}
	fake.expect(t, "insert 253:0", "extract vg1/pvc-a", "insert 253:0")
}

// full is a listener without a free file descriptor.
type full struct {
	net.Listener
	calls atomic.Int32
}

func (f *full) Accept() (net.Conn, error) {
	f.calls.Add(1)
	return nil, syscall.EMFILE
}

func TestAListenerThatFailsTakesNoProcessor(t *testing.T) {
	keeper, _ := rig(t)
	listener := &full{}
	ctx, cancel := context.WithTimeout(context.Background(), 2*acceptPause)
	defer cancel()
	keeper.accept(ctx, listener)
	if calls := listener.calls.Load(); calls > 3 {
		t.Errorf("tried %d times", calls)
	}
}

func TestAWrappedVolume(t *testing.T) {
	keeper, fake := rig(t)
	over := ioband.Device{Name: "io-vg1-pvc--a", BelowNumber: "253:0"}
	fake.devices = []ioband.Device{over}
	extend, remove := []string{"lvextend", "-L", "2G", "vg1/pvc-a"}, []string{"lvremove", "vg1/pvc-a"}
	_ = keeper.begin(context.Background(), extend)
	keeper.end(context.Background(), extend)
	fake.expect(t, "resize io-vg1-pvc--a")
	_ = keeper.begin(context.Background(), remove)
	keeper.end(context.Background(), remove)
	fake.expect(t, "unwrap io-vg1-pvc--a")
}
