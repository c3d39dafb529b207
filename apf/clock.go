package apf

import "time"

// Clock is what time it is, and what wakes when some has passed. Tests have one
// that they move themselves.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f when d has passed, unless the function that it returns
	// is called before.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// wallClock is the machine's.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
