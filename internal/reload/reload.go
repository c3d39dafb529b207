// Package reload keeps values that are parsed from files, such as certificates and keys, and
// parses them again when the files change. A value is checked when it is used, so that no
// goroutine has to poll. Packages authn, authz, hooks and server use it for all
// credentials on disk.
package reload

import (
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/monotonic"
)

// interval is the minimum time between two checks whether the files of a value changed.
const interval = time.Second

// Value is a value of type T that is parsed from files. It may be used concurrently.
type Value[T any] struct {
	name   string
	parse  func(*Files) (T, error)
	logger *slog.Logger

	current atomic.Pointer[parsed[T]]
	// due is the time of the next check, as a reading of package monotonic.
	due atomic.Int64

	mu    sync.Mutex // held while the files are checked and parsed
	files Files
	// failure is the text of the last error, which is logged once.
	failure string
}

type parsed[T any] struct {
	value      T
	generation int
}

// New parses a value. The parse function reads its files with Files.Read, which records them. If
// parsing fails later, because a file is missing or half written, the previous value remains, a
// warning is logged, and the next check parses again. The name describes the value in the log. A nil logger
// discards all messages.
func New[T any](name string, logger *slog.Logger, parse func(*Files) (T, error)) (*Value[T], error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	v := &Value[T]{name: name, parse: parse, logger: logger}
	value, err := parse(&v.files)
	if err != nil {
		return nil, err
	}
	v.current.Store(&parsed[T]{value, 1})
	v.due.Store(monotonic.Now() + int64(interval))
	return v, nil
}

// Get returns the current value.
func (v *Value[T]) Get() T {
	value, _ := v.GetWithGeneration()
	return value
}

// GetWithGeneration returns the current value and its generation, which is 1 for the first value
// and increases with each further one.
func (v *Value[T]) GetWithGeneration() (T, int) {
	if monotonic.Now() >= v.due.Load() {
		v.check()
	}
	p := v.current.Load()
	return p.value, p.generation
}

// check parses the value again if a file changed. Other callers do not wait for it: they use
// the previous value.
func (v *Value[T]) check() {
	if !v.mu.TryLock() {
		return
	}
	defer v.mu.Unlock()
	now := monotonic.Now()
	if now < v.due.Load() {
		return
	}
	defer v.due.Store(now + int64(interval))
	if v.failure == "" && !v.files.changed() {
		return
	}
	var files Files
	value, err := v.parse(&files)
	if err != nil {
		if text := err.Error(); text != v.failure {
			v.failure = text
			v.logger.Warn("failed to reload, using the previous value", "value", v.name, "files", files.paths(), "error", err)
		}
		return
	}
	v.files, v.failure = files, ""
	v.current.Store(&parsed[T]{value, v.current.Load().generation + 1})
	v.logger.Info("reloaded", "value", v.name, "files", files.paths())
}

// Files records the files from which a value is parsed.
type Files struct {
	read []file
}

// file is the state of a file when it was read; info is nil if the file did not exist.
type file struct {
	path string
	info os.FileInfo
}

// Read returns the content of a file, as configfile.Read, and records the file as one of the value's files.
func (f *Files) Read(path string) ([]byte, error) {
	// The state is taken before the content, so that the next check detects a change between the two.
	info, err := os.Stat(path)
	if err != nil {
		info = nil
	}
	if info == nil || info.Mode()&os.ModeNamedPipe == 0 { // the content of a pipe is there only once
		f.read = append(f.read, file{path, info})
	}
	return configfile.Read(path)
}

// changed reports whether a file differs from the one that was read.
func (f *Files) changed() bool {
	return slices.ContainsFunc(f.read, func(r file) bool {
		info, err := os.Stat(r.path)
		if err != nil || r.info == nil {
			return err == nil || r.info != nil
		}
		return !os.SameFile(info, r.info) || !info.ModTime().Equal(r.info.ModTime()) || info.Size() != r.info.Size()
	})
}

func (f *Files) paths() []string {
	var paths []string
	for _, r := range f.read {
		paths = append(paths, r.path)
	}
	return paths
}
