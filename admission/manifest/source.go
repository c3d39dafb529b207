package manifest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// interval is the time between two checks whether the files of a directory changed.
const interval = time.Second

// Config configures the sources of a server.
type Config struct {
	// Kinds returns the kinds that configure admission. Their rules accept names with Suffix.
	Kinds func() []*api.Resource
	// Gates are the feature gates of the server.
	Gates features.Gates
	// Metrics counts the loads of each plugin; nil counts none.
	Metrics *configmetrics.Metrics
	// Logger reports loads; nil discards all messages.
	Logger *slog.Logger
}

// Plugin describes what a plugin expects of the objects in its directory.
type Plugin[T any] struct {
	// Name is the name of the plugin, and Noun describes its objects in errors.
	Name, Noun string
	// Kinds are the names of the kinds in the directory.
	Kinds []string
	// Check returns what forbids an object in a manifest, in the file of a path, although it is
	// valid in the API.
	Check func(obj api.Object, path string) error
	// Compile returns the value of all objects, which are in the order of their names.
	Compile func(objects []api.Object) (T, error)
}

// Source is a value that is compiled from the objects in a directory. It may be used concurrently.
type Source[T any] struct {
	plugin  Plugin[T]
	dir     string
	loader  *loader
	metrics *configmetrics.Metrics
	logger  *slog.Logger
	current atomic.Pointer[T]
	// read identifies the contents of the last load, which may have failed: a hash, or the error
	// of reading them. Only Open and the loop use it.
	read string
}

// Open loads the directory of a plugin. It returns nil if dir is empty.
func Open[T any](c Config, dir string, p Plugin[T]) (*Source[T], error) {
	if dir == "" {
		return nil, nil
	}
	if err := checkDir(dir, c.Gates); err != nil {
		return nil, err
	}
	var kinds []*api.Resource
	for _, res := range c.Kinds() {
		if slices.Contains(p.Kinds, res.Kind) {
			kinds = append(kinds, res)
		}
	}
	l, err := newLoader(kinds, p.Check)
	if err != nil {
		return nil, err
	}
	s := &Source[T]{plugin: p, dir: dir, loader: l, metrics: c.Metrics.ForPlugin(p.Name), logger: c.Logger}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("failed to load static %s manifests from %q: %w", p.Noun, dir, err)
	}
	return s, nil
}

// Current returns the value of the last load that succeeded. A nil source has the zero value.
func (s *Source[T]) Current() (value T) {
	if s == nil {
		return value
	}
	return *s.current.Load()
}

// Loop returns the function that loads the directory again when its files change, until its context
// ends. A nil source has none.
func (s *Source[T]) Loop() []func(context.Context) {
	if s == nil {
		return nil
	}
	return []func(context.Context){s.follow}
}

func (s *Source[T]) follow(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.reload()
		}
	}
}

// reload loads the directory if its contents are not those of the last load.
func (s *Source[T]) reload() {
	if err := s.load(); err != nil {
		s.metrics.Reloaded("", err)
		s.logger.Error("failed to reload admission manifests, using the previous ones", "plugin", s.plugin.Name, "dir", s.dir, "error", err)
	}
}

// load loads the directory. It does nothing if the contents are those of the last load.
func (s *Source[T]) load() error {
	files, hash, err := readFiles(s.dir)
	read := "contents " + hash
	if err != nil {
		read = "error " + err.Error()
	}
	if s.read == read {
		return nil
	}
	s.read = read
	if err != nil {
		return err
	}
	objects, err := s.loader.load(files)
	if err != nil {
		return err
	}
	value, err := s.plugin.Compile(objects)
	if err != nil {
		return err
	}
	s.current.Store(&value)
	s.metrics.Reloaded(hash, nil)
	s.logger.Info("loaded admission manifests", "plugin", s.plugin.Name, "dir", s.dir, "objects", len(objects))
	return nil
}
