package main

import (
	"io"
	"log/slog"
)

// newLogger returns a logger with the format and the verbosity that the flags set.
func newLogger(w io.Writer, format string, verbosity int) *slog.Logger {
	options := &slog.HandlerOptions{Level: levelOf(verbosity)}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// levelOf returns the level for a verbosity of kube-apiserver's scale.
func levelOf(verbosity int) slog.Level {
	switch {
	case verbosity >= 4:
		return slog.LevelDebug
	case verbosity >= 2:
		return slog.LevelInfo
	}
	return slog.LevelWarn
}
