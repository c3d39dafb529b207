package handlers

import (
	"context"
	"time"
)

// A watch with many events sends those of watchPace together, because a write (a wake-up, an
// HTTP/2 frame, a TLS record, a system call) costs several times as much as an event. The
// first watchBurst of writes after a pause are not delayed.
const (
	watchPace  = 20 * time.Millisecond
	watchBurst = 20 * watchPace
)

// pace limits the rate of writes to one in each watchPace. The zero value is ready for use;
// stop releases its timer. docs/decisions/0013-memory-devices.md has what it saves.
type pace struct {
	due   time.Time // end of the time that the writes so far take at that rate
	timer *time.Timer
}

// rest is called after a write. It returns when the next write may be made, or when ctx is
// done.
func (p *pace) rest(ctx context.Context) {
	now := time.Now()
	if earliest := now.Add(-watchBurst); p.due.Before(earliest) {
		p.due = earliest
	}
	p.due = p.due.Add(watchPace)
	wait := p.due.Sub(now)
	if wait <= 0 {
		return
	}
	if p.timer == nil {
		p.timer = time.NewTimer(wait)
	} else {
		p.timer.Reset(wait)
	}
	select {
	case <-p.timer.C:
	case <-ctx.Done():
	}
}

func (p *pace) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
