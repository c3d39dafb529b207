package apf

import (
	"fmt"
	"time"
)

// work is a number of seats times the time for which they are taken, and what
// virtual time is measured in: one unit is one seat for one nanosecond.
type work int64

// epoch is where virtual time is set back, with everything that is measured by
// it, so that it never overflows.
const epoch work = 1 << 61

func workOf(seats int, d time.Duration) work { return work(seats) * work(d) }

// spread is how long so many seats take for w.
func (w work) spread(seats int) time.Duration { return time.Duration(w / work(seats)) }

// seatSeconds is w for people and for metrics.
func (w work) seatSeconds() float64 { return float64(w) / float64(time.Second) }

// String is w as kube-apiserver writes it: seat-seconds with eight digits.
func (w work) String() string {
	sign := ""
	if w < 0 {
		sign, w = "-", -w
	}
	return fmt.Sprintf("%s%d.%08dss", sign, w/work(time.Second), w%work(time.Second)/10)
}
