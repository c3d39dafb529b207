// Package eventually waits in tests for conditions that other goroutines or processes bring about.
package eventually

import (
	"errors"
	"testing"
	"time"
)

const (
	// patience is the time after which a test fails; a busy machine may need most of it.
	patience = 30 * time.Second
	pause    = 2 * time.Millisecond
)

// Succeeds calls f until it returns nil. It fails the test with the last error of f if that does not happen.
func Succeeds(t testing.TB, what string, f func() error) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// True is Succeeds for a condition.
func True(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Succeeds(t, what, func() error {
		if !holds() {
			return errors.New("it did not happen")
		}
		return nil
	})
}
