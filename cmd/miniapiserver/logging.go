package main

import (
	"io"
	"log/slog"
)

// newLogger makes the logger of a --v and a --logging-format.
func newLogger(w io.Writer, format string, verbosity int) *slog.Logger {
	options := &slog.HandlerOptions{Level: levelOf(verbosity)}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// levelOf maps the verbosity that kube-apiserver's users know to levels.
func levelOf(verbosity int) slog.Level {
	switch {
	case verbosity >= 4:
		return slog.LevelDebug
	case verbosity >= 2:
		return slog.LevelInfo
	}
	return slog.LevelWarn
}
