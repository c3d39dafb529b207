package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
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

// TestBlockedStart checks that a start ends with its context although a step of it blocks, and leaves nothing
// behind.
func TestBlockedStart(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	fifo := filepath.Join(t.TempDir(), "tokens")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(fifo, os.O_RDWR, 0) // does not wait for a reader
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := Start(ctx, Options{Authentication: Authentication{TokenFile: fifo}})
		ended <- err
	}()
	// More than the pipe has room for is written when the start reads it, and then waits for the rest.
	if _, err := writer.Write(make([]byte, 256<<10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
