package registry

import (
	"context"
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// The past of objects is shown in the version in which each was stored: a conversion would need the definition of that time.

// Written is a version of an object, or its deletion, in the history of etcd. Target names the object.
type Written struct {
	Target  Target
	Version storage.Version
}

// History returns the versions of the object that t names, the newest first.
func (r *Registry) History(ctx context.Context, t Target, o storage.HistoryOptions) ([]Written, error) {
	if err := t.CheckName(); err != nil {
		return nil, err
	}
	versions, err := r.collection(t.Resource).History(ctx, t.Key(), o)
	if err != nil {
		return nil, r.StatusError(t, err)
	}
	out := make([]Written, len(versions))
	for i, v := range versions {
		out[i] = Written{t, v}
	}
	return out, nil
}

// Recent returns the newest versions of all objects of resources that are served, the newest first. The versions of each etcd are
// together, since revisions of different ones have no order.
func (r *Registry) Recent(ctx context.Context, o storage.HistoryOptions) ([]Written, error) {
	stores := r.stores()
	if len(stores) > 1 && o.Limit > 0 {
		o.Limit = max(o.Limit/len(stores), 1)
	}
	return r.eachStore(stores, func(s *storage.Store) ([]storage.Version, error) { return s.Recent(ctx, o) })
}

// WrittenAt returns the versions that were written at a revision: usually one, as long as all resources are in one etcd.
func (r *Registry) WrittenAt(ctx context.Context, rev int64) ([]Written, error) {
	return r.eachStore(r.stores(), func(s *storage.Store) ([]storage.Version, error) { return s.WrittenAt(ctx, rev) })
}

// stores returns the stores that have a history.
func (r *Registry) stores() []*storage.Store {
	out := []*storage.Store{r.store}
	for _, res := range r.catalogue.Resources() { // in their order, unlike the map of the options
		if s := r.storeOf(res.GroupResource()); !slices.Contains(out, s) && s.HasHistory() {
			out = append(out, s)
		}
	}
	return out
}

// eachStore returns the versions that read returns for the stores, with their targets.
func (r *Registry) eachStore(stores []*storage.Store, read func(*storage.Store) ([]storage.Version, error)) ([]Written, error) {
	resources := map[string]*api.Resource{}
	for _, res := range r.catalogue.Resources() {
		if res.Virtual == nil {
			resources[strings.Trim(res.Storage.Prefix, "/")] = res
		}
	}
	var out []Written
	for _, s := range stores {
		versions, err := read(s)
		if err != nil {
			return nil, r.StatusError(Target{Resource: &api.Resource{}}, err)
		}
		for _, v := range versions {
			res := resources[v.Prefix]
			if res == nil || r.storeOf(res.GroupResource()) != s {
				continue
			}
			t := Target{Resource: res, Version: &res.Versions[0], Name: v.Key}
			if namespace, name, ok := strings.Cut(v.Key, "/"); ok && res.Namespaced {
				t.Namespace, t.Name = namespace, name
			}
			out = append(out, Written{t, v})
		}
	}
	return out, nil
}
