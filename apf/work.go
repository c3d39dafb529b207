package apf

import (
	"fmt"
	"time"
)

// work is a number of seats times the duration for which they are occupied. It is the unit
// of virtual time: 1 is one seat for one nanosecond.
type work int64

// epochLength is the virtual time at which it is rebased to 0, so that it never overflows.
const epochLength work = 1 << 61

func workOf(seats int, d time.Duration) work { return work(seats) * work(d) }

// spread returns the duration for which the seats are occupied by w.
func (w work) spread(seats int) time.Duration { return time.Duration(w / work(seats)) }

// seatSeconds returns w in seat-seconds.
func (w work) seatSeconds() float64 { return float64(w) / float64(time.Second) }

// String returns w in kube-apiserver's format: seat-seconds with eight digits.
func (w work) String() string {
	sign := ""
	if w < 0 {
		sign, w = "-", -w
	}
	return fmt.Sprintf("%s%d.%08dss", sign, w/work(time.Second), w%work(time.Second)/10)
}
