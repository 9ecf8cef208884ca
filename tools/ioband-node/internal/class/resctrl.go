// SPDX-License-Identifier: GPL-2.0-only

package class

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
)

// A class file of goresctrl, which containerd and CRI-O read too.
type resctrlFile struct {
	Classes map[string][]resctrlItem `yaml:"Classes"`
}

type resctrlItem struct {
	Devices           []string `yaml:"Devices"`
	Weight            string   `yaml:"Weight"`
	ThrottleReadBps   string   `yaml:"ThrottleReadBps"`
	ThrottleWriteBps  string   `yaml:"ThrottleWriteBps"`
	ThrottleReadIOPS  string   `yaml:"ThrottleReadIOPS"`
	ThrottleWriteIOPS string   `yaml:"ThrottleWriteIOPS"`
}

// addClassFile adds the classes of a file.
func (c *Config) addClassFile(text []byte) error {
	var file resctrlFile
	if err := decode(text, &file); err != nil {
		return err
	}
	c.resctrl = make(map[string]Items, len(file.Classes))
	for name, list := range file.Classes {
		if _, twice := c.Classes[name]; twice {
			return fmt.Errorf("class %q is in the configuration of the node too", name)
		}
		for i, entry := range list {
			item, err := entry.item()
			if err != nil {
				return fmt.Errorf("class %q, entry %d: %w", name, i+1, err)
			}
			c.resctrl[name] = append(c.resctrl[name], item)
		}
	}
	return nil
}

func (r resctrlItem) item() (Item, error) {
	item := Item{Devices: r.Devices}
	for _, pattern := range r.Devices {
		if _, err := path.Match(pattern, ""); err != nil {
			return item, fmt.Errorf("entry of Devices: %q: %w", pattern, err)
		}
	}
	if r.Weight != "" {
		weight, err := ParseWeight(r.Weight)
		if err != nil {
			return item, fmt.Errorf("value of Weight: %w", err)
		}
		item.Setting.Weight = weight
	}
	for kind, text := range [Kinds]string{r.ThrottleReadBps, r.ThrottleWriteBps, r.ThrottleReadIOPS, r.ThrottleWriteIOPS} {
		if text == "" {
			continue
		}
		if len(r.Devices) == 0 {
			return item, fmt.Errorf("a Throttle needs Devices")
		}
		rate, err := parseQuantity(text)
		if err != nil {
			return item, err
		}
		item.Setting.Max[kind] = rate
	}
	return item, nil
}

// The suffixes of Kubernetes' quantities: powers of 1000, or with an i of 1024.
var quantities = []struct {
	suffix string
	factor float64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"", 1},
}

func parseQuantity(text string) (uint64, error) {
	for _, quantity := range quantities {
		digits, found := strings.CutSuffix(text, quantity.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(digits, 64)
		n = math.Round(n * quantity.factor)
		if err != nil || !(n >= 1 && n <= RateMax) {
			break
		}
		return uint64(n), nil
	}
	return 0, fmt.Errorf("%q is no rate, such as 50M or 10k", text)
}
