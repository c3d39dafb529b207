package handlers

import (
	"context"
	"time"
)

// A watch that was quiet gets its events at once, and so does one with a burst
// of them. Where they keep coming thick and fast, those of watchPace go out
// together, for what a write costs (waking up, a frame of HTTP/2, a record of
// TLS, a system call) is several times what an event does.
const (
	watchPace  = 20 * time.Millisecond
	watchBurst = 20 * watchPace
)

// pace makes its user rest between writes, so that in the long run there is one
// in each watchPace. The zero value is ready; stop it in the end.
type pace struct {
	due   time.Time // when the writes so far would have been done at that rate
	timer *time.Timer
}

// rest is for after a write. It returns when the next one may be made, or when
// ctx is done.
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
