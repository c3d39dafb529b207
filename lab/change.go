package lab

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// ChangesSource is the name of the registry.Source of the kind Change.
const ChangesSource = resourceChanges

// RequestIndex finds the requests that made the revisions of objects.
type RequestIndex interface {
	RequestOf(group, resource, namespace, name string, rev int64) (id, user, manager, verb string, at time.Time, ok bool)
}

// Changes computes the objects of the kind Change from the history of etcd, whenever they are read. Its fields must be set before the
// first request.
type Changes struct {
	Registry *registry.Registry
	Requests RequestIndex
	// MayRead reports whether the user of ctx may get an object.
	MayRead func(ctx context.Context, group, resource, namespace, name string) bool
}

var _ registry.Source = (*Changes)(nil)

// Numbers of changes in a list.
const (
	defaultListed = 500
	maxListed     = 1000
)

// List implements registry.Source. It returns the newest changes of the object that the field selector names, or of all objects, the
// newest last.
func (c *Changes) List(ctx context.Context, o registry.ListOptions) ([]api.Object, error) {
	limit := defaultListed
	if o.Limit > 0 {
		limit = int(min(o.Limit, maxListed))
	}
	written, err := c.written(ctx, o, limit)
	if err != nil {
		return nil, err
	}
	r := c.reader(ctx)
	out := make([]api.Object, 0, len(written))
	for _, w := range written { // the newest first: their fields are shown if there are too many
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		obj, err := encode(r.change(&w))
		if err != nil {
			return nil, err
		}
		out = append(out, obj)
	}
	slices.Reverse(out)
	return out, nil
}

// written returns the versions that a list shows, the newest first.
func (c *Changes) written(ctx context.Context, o registry.ListOptions, limit int) ([]registry.Written, error) {
	if o.Fields != nil {
		if name, ok := o.Fields.RequiresExactMatch("metadata.name"); ok {
			w, err := c.find(ctx, name)
			if err != nil || w == nil {
				return nil, err
			}
			return []registry.Written{*w}, nil
		}
		if object, ok := o.Fields.RequiresExactMatch("object"); ok {
			t, err := c.target(object)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			return c.Registry.History(ctx, t, storage.HistoryOptions{Limit: limit})
		}
	}
	return c.Registry.Recent(ctx, storage.HistoryOptions{Limit: limit})
}

// target returns the object that a field selector names.
func (c *Changes) target(object string) (registry.Target, error) {
	fault := func(format string, args ...any) (registry.Target, error) {
		return registry.Target{}, fmt.Errorf("field selector object=%s: %s; expected RESOURCE.GROUP/NAMESPACE/NAME, "+
			"such as deployments.apps/default/web, pods/default/p (core group) or nodes/n (no namespace)",
			shorten(object, maxAgent), fmt.Sprintf(format, args...))
	}
	parts := strings.Split(object, "/")
	resource, group, hasGroup := strings.Cut(parts[0], ".")
	res, version, err := c.Registry.LookupResource(schema.GroupResource{Group: group, Resource: resource})
	switch {
	case len(parts) < 2 || slices.Contains(parts, "") || hasGroup && group == "":
		return fault("a part is missing")
	case err != nil:
		return fault("there is no resource %q in the API group %q", shorten(resource, maxAgent), shorten(group, maxAgent))
	case res.Virtual != nil || group == v1alpha1.GroupVersion.Group:
		return fault("objects of %s are not stored", parts[0])
	case res.Namespaced && len(parts) != 3:
		return fault("%s have a namespace", parts[0])
	case !res.Namespaced && len(parts) != 2:
		return fault("%s have no namespace", parts[0])
	}
	t := registry.Target{Resource: res, Version: version, Name: parts[len(parts)-1]}
	if res.Namespaced {
		t.Namespace = parts[1]
	}
	return t, nil
}

// Get implements registry.Source.
func (c *Changes) Get(ctx context.Context, name string) (api.Object, error) {
	w, err := c.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource(resourceChanges).GroupResource(), name)
	}
	r := c.reader(ctx)
	change := r.change(w)
	if change.Spec.Hidden == "" {
		change.Spec.After = r.after(w)
	}
	return encode(change)
}

// find returns the version with the name of a Change, or nil.
func (c *Changes) find(ctx context.Context, name string) (*registry.Written, error) {
	number, _, isPart := strings.Cut(name, ".")
	rev, ok := parseNumber(number)
	if !ok {
		return nil, nil
	}
	found, err := c.Registry.WrittenAt(ctx, rev)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if isPart && changeName(&found[i].Version) == name || !isPart && len(found) == 1 {
			return &found[i], nil
		}
	}
	if !isPart && len(found) > 1 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%d objects were written together at resourceVersion %d: "+
			"get %s to %s, or list by the field selector object",
			len(found), rev, changeName(&found[0].Version), changeName(&found[len(found)-1].Version)))
	}
	return nil, nil
}

// parseNumber reads a number in the form in which the server writes it.
func parseNumber(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == s
}

// changeName returns the name of a Change: the revision, and the position of the object among those that were written together.
func changeName(v *storage.Version) string {
	name := strconv.FormatInt(v.Revision, 10)
	if v.Together > 1 {
		name += "." + strconv.Itoa(v.Position)
	}
	return name
}

// Between returns the changes of an object after a resourceVersion, the newest first and at most maxWrites. The caller checks whether the
// user may see them.
func (c *Changes) Between(ctx context.Context, ref ObjectRef, after int64) []v1alpha1.Change {
	res, version, err := c.Registry.LookupResource(schema.GroupResource{Group: ref.Group, Resource: ref.Resource})
	if err != nil || res.Virtual != nil {
		return nil
	}
	t := registry.Target{Resource: res, Version: version, Namespace: ref.Namespace, Name: ref.Name}
	written, err := c.Registry.History(ctx, t, storage.HistoryOptions{After: after, Limit: maxWrites})
	if err != nil { // such as a resource that was removed meanwhile
		return nil
	}
	r := c.reader(ctx)
	r.mayRead = func(ObjectRef) bool { return true }
	out := make([]v1alpha1.Change, len(written))
	for i := range written {
		out[i] = *r.change(&written[i])
	}
	return out
}
