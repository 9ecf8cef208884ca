// SPDX-License-Identifier: GPL-2.0-only

package volume

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

// Where LVM's commands are where PATH does not say so.
var programDirectories = []string{"/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"}

// exitNotFound is what a shell says of a command that is not there.
const exitNotFound = 127

// Wrap runs a command of LVM while ioband is out of the volumes that it names, and returns
// its exit code.  The program is "lvm", or a command by its own name; args begin with the
// command in either case.
func Wrap(socket, program string, args []string) int {
	path, err := find(program)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ioband-node:", err)
		return exitNotFound
	}
	var s *session
	if Changes(args) {
		if s, err = ask(socket, args); err != nil {
			fmt.Fprintln(os.Stderr, "ioband-node:", err)
		}
	}
	argv := args
	if program == "lvm" {
		argv = append([]string{program}, args...)
	}
	code := run(path, argv)
	if s != nil {
		if err := s.done(); err != nil {
			fmt.Fprintln(os.Stderr, "ioband-node:", err)
		}
	}
	return code
}

// find looks for a program that is not this one.
func find(program string) (string, error) {
	self, _ := os.Stat("/proc/self/exe")
	for _, directory := range append(filepath.SplitList(os.Getenv("PATH")), programDirectories...) {
		path := filepath.Join(directory, program)
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() && info.Mode()&0o111 != 0 && !os.SameFile(info, self) {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s in PATH", program)
}

// run passes signals on, and returns the exit code as a shell would.
func run(path string, argv []string) int {
	command := &exec.Cmd{Path: path, Args: argv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if err := command.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "ioband-node:", err)
		return exitNotFound
	}
	go func() {
		for got := range signals {
			_ = command.Process.Signal(got)
		}
	}()
	err := command.Wait()
	signal.Stop(signals)
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}
