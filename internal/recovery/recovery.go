// Package recovery keeps a panic from ending the process. A panic that nobody
// recovers does so from whichever goroutine it comes, and net/http recovers only
// those of the goroutines that it starts itself. Whoever starts another one for a
// request or a controller begins it with a function of this package:
//
//   - Call, for what is done once,
//   - Keep, for a loop, which is begun again,
//   - Into, deferred, where the panic is to become an error.
//
// Each logs the panic with its stack, by slog.Default where the caller has no logger.
// A test looks whether every goroutine of the
// module begins so.
package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// Bounds of the pause after which Keep begins a loop again.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = time.Minute
)

// ErrPanic is what the errors of this package wrap.
var ErrPanic = errors.New("panic")

// Into recovers a panic and sets err to an error about it. It must be deferred
// itself. what says what was being done.
func Into(log *slog.Logger, what string, err *error) {
	if p := recover(); p != nil {
		*err = logPanic(log, what, p)
	}
}

// Call calls f, and returns an error if that panics.
func Call(log *slog.Logger, what string, f func()) (err error) {
	defer Into(log, what, &err)
	f()
	return nil
}

// RestartOnPanic calls f until it returns without a panic or ctx is done. The pause before
// the next attempt grows as long as f panics at once.
func RestartOnPanic(ctx context.Context, log *slog.Logger, what string, f func()) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		begin := time.Now()
		if Call(log, what, f) == nil || ctx.Err() != nil {
			return
		}
		if time.Since(begin) > maxPause {
			pause = firstPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// logPanic logs a panic. http.ErrAbortHandler is how a handler cuts off its answer,
// and no fault.
func logPanic(log *slog.Logger, what string, p any) error {
	if p == http.ErrAbortHandler {
		return http.ErrAbortHandler
	}
	if log == nil {
		log = slog.Default()
	}
	log.Error("panic", "in", what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return fmt.Errorf("%w in %s: %v", ErrPanic, what, p)
}
