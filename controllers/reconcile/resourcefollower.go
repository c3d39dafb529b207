package reconcile

import (
	"context"

	"github.com/miniapiserver/miniapiserver/api"
)

// ResourceFollower follows all resources for which Wants returns true, including custom
// resources that are added later.
type ResourceFollower struct {
	Catalogue *api.Catalogue
	Wants     func(*api.Resource) bool
	// Follow begins to follow a resource until ctx is done, and returns a function that waits for the end. k is passed
	// on to the resource that replaces it, as when its definition changes.
	Follow func(ctx context.Context, res *api.Resource, k KnownUIDs) (wait func())
	// Removed, if set, is called for a removed resource with the objects that were known.
	Removed func(res *api.Resource, k KnownUIDs)
}

// followedResource is a resource that is followed.
type followedResource struct {
	resource *api.Resource
	known    KnownUIDs
	cancel   context.CancelFunc
	wait     func()
}

// Run follows the resources until ctx is done.
func (e ResourceFollower) Run(ctx context.Context) {
	all := map[string]*followedResource{} // by prefix
	f := e.Catalogue.Follow()
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

// arrange starts to follow added resources and ends following removed ones.
func (e ResourceFollower) arrange(ctx context.Context, all map[string]*followedResource, out, in []*api.Resource) {
	replaced := map[string]*followedResource{}
	for _, res := range out {
		if f := all[res.Storage.Prefix]; f != nil && f.resource == res {
			f.end()
			delete(all, res.Storage.Prefix)
			replaced[res.Storage.Prefix] = f
		}
	}
	for _, res := range in {
		if !e.Wants(res) {
			continue
		}
		f := &followedResource{resource: res, known: KnownUIDs{}}
		if was := replaced[res.Storage.Prefix]; was != nil {
			delete(replaced, res.Storage.Prefix)
			f.known = was.known
		}
		all[res.Storage.Prefix] = f
		var followCtx context.Context
		followCtx, f.cancel = context.WithCancel(ctx)
		f.wait = e.Follow(followCtx, res, f.known)
	}
	if e.Removed == nil {
		return
	}
	for _, f := range replaced { // removed without a replacement
		e.Removed(f.resource, f.known)
	}
}

// end stops following the resource and waits for the end.
func (f *followedResource) end() {
	f.cancel()
	f.wait()
}
