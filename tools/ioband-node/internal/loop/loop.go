// SPDX-License-Identifier: GPL-2.0-only

// Package loop calls a function again and again: soon after an event, and periodically.
package loop

import (
	"context"
	"time"
)

const (
	// period is how often the function is called without an event.  It bounds for how long a
	// setting lasts that another program has changed.
	period = 10 * time.Second
	// settle is how long events are collected before the call: a volume that appears makes
	// several.
	settle = 50 * time.Millisecond
	// again is when the function is called once more after an event.  "iobandctl watch" sets
	// the weights of all cgroups some 100 ms after a device has changed.
	again = 500 * time.Millisecond
)

// Loop has its own events, so that a slow function delays no other loop.
type Loop struct {
	kick chan struct{}
}

// New returns a loop.
func New() Loop { return Loop{make(chan struct{}, 1)} }

// Kick has the function called soon.
func (l Loop) Kick() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// Run calls the function, until the end.
func (l Loop) Run(ctx context.Context, call func(context.Context)) {
	for wait := period; ctx.Err() == nil; {
		call(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = period
		case <-l.kick:
			time.Sleep(settle)
			wait = again
		}
	}
}
