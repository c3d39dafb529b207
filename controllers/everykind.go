package controllers

import (
	"context"
	"log/slog"
	"sync"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// everyKind follows all resources that are wanted, also those of kinds that come
// at run time, each in a goroutine of its own.
type everyKind struct {
	catalogue *api.Catalogue
	log       *slog.Logger
	wants     func(*api.Resource) bool
	// follow follows a resource until ctx is done. What it notes in k goes on to
	// the resource that takes its place, as when its definition changes.
	follow func(ctx context.Context, res *api.Resource, k known)
	// gone, when set, is told of a resource that is no more, and of what was
	// known of it.
	gone func(res *api.Resource, k known)
}

// followed is a resource that is being followed.
type followed struct {
	resource *api.Resource
	known    known
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

// run follows until ctx is done.
func (e everyKind) run(ctx context.Context) {
	all := map[string]*followed{} // by prefix
	f := e.catalogue.Follow()
	for {
		out, in := f.Next()
		e.arrange(ctx, all, out, in)
		select {
		case <-ctx.Done():
			for _, f := range all {
				f.end()
			}
			return
		case <-f.Changed():
		}
	}
}

// arrange follows what is wanted of the resources that came in, and nothing that
// went out.
func (e everyKind) arrange(ctx context.Context, all map[string]*followed, out, in []*api.Resource) {
	replaced := map[string]*followed{}
	for _, res := range out {
		if f := all[res.Prefix]; f != nil && f.resource == res {
			f.end()
			delete(all, res.Prefix)
			replaced[res.Prefix] = f
		}
	}
	for _, res := range in {
		if !e.wants(res) {
			continue
		}
		f := &followed{resource: res, known: known{}}
		if was := replaced[res.Prefix]; was != nil {
			delete(replaced, res.Prefix)
			f.known = was.known
		}
		all[res.Prefix] = f
		var ours context.Context
		ours, f.cancel = context.WithCancel(ctx)
		f.done.Go(func() {
			recovery.Keep(ours, e.log, "following "+res.Name, func() { e.follow(ours, res, f.known) })
		})
	}
	if e.gone == nil {
		return
	}
	for _, f := range replaced { // by nothing
		e.gone(f.resource, f.known)
	}
}

// end returns when the resource is not followed any more.
func (f *followed) end() {
	f.cancel()
	f.done.Wait()
}
