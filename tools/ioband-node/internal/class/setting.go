// SPDX-License-Identifier: GPL-2.0-only

package class

import (
	"fmt"
	"strings"
)

// Setting is what a group is to have; 0 stands for the default: weight 100, no rate, no target.
type Setting struct {
	Weight    Weight
	Max       Rates
	Min       Rates
	LatencyUS uint64
}

// Item is a setting on some devices.
type Item struct {
	// Devices are patterns of paths of disks; without any, the setting is for all pools.
	Devices []string
	Setting Setting
}

// Items are the settings of a group.  A later item replaces an earlier one on its devices.
type Items []Item

// On returns the setting on a pool.  The function tells whether a pattern fits one of the
// pool's disks.
func (items Items) On(fits func(pattern string) bool) Setting {
	var setting Setting
	for _, item := range items {
		if len(item.Devices) > 0 && !anyFits(item.Devices, fits) {
			continue
		}
		weight := setting.Weight
		setting = item.Setting
		if setting.Weight == 0 {
			setting.Weight = weight
		}
	}
	return setting
}

func (items Items) haveMinimum() bool {
	for _, item := range items {
		if item.Setting.Min != (Rates{}) {
			return true
		}
	}
	return false
}

func anyFits(patterns []string, fits func(string) bool) bool {
	for _, pattern := range patterns {
		if fits(pattern) {
			return true
		}
	}
	return false
}

// Changes returns the words that iobandctl set needs to make one setting of another.
func (s Setting) Changes(wanted Setting) []string {
	var words []string
	if s.Weight != wanted.Weight {
		words = append(words, "weight="+wanted.Weight.String())
	}
	for kind, name := range RateNames {
		if s.Max[kind] != wanted.Max[kind] {
			words = append(words, fmt.Sprintf("max_%s=%s", name, orDefault(wanted.Max[kind], "max")))
		}
		if s.Min[kind] != wanted.Min[kind] {
			words = append(words, fmt.Sprintf("min_%s=%s", name, orDefault(wanted.Min[kind], "0")))
		}
	}
	if s.LatencyUS != wanted.LatencyUS {
		target := "none"
		if wanted.LatencyUS != 0 {
			target = fmt.Sprintf("%dus", wanted.LatencyUS)
		}
		words = append(words, "latency="+target)
	}
	return words
}

func orDefault(n uint64, otherwise string) string {
	if n == 0 {
		return otherwise
	}
	return fmt.Sprint(n)
}

func (r Rates) String() string {
	var words []string
	for kind, name := range RateNames {
		if r[kind] != 0 {
			words = append(words, fmt.Sprintf("%s=%d", name, r[kind]))
		}
	}
	return strings.Join(words, " ")
}
