// SPDX-License-Identifier: GPL-2.0-only

// Package ioband runs iobandctl, and reads its JSON.
package ioband

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"dm-ioband/tools/ioband-node/internal/class"
)

// Exit codes of iobandctl.
const (
	exitNoIoband = 6
	exitFormat   = 7
)

// patience is longer than iobandctl waits for a lock, which is 40 seconds.
const patience = time.Minute

// killPatience is how long it may take to end after SIGTERM.
const killPatience = 5 * time.Second

// Error is a failure of iobandctl.
type Error struct {
	// Code is its exit code, or -1 if it did not run.
	Code int
	Says string
}

func (e *Error) Error() string { return e.Says }

// IsUnavailable tells whether the node has no ioband: no module, one of another version, or
// no iobandctl.
func IsUnavailable(err error) bool {
	var failure *Error
	return errors.As(err, &failure) &&
		(failure.Code == exitNoIoband || failure.Code == exitFormat || failure.Code == -1)
}

// Tool is the program.
type Tool struct {
	Program string
}

// Run runs it, and returns its output.  The end of this process does not interrupt it: a
// command that is killed while it waits for udev leaves a semaphore behind.
func (t Tool) Run(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, t.Program, args...)
	command.Stdout, command.Stderr = &stdout, &stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals are for this process
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = killPatience
	err := command.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	failure := &Error{Code: -1, Says: strings.TrimSpace(stderr.String())}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		failure.Code = exit.ExitCode()
	}
	if failure.Says == "" {
		failure.Says = fmt.Sprintf("%s %s: %v", t.Program, args[0], err)
	}
	return stdout.Bytes(), failure
}

func (t Tool) json(ctx context.Context, into any, args ...string) error {
	text, err := t.Run(ctx, append(args, "--json")...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s %s: %w", t.Program, args[0], err)
	}
	return nil
}

// Available returns an error if this kernel has no ioband.  A list of devices without any
// does not tell.
func (t Tool) Available(ctx context.Context) error {
	text, err := t.Run(ctx, "check", "--json")
	if !IsUnavailable(err) {
		return nil // other findings are about devices
	}
	var list struct {
		Findings []struct {
			Verdict string `json:"verdict"`
			Subject string `json:"subject"`
			Finding string `json:"finding"`
			Remedy  string `json:"remedy"`
		} `json:"findings"`
	}
	failure := *err.(*Error)
	_ = json.Unmarshal(text, &list)
	for _, finding := range list.Findings {
		if finding.Verdict == "wrong" {
			failure.Says = fmt.Sprintf("%s: %s; %s", finding.Subject, finding.Finding, finding.Remedy)
			break
		}
	}
	return &failure
}

// Device is an ioband device.
type Device struct {
	Name        string `json:"name"`
	Number      string `json:"number"`
	Below       string `json:"device"`
	BelowNumber string `json:"device_number"`
	Pool        string `json:"pool"`
	Mode        string `json:"mode"`
	Inserted    bool   `json:"inserted"`
}

// Devices lists the ioband devices.
func (t Tool) Devices(ctx context.Context) ([]Device, error) {
	var list struct {
		Devices []Device `json:"devices"`
	}
	err := t.json(ctx, &list, "list")
	return list.Devices, err
}

// Tree is a tree of groups: a pool's, or that of a device of mode device+cgroup.
type Tree struct {
	Pool   string
	Device string
}

// Trees returns the trees that sort by cgroups, each with a device in it.
func Trees(devices []Device) map[Tree]Device {
	trees := map[Tree]Device{}
	for _, device := range devices {
		switch device.Mode {
		case "cgroup":
			trees[Tree{Pool: device.Pool}] = device
		case "device+cgroup":
			trees[Tree{device.Pool, device.Name}] = device
		}
	}
	return trees
}

// Group is a cgroup in a tree.
type Group struct {
	Tree Tree
	Path string
}

type row struct {
	Pool      string `json:"pool"`
	Device    string `json:"device"`
	Group     string `json:"group"`
	Weight    *int32 `json:"weight"` // null for the default, 0 for idle
	MaxRbps   uint64 `json:"max_rbps"`
	MaxWbps   uint64 `json:"max_wbps"`
	MaxRiops  uint64 `json:"max_riops"`
	MaxWiops  uint64 `json:"max_wiops"`
	MinRbps   uint64 `json:"min_rbps"`
	MinWbps   uint64 `json:"min_wbps"`
	MinRiops  uint64 `json:"min_riops"`
	MinWiops  uint64 `json:"min_wiops"`
	LatencyUS uint64 `json:"latency_us"`
}

func (r row) weight() class.Weight {
	if r.Weight == nil {
		return 0
	}
	return cmp.Or(class.Weight(*r.Weight), class.Idle)
}

func (r row) setting() class.Setting {
	return class.Setting{
		Weight:    r.weight(),
		Max:       class.Rates{r.MaxRbps, r.MaxWbps, r.MaxRiops, r.MaxWiops},
		Min:       class.Rates{r.MinRbps, r.MinWbps, r.MinRiops, r.MinWiops},
		LatencyUS: r.LatencyUS,
	}
}

// Settings returns what cgroups have been given, in all trees.
func (t Tool) Settings(ctx context.Context) (map[Group]class.Setting, error) {
	var list struct {
		Rows []row `json:"weights"`
	}
	if err := t.json(ctx, &list, "groups", "--weights"); err != nil {
		return nil, err
	}
	settings := make(map[Group]class.Setting, len(list.Rows))
	for _, row := range list.Rows {
		if strings.HasPrefix(row.Group, "/") {
			settings[Group{Tree{row.Pool, row.Device}, row.Group}] = row.setting()
		}
	}
	return settings, nil
}

// Set changes the settings of a group in its tree, all or none.
func (t Tool) Set(ctx context.Context, group Group, words []string) error {
	args := []string{"set"}
	if group.Tree.Device != "" {
		args = append(args, "--device", group.Tree.Device)
	} else {
		args = append(args, "--pool", group.Tree.Pool)
	}
	_, err := t.Run(ctx, append(append(args, "cgroup:"+group.Path), words...)...)
	return err
}

// Metrics returns the figures for Prometheus.
func (t Tool) Metrics(ctx context.Context) ([]byte, error) {
	return t.Run(ctx, "metrics")
}
