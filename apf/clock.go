package apf

import "time"

// Clock is the source of time. Tests use one that they advance themselves.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f after d, unless the returned function is called first.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// systemClock is the system clock.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
