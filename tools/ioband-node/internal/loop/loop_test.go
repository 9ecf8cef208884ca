// SPDX-License-Identifier: GPL-2.0-only

package loop

import (
	"context"
	"testing"
	"time"
)

func TestAKickIsFollowedByTwoCalls(t *testing.T) {
	loop, calls := New(), make(chan time.Time, 100)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		loop.Run(ctx, func(context.Context) { calls <- time.Now() })
		close(ended)
	}()
	first := <-calls
	loop.Kick()
	soon, once := <-calls, <-calls
	if soon.Sub(first) < settle || once.Sub(soon) < again || once.Sub(first) > period {
		t.Errorf("called after %v and %v", soon.Sub(first), once.Sub(first))
	}
	cancel()
	<-ended
	if len(calls) != 0 {
		t.Errorf("%d more calls", len(calls))
	}
}
