package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/server"
)

// newLogger returns a logger with the format and the verbosity that the flags set, and a function
// that changes the verbosity.
func newLogger(w io.Writer, flags *server.CommandLine) (*slog.Logger, func(int)) {
	byFile, lowest := &fileFilter{}, &slog.LevelVar{}
	lowestOfFiles := byFile.parse(flags.VModule)
	setVerbosity := func(verbosity int) {
		byFile.base.Set(levelOf(verbosity))
		lowest.Set(min(levelOf(verbosity), lowestOfFiles))
	}
	setVerbosity(flags.Verbosity)
	var handler slog.Handler
	if flags.LoggingFormat == "json" {
		handler = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: lowest, AddSource: true, ReplaceAttr: klogAttr})
	} else {
		// The names of files help to find patterns for --vmodule.
		handler = slog.NewTextHandler(w, &slog.HandlerOptions{Level: lowest, AddSource: flags.VModule != "", ReplaceAttr: shortSource})
	}
	if len(byFile.patterns) > 0 {
		handler = &fileHandler{handler, byFile}
	}
	return slog.New(handler), setVerbosity
}

// levelOf returns the level for a verbosity of kube-apiserver's scale.
func levelOf(verbosity int) slog.Level {
	if verbosity < verbosityOf(slog.LevelInfo) {
		return slog.LevelWarn
	}
	return min(slog.LevelInfo, slog.Level(-verbosity))
}

// verbosityOf returns the lowest verbosity at which messages of a level are logged.
func verbosityOf(level slog.Level) int {
	if level >= slog.LevelWarn {
		return 0
	}
	return max(2, int(-level))
}

// klogAttr gives the attributes of a record the names and forms that they have in the JSON of
// kube-apiserver: ts in milliseconds, caller, v for all but errors, and err.
func klogAttr(groups []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		if a.Value.Kind() == slog.KindTime {
			return slog.Float64("ts", float64(a.Value.Time().UnixNano())/float64(time.Millisecond))
		}
	case slog.LevelKey:
		level, ok := a.Value.Any().(slog.Level)
		switch {
		case ok && level >= slog.LevelError:
			return slog.Attr{}
		case ok:
			return slog.Int("v", verbosityOf(level))
		}
	case slog.SourceKey:
		a = shortSource(groups, a)
		a.Key = "caller"
	case "error":
		a.Key = "err"
	}
	return a
}

// shortSource replaces the position in the source by its folder, file and line.
func shortSource(_ []string, a slog.Attr) slog.Attr {
	if source, ok := a.Value.Any().(*slog.Source); ok {
		dir, file := path.Split(source.File)
		a.Value = slog.StringValue(fmt.Sprintf("%s/%s:%d", path.Base(dir), file, source.Line))
	}
	return a
}

// fileFilter implements --vmodule: messages of files whose name matches a pattern are logged
// from another level on, if it is lower than that of all files.
type fileFilter struct {
	base     slog.LevelVar
	patterns []filePattern
	levels   sync.Map // program counter -> slog.Level of its pattern
}

type filePattern struct {
	pattern string // for the name of a file without .go
	level   slog.Level
}

// noPattern is the level of files that match no pattern, above that of every message.
const noPattern = slog.Level(math.MaxInt)

// parse adds the patterns of a valid text and returns the lowest of their levels.
func (f *fileFilter) parse(text string) slog.Level {
	lowest := noPattern
	for part := range strings.SplitSeq(text, ",") {
		pattern, n, _ := strings.Cut(part, "=")
		if verbosity, err := strconv.Atoi(n); err == nil {
			f.patterns = append(f.patterns, filePattern{pattern, levelOf(verbosity)})
			lowest = min(lowest, levelOf(verbosity))
		}
	}
	return lowest
}

// levelAt returns the level of the first pattern that the file of a program counter matches.
func (f *fileFilter) levelAt(pc uintptr) slog.Level {
	if level, ok := f.levels.Load(pc); ok {
		return level.(slog.Level)
	}
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	name, level := strings.TrimSuffix(path.Base(frame.File), ".go"), noPattern
	for _, p := range f.patterns {
		if matched, err := path.Match(p.pattern, name); err == nil && matched {
			level = p.level
			break
		}
	}
	f.levels.Store(pc, level)
	return level
}

// fileHandler drops the records that its filter excludes. The handler behind it has the lowest
// level of all files.
type fileHandler struct {
	slog.Handler
	filter *fileFilter
}

// Handle implements slog.Handler.
func (h *fileHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < h.filter.base.Level() && r.Level < h.filter.levelAt(r.PC) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *fileHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &fileHandler{h.Handler.WithAttrs(attrs), h.filter}
}

// WithGroup implements slog.Handler.
func (h *fileHandler) WithGroup(name string) slog.Handler {
	return &fileHandler{h.Handler.WithGroup(name), h.filter}
}
