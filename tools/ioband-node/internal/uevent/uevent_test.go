// SPDX-License-Identifier: GPL-2.0-only

package uevent

import "testing"

func TestOnlyDeviceMapper(t *testing.T) {
	const head = "change@/devices/virtual/block/x\x00ACTION=change\x00SUBSYSTEM="
	for message, want := range map[string]bool{
		head + "block\x00MAJOR=253\x00DEVNAME=dm-3\x00DEVTYPE=disk\x00": true,
		head + "block\x00MAJOR=8\x00DEVNAME=sda\x00DEVTYPE=disk\x00":    false,
		head + "net\x00DEVNAME=dm-3\x00":                                false,
		"":                                                              false,
	} {
		if got := isMapped([]byte(message)); got != want {
			t.Errorf("%q: %v", message, got)
		}
	}
}
