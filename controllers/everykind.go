package controllers

import (
	"context"
	"sync"

	"github.com/miniapiserver/miniapiserver/api"
)

// everyKind follows all resources that are wanted, also those of kinds that come
// at run time, each in a goroutine of its own.
type everyKind struct {
	catalogue *api.Catalogue
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
	for {
		resources, replaced := e.catalogue.Follow()
		e.arrange(ctx, all, resources)
		select {
		case <-ctx.Done():
			for _, f := range all {
				f.end()
			}
			return
		case <-replaced:
		}
	}
}

// arrange sees to it that all that is wanted of resources is followed, and
// nothing else.
func (e everyKind) arrange(ctx context.Context, all map[string]*followed, resources []*api.Resource) {
	wanted := make(map[string]*api.Resource, len(resources))
	for _, res := range resources {
		if e.wants(res) {
			wanted[res.Prefix] = res
		}
	}
	for prefix, f := range all {
		if wanted[prefix] == nil {
			f.end()
			delete(all, prefix)
			if e.gone != nil {
				e.gone(f.resource, f.known)
			}
		}
	}
	for prefix, res := range wanted {
		was := all[prefix]
		if was != nil && was.resource == res {
			continue
		}
		f := &followed{resource: res, known: known{}}
		if was != nil {
			was.end()
			f.known = was.known
		}
		all[prefix] = f
		var ours context.Context
		ours, f.cancel = context.WithCancel(ctx)
		f.done.Go(func() { e.follow(ours, res, f.known) })
	}
}

// end returns when the resource is not followed any more.
func (f *followed) end() {
	f.cancel()
	f.done.Wait()
}
