package storage

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newZap returns a zap logger for etcd that writes to log. It logs etcd's warnings as debug
// messages, because etcd warns of normal events during its start. A fatal message ends the
// goroutine, not the process, and calls fatal; a panic message calls panicked, which may
// panic. While isStarting, which may be nil, returns true, errors are debug messages too: the start returns them.
func newZap(log *slog.Logger, isStarting func() bool, fatal, panicked func(error)) *zap.Logger {
	return zap.New(&zapCore{LevelEnabler: zapcore.WarnLevel, log: log, isStarting: isStarting}, zap.WithFatalHook(zapHook(fatal)), zap.WithPanicHook(zapHook(panicked)))
}

type zapCore struct {
	zapcore.LevelEnabler
	log        *slog.Logger
	isStarting func() bool
	fields     []zapcore.Field
}

func slogLevel(l zapcore.Level) slog.Level {
	if l >= zapcore.ErrorLevel {
		return slog.LevelError
	}
	return slog.LevelDebug
}

// entryLevel is level, except for one message at error level that is harmless: on its first
// start etcd tries to record its version before its first write to disk, and retries a
// little later.
func entryLevel(e zapcore.Entry) slog.Level {
	if e.Message == "failed to update storage version" {
		return slog.LevelDebug
	}
	return slogLevel(e.Level)
}

func (c *zapCore) With(fields []zapcore.Field) zapcore.Core {
	return &zapCore{LevelEnabler: c.LevelEnabler, log: c.log, isStarting: c.isStarting, fields: append(c.fields[:len(c.fields):len(c.fields)], fields...)}
}

func (c *zapCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c *zapCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	level := entryLevel(e)
	if c.isStarting != nil && c.isStarting() {
		level = slog.LevelDebug
	}
	c.log.Log(context.Background(), level, "etcd: "+e.Message, slogAttributes(append(c.fields[:len(c.fields):len(c.fields)], fields...))...)
	return nil
}

func (c *zapCore) Sync() error { return nil }

func slogAttributes(fields []zapcore.Field) []any {
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(enc)
	}
	var attrs []any
	for k, v := range enc.Fields {
		attrs = append(attrs, slog.Any(k, v))
	}
	return attrs
}

type zapHook func(error)

// OnWrite implements zapcore.CheckWriteHook.
func (f zapHook) OnWrite(ce *zapcore.CheckedEntry, fields []zapcore.Field) {
	err := fmt.Errorf("etcd: %s", ce.Message)
	for _, field := range fields {
		if cause, ok := field.Interface.(error); ok && field.Type == zapcore.ErrorType {
			err = fmt.Errorf("%w: %w", err, cause)
		}
	}
	f(err)
	runtime.Goexit()
}
