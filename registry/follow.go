package registry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/storage"
)

// followRestartDelay is the delay before an ended watch is started again.
const followRestartDelay = 5 * time.Millisecond

// Follower calls a function with the events of a watch. It has a goroutine only while there are events, because a
// server follows some hundred selections, most of which never change.
type Follower struct {
	registry *Registry
	ctx      context.Context
	log      *slog.Logger
	target   Target
	options  WatchOptions
	begin    func()
	handle   func([]storage.Event)
	ended    chan struct{}

	mu      sync.Mutex
	running bool // the goroutine exists, or has ended for good
	again   bool // wake was called while it did

	watcher *storage.Watcher // of the goroutine; nil before the first watch and between two
}

// Follow calls handle with the events of a watch of t's collection, until ctx is done, and never twice at the same
// time. It returns at once. A watch that cannot start or that is lost starts again, and so does one after a panic of
// handle. Follow calls begin at the start of each watch, before handle: the caller does not learn what changed
// between two watches, unless o asks for initial events.
func (r *Registry) Follow(ctx context.Context, log *slog.Logger, t Target, o WatchOptions,
	begin func(), handle func([]storage.Event)) *Follower {
	f := &Follower{registry: r, ctx: ctx, log: log, target: t, options: o, begin: begin, handle: handle, ended: make(chan struct{})}
	f.options.Ready, f.options.Followed = f.wake, true
	f.wake()
	return f
}

// Wait returns when ctx is done and handle is called no more.
func (f *Follower) Wait() { <-f.ended }

// wake starts the goroutine, or has it look for events again.
func (f *Follower) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running {
		f.again = true
		return
	}
	f.running = true
	go func() {
		var rests bool
		recovery.RestartOnPanic(f.ctx, f.log, "following "+f.target.Resource.Name, func() { rests = f.follow() })
		if !rests { // ctx is done
			close(f.ended)
		}
	}()
}

// follow handles events until there are none, and returns true, or until ctx is done.
func (f *Follower) follow() (rests bool) {
	defer func() {
		if !rests && f.watcher != nil { // also after a panic
			f.watcher.Stop()
			f.watcher = nil
		}
	}()
	for f.ctx.Err() == nil {
		if f.watch() {
			if f.rest() { // the end of ctx ends the watch, which calls wake
				return true
			}
			continue
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(followRestartDelay):
		}
	}
	return false
}

// watch handles the events of the watch, which it starts if there is none. It returns false at the end of the watch.
func (f *Follower) watch() bool {
	if f.watcher == nil {
		w, err := f.registry.Watch(f.ctx, f.target, f.options)
		if err != nil {
			return false
		}
		f.watcher = w
		f.begin()
	}
	for {
		events, err := f.watcher.Poll()
		if err != nil {
			f.watcher = nil
			return false
		}
		if len(events) == 0 {
			return true
		}
		f.handle(events)
	}
}

// rest reports whether the goroutine can end, because wake was not called since it last looked for events.
func (f *Follower) rest() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running, f.again = f.again, false
	return !f.running
}
