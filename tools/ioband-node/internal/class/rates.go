// SPDX-License-Identifier: GPL-2.0-only

package class

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The kinds of rates, in the order of the kernel's lists.
const (
	ReadBytes = iota
	WriteBytes
	ReadIOs
	WriteIOs
	Kinds
)

// RateNames are the kinds as iobandctl names them.
var RateNames = [Kinds]string{"rbps", "wbps", "riops", "wiops"}

// Rates are bytes or I/Os a second by kind; 0 is none.
type Rates [Kinds]uint64

// The limits of the kernel's interface.
const (
	RateMax    = 1 << 40
	WeightMax  = 10000
	LatencyMax = 10 * time.Second
)

const suffixes = "KMGT"

// K and KB are 1000, KiB is 1024; I/Os have K only.
func parseRate(text string, kind int) (uint64, error) {
	unit, base, digits := uint64(1), uint64(1000), text
	if short, found := strings.CutSuffix(text, "iB"); found && kind < ReadIOs {
		base, digits = 1024, short
	} else if short, found := strings.CutSuffix(text, "B"); found && kind < ReadIOs {
		digits = short
	}
	if i := len(digits) - 1; i >= 0 {
		if exponent := strings.IndexByte(suffixes, digits[i]); exponent >= 0 {
			digits = digits[:i]
			for ; exponent >= 0; exponent-- {
				unit *= base
			}
		}
	}
	if unit == 1 {
		digits = text
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n == 0 || n > RateMax/unit {
		return 0, fmt.Errorf("%s=%s: the rate is a whole number from 1 to %d, with K, M, G or T (powers of 1000), or for bytes KiB, MiB, GiB or TiB (powers of 1024), or without",
			RateNames[kind], text, uint64(RateMax))
	}
	return n * unit, nil
}

// ParseRates reads "rbps=50MiB wiops=200", as iobandctl set-max and set-min take it.
func ParseRates(text string) (Rates, error) {
	var rates Rates
	words := strings.Fields(text)
	if len(words) == 0 {
		return rates, fmt.Errorf("no rate is given; write for instance rbps=50MiB")
	}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		kind := kindOf(name)
		if kind == Kinds {
			return rates, fmt.Errorf("%q is none of rbps=, wbps=, riops= and wiops=", word)
		}
		if rates[kind] != 0 {
			return rates, fmt.Errorf("%s= is given twice", name)
		}
		rate, err := parseRate(value, kind)
		if err != nil {
			return rates, err
		}
		rates[kind] = rate
	}
	return rates, nil
}

// plainUnit returns a note if rates of bytes have K, M, G or T, which were powers of 1024 in
// former versions, or "".
func plainUnit(text string) string {
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		if kindOf(name) < ReadIOs && value != "" && strings.IndexByte(suffixes, value[len(value)-1]) >= 0 {
			return fmt.Sprintf("%s: K, M, G and T are powers of 1000, as in systemd's IOReadBandwidthMax=, no longer of 1024; write MB or the like for powers of 1000, MiB or the like for powers of 1024", word)
		}
	}
	return ""
}

func kindOf(name string) int {
	for kind, known := range RateNames {
		if name == known {
			return kind
		}
	}
	return Kinds
}

// Weight is that of a group; 0 stands for the default, which is 100.
type Weight int32

// Idle is the class of groups that have what all others leave over: below each weight.
const (
	Idle     Weight = -1
	idleWord        = "idle"
)

func (w Weight) String() string {
	switch w {
	case 0:
		return "default"
	case Idle:
		return idleWord
	}
	return strconv.Itoa(int(w))
}

// UnmarshalText reads a bound of weights.
func (w *Weight) UnmarshalText(text []byte) (err error) {
	*w, err = ParseWeight(string(text))
	return err
}

// ParseWeight reads a weight.
func ParseWeight(text string) (Weight, error) {
	if text == idleWord {
		return Idle, nil
	}
	weight, err := strconv.ParseUint(text, 10, 32)
	if err != nil || weight < 1 || weight > WeightMax {
		return 0, fmt.Errorf("%q: the weight is a whole number from 1 to %d, or idle", text, WeightMax)
	}
	return Weight(weight), nil
}

// ParseLatency reads a latency target, such as 1.5ms, as microseconds.
func ParseLatency(text string) (uint64, error) {
	for _, unit := range []struct {
		name string
		us   float64
	}{{"us", 1}, {"ms", 1e3}, {"s", 1e6}} {
		digits, found := strings.CutSuffix(text, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(digits, 64)
		us := math.Round(n * unit.us)
		if err != nil || !(us >= 1 && us <= float64(LatencyMax.Microseconds())) {
			break
		}
		return uint64(us), nil
	}
	return 0, fmt.Errorf("%q: the latency target is a number with us, ms or s behind it, from 1us to 10s", text)
}
