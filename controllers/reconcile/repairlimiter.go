package reconcile

import "time"

// RepairLimiter limits how often the objects of a controller are repaired: immediately at first,
// then with growing pauses if they keep being changed, most likely by another server that
// stores to the same etcd and has another configuration. It is not safe for concurrent use.
type RepairLimiter map[string]repairPause

// repairPause is the pause after a repair: its end and its duration.
type repairPause struct {
	until time.Time
	pause time.Duration
}

const (
	minRepairPause = 100 * time.Millisecond
	maxRepairPause = 10 * time.Minute
)

// UntilRepair returns the time until key may be repaired. Done means now, and counts a repair. now is the real time.
func (m RepairLimiter) UntilRepair(key string, now time.Time) Result {
	was := m[key]
	if left := was.until.Sub(now); left > 0 {
		return Poll(left)
	}
	pause := min(max(2*was.pause, minRepairPause), maxRepairPause)
	if now.Sub(was.until) > maxRepairPause {
		pause = minRepairPause
	}
	m[key] = repairPause{now.Add(pause), pause}
	return Done
}
