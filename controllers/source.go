package controllers

import (
	"context"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// change is what a controller is told of an object.
type change struct {
	resource *api.Resource
	object   api.Object
	gone     bool
}

// watchAgain is how long after its end a watch is begun anew.
const watchAgain = 5 * time.Millisecond

// known is what somebody was told of that is there, by key.
type known map[string]types.UID

// reader makes an object of an item, or as much of one as somebody needs.
type reader func(*storage.Item) (api.Object, error)

// follow tells of every object that is selected and of every change, until ctx
// is done. Where the watch is lost it begins anew: what went away meanwhile is
// told of as gone.
func follow(ctx context.Context, reg *registry.Registry, t registry.Target, s registry.Selection, k known, tell func(change)) {
	followAs(ctx, reg, t, s, (*storage.Item).Object, k, tell)
}

// followAs is follow, with objects as read makes them.
func followAs(ctx context.Context, reg *registry.Registry, t registry.Target, s registry.Selection, read reader, k known, tell func(change)) {
	for ctx.Err() == nil {
		followOnce(ctx, reg, t, s, read, k, tell)
		select {
		case <-ctx.Done():
		case <-time.After(watchAgain):
		}
	}
}

func followOnce(ctx context.Context, reg *registry.Registry, t registry.Target, s registry.Selection, read reader, k known, tell func(change)) {
	res := t.Resource
	w, err := reg.Watch(ctx, t, registry.WatchOptions{Selection: s, WatchOptions: storage.WatchOptions{Initial: true, InitialEventsEnd: true}})
	if err != nil {
		return
	}
	defer w.Stop()
	seen := map[string]bool{}
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return
		}
		for _, e := range events {
			if e.Type == storage.Bookmark {
				if e.End {
					forgetUnseen(res, k, seen, tell)
					seen = nil
				}
				continue
			}
			obj, err := read(e.Item)
			if err != nil {
				continue // told of by the store
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
			tell(change{res, obj, gone})
		}
	}
}

// forgetUnseen tells of what is known and was not seen again.
func forgetUnseen(res *api.Resource, k known, seen map[string]bool, tell func(change)) {
	for key, uid := range k {
		if !seen[key] {
			delete(k, key)
			tell(change{res, identity(key, uid), true})
		}
	}
}

// identity is as much of an object as is needed to tell that it is gone. Less
// is kept, since there is one for every object.
func identity(key string, uid types.UID) api.Object {
	namespace, name, ok := strings.Cut(key, "/")
	if !ok {
		namespace, name = "", key
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}}
}

// pathOf is the path of an object, or of a collection when name is empty, in
// the hub version of its resource.
func pathOf(res *api.Resource, namespace, name string) string {
	gv := res.Versions[0].GroupVersion
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

// answers tells whether a resource is kept and answers a verb.
func answers(res *api.Resource, verb string) bool {
	if res.Virtual != nil {
		return false
	}
	if res.Verbs == nil {
		return true
	}
	for _, v := range res.Verbs {
		if v == verb {
			return true
		}
	}
	return false
}

// wake tells of changes of a resource, without decoding what has changed. After
// the watch was lost, and at the beginning, it tells that anything may have.
func wake(ctx context.Context, reg *registry.Registry, res *api.Resource, changed func(storage.Event), anything func()) {
	t := registry.Target{Resource: res, Version: &res.Versions[0]}
	for ctx.Err() == nil {
		if w, err := reg.Watch(ctx, t, registry.WatchOptions{}); err == nil {
			anything()
			wakeUntilLost(ctx, w, changed)
			w.Stop()
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchAgain):
		}
	}
}

func wakeUntilLost(ctx context.Context, w *storage.Watcher, changed func(storage.Event)) {
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return
		}
		for _, e := range events {
			if e.Type != storage.Bookmark {
				changed(e)
			}
		}
	}
}
