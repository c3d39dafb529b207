package reconcile

import (
	"context"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Change is a change of an object.
type Change struct {
	Resource *api.Resource
	Object   api.Object
	Deleted  bool
}

// KnownUIDs has the UIDs of the delivered objects, by key.
type KnownUIDs map[string]types.UID

// ItemReader returns the object of an item, or the part of it that a controller needs.
type ItemReader func(*storage.Item) (api.Object, error)

// FollowObjects calls handle for every selected object and then for every change, until ctx
// is done. It restarts lost watches, and reports objects that were deleted in between with
// Deleted set.
func (c BaseConfig) FollowObjects(ctx context.Context, t registry.Target, s registry.Selection, k KnownUIDs,
	handle func(Change)) *registry.Follower {
	return c.followObjectsAs(ctx, t, s, (*storage.Item).Object, k, handle)
}

// followObjectsAs is FollowObjects with objects returned by read.
func (c BaseConfig) followObjectsAs(ctx context.Context, t registry.Target, s registry.Selection,
	read ItemReader, k KnownUIDs, handle func(Change)) *registry.Follower {
	// The state of the cache suffices: what it lacks follows as events.
	o := registry.WatchOptions{Selection: s, WatchOptions: storage.WatchOptions{
		Read: storage.Read{Match: storage.Any}, Initial: true, InitialEventsEnd: true}}
	var seen map[string]bool // nil after the initial events
	return c.Registry.Follow(ctx, c.Logger, t, o, func() { seen = map[string]bool{} }, func(events []storage.Event) {
		for _, e := range events {
			if e.Type == storage.Bookmark {
				if e.End {
					ReportDeleted(t.Resource, k, seen, handle)
					seen = nil
				}
				continue
			}
			obj, err := read(e.Item)
			if err != nil {
				continue // the store has logged it
			}
			if seen != nil {
				seen[e.Item.Key()] = true
			}
			gone := e.Type == storage.Deleted
			if gone {
				delete(k, e.Item.Key())
			} else {
				k[e.Item.Key()] = obj.GetUID()
			}
			handle(Change{t.Resource, obj, gone})
		}
	})
}

// ReportDeleted reports known objects that are not in seen as deleted.
func ReportDeleted(res *api.Resource, k KnownUIDs, seen map[string]bool, handle func(Change)) {
	for key, uid := range k {
		if !seen[key] {
			delete(k, key)
			handle(Change{res, partialObject(key, uid), true})
		}
	}
}

// partialObject returns the name and UID of an object whose deletion was not observed. Nothing
// else is recorded, because there is an entry for every object.
func partialObject(key string, uid types.UID) api.Object {
	namespace, name, ok := strings.Cut(key, "/")
	if !ok {
		namespace, name = "", key
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}}
}

// ServedVersion returns the first served version of a resource: the hub, unless clients cannot
// use it.
func ServedVersion(res *api.Resource) schema.GroupVersion {
	for i := range res.Versions {
		if !res.Versions[i].NotServed {
			return res.Versions[i].GroupVersion
		}
	}
	return res.Versions[0].GroupVersion
}

// ObjectPath returns the path of an object, or of a collection if name is empty, in ServedVersion.
func ObjectPath(res *api.Resource, namespace, name string) string {
	gv := ServedVersion(res)
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	if res.Namespaced && namespace != "" {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	path += "/" + res.Name
	if name != "" {
		path += "/" + url.PathEscape(name)
	}
	return path
}

// SupportsVerb reports whether a resource is stored and supports a verb.
func SupportsVerb(res *api.Resource, verb string) bool {
	return res.Virtual == nil && slices.Contains(res.Verbs, verb)
}

// WatchChanges calls changed for changes of a resource, without decoding the objects. At the
// start and after a lost watch it calls anything, because any object may have changed.
func (c BaseConfig) WatchChanges(ctx context.Context, res *api.Resource, changed func(storage.Event),
	anything func()) *registry.Follower {
	t := registry.Target{Resource: res, Version: &res.Versions[0]}
	o := registry.WatchOptions{WatchOptions: storage.WatchOptions{Read: storage.Read{Match: storage.Any}}} // as FollowObjects
	return c.Registry.Follow(ctx, c.Logger, t, o, anything, func(events []storage.Event) {
		for _, e := range events {
			if e.Type != storage.Bookmark {
				changed(e)
			}
		}
	})
}
