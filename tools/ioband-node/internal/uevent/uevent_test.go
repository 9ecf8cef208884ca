// SPDX-License-Identifier: GPL-2.0-only

package uevent

import (
	"bytes"
	"testing"
)

const head = "change@/devices/virtual/block/x\x00ACTION=change\x00SUBSYSTEM="

func TestOnlyDeviceMapper(t *testing.T) {
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

// FuzzIsMapped compares with a reading of all variables; a value may contain their text.
func FuzzIsMapped(f *testing.F) {
	f.Add([]byte(head + "block\x00DEVNAME=dm-3\x00"))
	f.Add([]byte(head + "block\x00DEVNAME=sda\x00X=DEVNAME=dm-\x00DEVNAME=dm-"))
	f.Add([]byte(head + "blocks\x00DEVNAME=dm-3\x00"))
	f.Add([]byte("\x00DEVNAME=dm-\x00SUBSYSTEM=block"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, message []byte) {
		variables := bytes.Split(message, []byte{0})[1:]
		isBlock, isNamed := false, false
		for i, variable := range variables {
			isWhole := i < len(variables)-1
			isBlock = isBlock || isWhole && string(variable) == "SUBSYSTEM=block"
			isNamed = isNamed || bytes.HasPrefix(variable, []byte("DEVNAME=dm-"))
		}
		if got := isMapped(message); got != (isBlock && isNamed) {
			t.Errorf("%q: %v", message, got)
		}
	})
}
