// SPDX-License-Identifier: GPL-2.0-only

package ioband

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dm-ioband/tools/ioband-node/internal/class"
)

// fake makes an iobandctl of a script.
func fake(t *testing.T, script string) Tool {
	t.Helper()
	file := filepath.Join(t.TempDir(), "iobandctl")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return Tool{file}
}

func TestDevicesAndTrees(t *testing.T) {
	tool := fake(t, `test "$*" = "list --json" && cat <<END
{"devices":[
 {"name":"vg-a","number":"253:0","device":"vg-a-ioband","device_number":"253:5","pool":"sda","mode":"cgroup","inserted":true,"weight":null},
 {"name":"own","number":"253:1","device":"sdb1","device_number":"8:17","pool":"sdb","mode":"device+cgroup","inserted":false},
 {"name":"users","number":"253:2","device":"sdb2","device_number":"8:18","pool":"sdb","mode":"uid","inserted":false}]}
END`)
	devices, err := tool.Devices(context.Background())
	if err != nil || len(devices) != 3 {
		t.Fatal(devices, err)
	}
	first := Device{"vg-a", "253:0", "vg-a-ioband", "253:5", "sda", "cgroup", true}
	if devices[0] != first {
		t.Errorf("%+v", devices[0])
	}
	want := map[Tree]Device{{Pool: "sda"}: devices[0], {"sdb", "own"}: devices[1]}
	if got := Trees(devices); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

func TestSettings(t *testing.T) {
	tool := fake(t, `test "$*" = "groups --weights --json" && cat <<END
{"weights":[
 {"pool":"sda","device":null,"group":"/a","id":"cgroup#5","weight":300,"max_rbps":5,"max_wbps":null,"max_riops":null,"max_wiops":7,
  "min_rbps":null,"min_wbps":3,"min_riops":null,"min_wiops":null,"latency_us":2000},
 {"pool":"sda","device":"own","group":"/a","id":"cgroup#5","weight":null},
 {"pool":"sda","device":null,"group":"/b","id":"cgroup#6","weight":0},
 {"pool":"sda","device":"own","group":"device:own","id":"device:253:1","weight":200}]}
END`)
	settings, err := tool.Settings(context.Background())
	want := map[Group]class.Setting{
		{Tree{Pool: "sda"}, "/a"}:  {Weight: 300, Max: class.Rates{5, 0, 0, 7}, Min: class.Rates{0, 3}, LatencyUS: 2000},
		{Tree{"sda", "own"}, "/a"}: {},
		{Tree{Pool: "sda"}, "/b"}:  {Weight: class.Idle},
	}
	if err != nil || !reflect.DeepEqual(settings, want) {
		t.Errorf("%v, %v", settings, err)
	}
}

func TestSetAndItsFailures(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	tool := fake(t, `echo "$*" >>`+log+`; case $3 in
bad) echo "iobandctl: no such pool" >&2; exit 3 ;;
none) echo "iobandctl: no target" >&2; exit 6 ;;
mute) exit 1 ;;
esac`)
	ctx := context.Background()
	words := []string{"weight=300", "latency=none"}
	if err := tool.Set(ctx, Group{Tree{Pool: "sda"}, "/a"}, words); err != nil {
		t.Error(err)
	}
	if err := tool.Set(ctx, Group{Tree{"sda", "own"}, "/a"}, words); err != nil {
		t.Error(err)
	}
	text, _ := os.ReadFile(log)
	want := "set --pool sda cgroup:/a weight=300 latency=none\nset --device own cgroup:/a weight=300 latency=none\n"
	if string(text) != want {
		t.Errorf("ran %q", text)
	}
	err := tool.Set(ctx, Group{Tree{Pool: "bad"}, "/a"}, words)
	if err == nil || err.Error() != "iobandctl: no such pool" || IsUnavailable(err) {
		t.Error(err)
	}
	if err := tool.Set(ctx, Group{Tree{Pool: "none"}, "/a"}, words); !IsUnavailable(err) {
		t.Error(err)
	}
	if err := tool.Set(ctx, Group{Tree{Pool: "mute"}, "/a"}, words); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Error(err)
	}
	if _, err := (Tool{"/nowhere/iobandctl"}).Devices(ctx); !IsUnavailable(err) {
		t.Error(err)
	}
	if _, err := fake(t, "echo nonsense").Devices(ctx); err == nil || IsUnavailable(err) {
		t.Error(err)
	}
}

func TestAvailable(t *testing.T) {
	const findings = `test "$*" = "check --json" && cat <<END
{"findings":[{"verdict":"ok","subject":"device-mapper","finding":"fine","remedy":null},
 {"verdict":"wrong","subject":"module","finding":"not installed","remedy":"install it"}]}
END
exit `
	if err := fake(t, findings+"6").Available(context.Background()); !IsUnavailable(err) ||
		err.Error() != "module: not installed; install it" {
		t.Error(err)
	}
	for _, code := range []string{"0", "1"} {
		if err := fake(t, findings+code).Available(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if err := (Tool{"/nowhere/iobandctl"}).Available(context.Background()); !IsUnavailable(err) {
		t.Error(err)
	}
}

func TestTheEndOfTheProcessInterruptsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := fake(t, "echo done").Run(ctx, "insert"); err != nil {
		t.Error(err)
	}
}

func TestFits(t *testing.T) {
	before := Sys
	Sys = t.TempDir()
	t.Cleanup(func() { Sys = before })
	// vg-a lies on the partition sda1; the links are as in sysfs.
	for _, directory := range []string{"block/dm-0/slaves", "block/sda/sda1", "block/sdb", "dev/block"} {
		if err := os.MkdirAll(filepath.Join(Sys, directory), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"dev/block/253:0": "../../block/dm-0", "block/dm-0/slaves/sda1": "../../sda/sda1",
	} {
		if err := os.Symlink(to, filepath.Join(Sys, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(Sys, "block/sda/sda1/partition"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dev := t.TempDir()
	for _, name := range []string{"sda", "sda1", "sdb"} {
		if err := os.WriteFile(filepath.Join(dev, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("sda", filepath.Join(dev, "SSD-1")); err != nil {
		t.Fatal(err)
	}
	fits := Fits(Device{BelowNumber: "253:0"})
	for pattern, want := range map[string]bool{
		"sda": true, "sd[a-z]": true, "sda1": true, "SSD-*": true, "sdb": false, "none*": false,
	} {
		if fits(filepath.Join(dev, pattern)) != want {
			t.Errorf("%s: not %v", pattern, want)
		}
	}
}
