// SPDX-License-Identifier: GPL-2.0-only

package class

import (
	"cmp"
	"fmt"
)

// Bounds limit the annotations with single values.  A kind without a bound is refused.
type Bounds struct {
	Weight  *WeightBounds `yaml:"weight"`
	Minimum string        `yaml:"minimum"`
	Maximum string        `yaml:"maximum"`
	Latency string        `yaml:"latency"`

	minimum, maximum *Rates
	latencyUS        uint64
}

// WeightBounds are the weights that a pod may ask for; idle is below 1.
type WeightBounds struct {
	Min Weight `yaml:"min"`
	Max Weight `yaml:"max"`
}

// leastMaximum bounds the maximum of an annotation from below.  A pod with 1 byte a second would
// hold locks of a shared file system for as long as its I/O takes.
var leastMaximum = Rates{64 << 10, 64 << 10, 16, 16}

// anyRate is the word for rates without a bound.
const anyRate = "any"

func (b *Bounds) read() error {
	var err error
	if w := b.Weight; w != nil {
		w.Min = cmp.Or(w.Min, 1)
		if w.Max == 0 || w.Max < w.Min {
			return fmt.Errorf("bounds: weight: min and max are from 1 to %d, and max is not less than min", WeightMax)
		}
	}
	if b.minimum, err = rateBound(b.Minimum); err != nil {
		return fmt.Errorf("bounds: minimum: %w", err)
	}
	if b.maximum, err = rateBound(b.Maximum); err != nil {
		return fmt.Errorf("bounds: maximum: %w", err)
	}
	if b.Latency != "" {
		if b.latencyUS, err = ParseLatency(b.Latency); err != nil {
			return fmt.Errorf("bounds: latency: %w", err)
		}
	}
	return nil
}

func rateBound(text string) (*Rates, error) {
	if text == "" {
		return nil, nil
	}
	if text == anyRate {
		return &Rates{RateMax, RateMax, RateMax, RateMax}, nil
	}
	rates, err := ParseRates(text)
	return &rates, err
}
