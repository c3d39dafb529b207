package server

import (
	"errors"
	"testing"
)

// TestConcurrently checks that the steps run at the same time, and that the order of the list
// decides which error is returned.
func TestConcurrently(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	here, there := make(chan struct{}), make(chan struct{})
	err := concurrently(
		func() error {
			close(here)
			<-there
			return first
		},
		func() error { return nil },
		func() error {
			<-here
			close(there)
			return second
		},
	)()
	if err != first {
		t.Errorf("got %v", err)
	}
}
