package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/storage"
)

// A rewind writes the differences between the present and an earlier state, past admission and validation: what is stored then was
// admitted before. All other writes wait meanwhile.

// RewindOptions select what a rewind changes.
type RewindOptions struct {
	// Scopes are the resources in whose objects others are created, such as definitions and namespaces, the outer first. Their
	// objects come back before all others, and go after them.
	Scopes []schema.GroupResource
	// Selects reports whether an object is part of the rewind; nil selects all.
	Selects func(gr schema.GroupResource, namespace, name string) bool
	// DryRun finds the differences and writes nothing.
	DryRun bool
}

// Rewound is an object that a rewind changed.
type Rewound struct {
	Resource        schema.GroupResource
	Namespace, Name string
	// WasMissing and IsGone report that there was no such object before and after the rewind.
	WasMissing, IsGone bool
}

// ErrManyStores is the error of a rewind of a server that stores some resources in another etcd, whose revisions are unrelated.
var ErrManyStores = errors.New("some resources are stored in another etcd (--etcd-servers-overrides)")

// Mark returns the present state of all stored objects.
func (r *Registry) Mark(ctx context.Context) (*storage.Mark, error) {
	if len(r.allStores()) > 1 {
		return nil, ErrManyStores
	}
	return r.store.Mark(ctx)
}

// MarkAt returns the state of all stored objects at a revision.
func (r *Registry) MarkAt(ctx context.Context, rev int64) (*storage.Mark, error) {
	if len(r.allStores()) > 1 {
		return nil, ErrManyStores
	}
	return r.store.MarkAt(ctx, rev)
}

// Compact compacts the history of etcd to the present.
func (r *Registry) Compact(ctx context.Context) error { return r.store.CompactNow(ctx) }

// Rewind makes the stored objects what they were, and returns what it changed and the revision of the last write.
func (r *Registry) Rewind(ctx context.Context, to *storage.Mark, o RewindOptions) ([]Rewound, int64, error) {
	if len(r.allStores()) > 1 {
		return nil, 0, ErrManyStores
	}
	now, release, err := r.store.HoldWrites(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer release()
	differences := slices.DeleteFunc(to.Differences(now, nil), func(d storage.Difference) bool {
		namespace, name := d.Names()
		return o.Selects != nil && !o.Selects(d.Resource(), namespace, name)
	})
	out := make([]Rewound, len(differences))
	for i := range differences {
		d := &differences[i]
		out[i] = Rewound{Resource: d.Resource(), WasMissing: d.Now == nil, IsGone: d.Then == nil}
		out[i].Namespace, out[i].Name = d.Names()
	}
	if o.DryRun || len(differences) == 0 {
		return out, now.Revision(), nil
	}
	steps, err := rewindSteps(differences, o.Scopes)
	if err != nil {
		return nil, 0, err
	}
	rev, err := r.store.Rewrite(ctx, steps)
	if err != nil {
		return nil, 0, fmt.Errorf("rewind: %w", err)
	}
	return out, rev, nil
}

// BeforeRewind returns a context whose writes meet a conflict if a rewind comes before them, for control loops: what they have read
// is then outdated.
func (r *Registry) BeforeRewind(ctx context.Context) context.Context {
	return r.store.BeforeRewrite(ctx)
}

// IsRewound reports whether a rewind came since BeforeRewind.
func (r *Registry) IsRewound(ctx context.Context) bool { return r.store.IsRewritten(ctx) }

// rewindSteps returns the order in which differences are written: scopes that exist then, the objects in them, and the end of
// scopes that do not. The fence of a scope that ends has the creations fail that began before, and that of a scope which
// exists again is removed.
func rewindSteps(differences []storage.Difference, scopes []schema.GroupResource) ([]storage.Rewrite, error) {
	before, after := make([]storage.Rewrite, len(scopes)), make([]storage.Rewrite, len(scopes))
	var objects storage.Rewrite
	for _, d := range differences {
		scope := slices.Index(scopes, d.Resource())
		if scope < 0 {
			objects.Differences = append(objects.Differences, d)
			continue
		}
		step := &before[scope]
		if d.Then == nil {
			step = &after[len(scopes)-1-scope]
		}
		step.Differences = append(step.Differences, d)
		was, is, err := scopeUIDs(&d)
		if err != nil {
			return nil, err
		}
		if was != is && is != "" {
			before[scope].Fences = append(before[scope].Fences, is)
		}
		if was != "" {
			step.RemovedFences = append(step.RemovedFences, was)
		}
	}
	steps := append(append(before, objects), after...)
	return slices.DeleteFunc(steps, func(s storage.Rewrite) bool { return len(s.Differences)+len(s.Fences)+len(s.RemovedFences) == 0 }), nil
}

// scopeUIDs returns the UIDs of a scope in the earlier and in the present state; empty where there is none.
func scopeUIDs(d *storage.Difference) (was, is string, err error) {
	for item, uid := range map[*storage.Item]*string{d.Then: &was, d.Now: &is} {
		if item == nil {
			continue
		}
		obj, err := item.Object()
		if err != nil {
			return "", "", fmt.Errorf("%s/%s: %w", d.Prefix, d.Key, err)
		}
		*uid = string(obj.GetUID())
	}
	return was, is, nil
}
