// SPDX-License-Identifier: GPL-2.0-only

// Package uevent tells of devices of device-mapper that come, change and go.
package uevent

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// kernelGroup is the multicast group of the kernel's own messages.
const kernelGroup = 1

// pause is the time after a failure.
const pause = 100 * time.Millisecond

// Watch calls a function after each event, until the end.
func Watch(ctx context.Context, call func()) error {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK,
		syscall.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return fmt.Errorf("uevents: %w", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK, Groups: kernelGroup}); err != nil {
		syscall.Close(fd)
		return fmt.Errorf("uevents: %w", err)
	}
	socket := os.NewFile(uintptr(fd), "uevents")
	context.AfterFunc(ctx, func() { socket.Close() })
	go read(ctx, socket, call)
	return nil
}

func read(ctx context.Context, socket *os.File, call func()) {
	message := make([]byte, 16<<10)
	for ctx.Err() == nil {
		n, err := socket.Read(message)
		if err != nil {
			// Messages were lost, as the kernel had no room for them.
			time.Sleep(pause)
		}
		if err != nil || isMapped(message[:n]) {
			call()
		}
	}
}

func isMapped(message []byte) bool {
	return bytes.Contains(message, []byte("\x00SUBSYSTEM=block\x00")) &&
		bytes.Contains(message, []byte("\x00DEVNAME=dm-"))
}
