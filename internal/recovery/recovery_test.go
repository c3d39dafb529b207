package recovery

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// TestCall checks the errors and the log records of panics.
func TestCall(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	if err := Call(log, "nothing", func() {}); err != nil || out.Len() > 0 {
		t.Error(err, out.String())
	}
	var none map[string]int
	err := Call(log, "a write", func() { none["a"] = 1 })
	if !errors.Is(err, ErrPanic) || !strings.Contains(err.Error(), "a write") {
		t.Error(err)
	}
	if logged := out.String(); !strings.Contains(logged, "recovery_test.go") || !strings.Contains(logged, "level=ERROR") {
		t.Errorf("logged: %s", logged)
	}
	out.Reset()
	if err := Call(log, "an answer", func() { panic(http.ErrAbortHandler) }); err != http.ErrAbortHandler || out.Len() > 0 {
		t.Error(err, out.String())
	}
}

// TestRestartOnPanic checks that a function is called again after a panic.
func TestRestartOnPanic(t *testing.T) {
	times := 0
	RestartOnPanic(t.Context(), slog.New(slog.DiscardHandler), "a loop", func() {
		if times++; times < 3 {
			panic("again")
		}
	})
	if times != 3 {
		t.Errorf("called %d times", times)
	}
	ctx, cancel := context.WithCancel(t.Context())
	RestartOnPanic(ctx, slog.New(slog.DiscardHandler), "a loop", func() { cancel(); panic("the last one") }) // returns
}
