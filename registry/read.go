package registry

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Get returns the object that t names.
func (r *Registry) Get(ctx context.Context, t Target, read storage.Read) (*storage.Item, error) {
	if err := t.CheckName(); err != nil {
		return nil, err
	}
	item, err := r.collection(t.Resource).Get(ctx, t.Key(), read)
	if err != nil {
		return nil, r.StatusError(t, err)
	}
	return item, nil
}

// Key returns the key of the object that t names, within its collection.
func (t Target) Key() string {
	if t.Namespace == "" {
		return t.Name
	}
	return t.Namespace + "/" + t.Name
}

func (t Target) prefix() string {
	if t.Namespace == "" {
		return ""
	}
	return t.Namespace + "/"
}

// collection returns the collection of a resource, or an empty one if the resource was
// removed during the request.
func (r *Registry) collection(res *api.Resource) *storage.Collection {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if c := r.collections[res.Storage.Prefix]; c != nil {
		return c
	}
	return r.closedCollection
}

// IsLoaded reports whether the cache of a stored resource is complete.
func (r *Registry) IsLoaded(res *api.Resource) bool { return r.collection(res).Loaded() }

// StoredSize returns the number of objects of a resource and their size in bytes as stored.
// It returns false for a resource that is not stored here.
func (r *Registry) StoredSize(gv schema.GroupVersion, resource string) (objects int, bytes int64, ok bool) {
	res, _, ok := r.catalogue.Lookup(gv, resource)
	if !ok {
		return 0, 0, false
	}
	if res.Virtual != nil {
		return 0, 0, false
	}
	c := r.collection(res)
	objects, bytes = c.Size()
	return objects, bytes, true
}

// NotLoaded returns the Go types of built-in resources whose caches are not loaded yet.
func (r *Registry) NotLoaded() []string {
	var missing []string
	for _, res := range r.catalogue.Resources() {
		if res.Virtual == nil && !res.IsCustom() && !r.collection(res).Loaded() {
			missing = append(missing, fmt.Sprintf("%T", res.New()))
		}
	}
	return missing
}

// CacheState returns a value that identifies the content of a resource's cache as the server follows it: two values
// are equal if no object changed in between.
func (r *Registry) CacheState(res *api.Resource) any { return r.collection(res).State() }

// Selection selects objects of a collection. Its field labels are those of the hub version.
type Selection struct {
	Labels labels.Selector
	Fields fields.Selector
	// Shard selects objects by the hash of a field that is the same in all versions and states; nil
	// selects all.
	Shard sharding.Selector
	// Objects converts items to the version of the target, for selections that need a
	// conversion webhook. Nil means Target.Objects.
	Objects func(context.Context, []*storage.Item) ([]api.Object, error)
	// IsKept reports whether an item has been converted before. It is set where Objects is.
	IsKept func(*storage.Item) bool
}

// ListOptions are the options of a list.
type ListOptions struct {
	Selection
	Read storage.Read
	// Limit is the maximum number of items; 0 means no limit.
	Limit int64
	// PageLimit is the limit that the client asks for, which the cache may ignore. A deletion lists in pages too.
	PageLimit int64
	// After is the key after which the page starts.
	After string
	// Verify returns an error if an object in the range of the list cannot be decoded.
	// Otherwise the list may contain such objects.
	Verify bool
}

// List returns the objects of t's collection, ordered by key.
func (r *Registry) List(ctx context.Context, t Target, o ListOptions) (*storage.List, error) {
	scope, never := o.scope(t)
	if never {
		scope.filter = func(*storage.Item) bool { return false }
	} else if o.needsConversion(t) {
		return r.listConverted(ctx, t, o, scope)
	}
	filter := untilDone(ctx, scope.filter)
	list, err := r.collection(t.Resource).List(ctx, storage.ListOptions{
		Read: o.Read, Prefix: scope.prefix, Key: scope.key, Field: scope.field, Value: scope.value, After: o.After, Limit: o.Limit, Labels: signature(o.Labels), Filter: filter, Verify: o.Verify,
	})
	if err == nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if future := (*storage.FutureRevisionError)(nil); errors.As(err, &future) && scope.key != "" && o.Read.Match == storage.Exact {
		return nil, errFutureRevision(future, 0) // kube-apiserver's cache has no older states of a single object
	}
	return list, r.listError(t, err)
}

// untilDone returns a filter that drops all items once ctx is done, to end a scan early.
// The caller then discards the list.
func untilDone(ctx context.Context, filter func(*storage.Item) bool) func(*storage.Item) bool {
	if filter == nil || ctx.Done() == nil {
		return filter
	}
	seen, done := 0, false
	return func(item *storage.Item) bool {
		if seen++; seen%256 == 0 && !done {
			done = ctx.Err() != nil
		}
		return !done && filter(item)
	}
}

func (r *Registry) listError(t Target, err error) error {
	var compacted *storage.CompactedError
	if errors.As(err, &compacted) { // not the message of a watch
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	return r.StatusError(t, err)
}

// LooksEmpty reports whether there are certainly no objects of a resource (storage.Collection.LooksEmpty).
func (r *Registry) LooksEmpty(res *api.Resource) bool { return r.collection(res).LooksEmpty() }

// WatchOptions are the options of a watch. Watch sets the fields of storage.WatchOptions
// that follow from Selection and Target.
type WatchOptions struct {
	Selection
	storage.WatchOptions
}

// Watch starts a watch of the objects of t's collection.
func (r *Registry) Watch(ctx context.Context, t Target, o WatchOptions) (*storage.Watcher, error) {
	scope, never := o.scope(t)
	if never {
		scope.filter = func(*storage.Item) bool { return false }
	}
	w := o.WatchOptions
	w.Prefix, w.Key, w.Filter = scope.prefix, scope.key, scope.filter
	w.Field, w.Value = scope.field, scope.value
	if !never && o.needsConversion(t) {
		c := &convertedSelector{Selection: o.Selection, target: t, slot: r.selectors.forForm(t.Resource)}
		w.Filter, w.Prepare = c.matches, func(items []*storage.Item) error { return c.prepare(ctx, items) }
	}
	watcher, err := r.collection(t.Resource).Watch(ctx, w)
	if err != nil {
		return nil, r.StatusError(t, err)
	}
	return watcher, nil
}

// scope is the part of a collection that storage must search.
type scope struct {
	prefix, key string
	// field and value are an indexed field and its required value.
	field, value string
	filter       func(*storage.Item) bool
}

// scope returns the scope of a selection. Requirements on the name and the namespace become
// a key or a prefix, which need no scan. never means that no object can match.
func (s Selection) scope(t Target) (sc scope, never bool) {
	sc.prefix = t.prefix()
	namespace, name := t.Namespace, t.Name
	if s.Fields != nil {
		if v, ok := s.Fields.RequiresExactMatch("metadata.namespace"); ok {
			if !t.Resource.Namespaced && v != "" || namespace != "" && v != namespace {
				return sc, true
			}
			namespace = v
		}
		if v, ok := s.Fields.RequiresExactMatch("metadata.name"); ok {
			if name != "" && v != name || v == "" {
				return sc, true
			}
			name = v
		}
	}
	if namespace != "" {
		sc.prefix = namespace + "/"
	}
	if name != "" && (namespace != "" || !t.Resource.Namespaced) {
		sc.key = Target{Namespace: namespace, Name: name}.Key()
	}
	if sc.key == "" && s.Fields != nil {
		for _, field := range t.Resource.Indexed {
			if v, ok := s.Fields.RequiresExactMatch(field); ok {
				sc.field, sc.value = field, v
				break
			}
		}
	}
	sc.filter = s.filter()
	return sc, false
}

// filter returns a filter by labels, fields and shard; nil if all items match.
func (s Selection) filter() func(*storage.Item) bool {
	selected := s.attributeFilter()
	switch {
	case s.Shard == nil:
		return selected
	case selected == nil:
		return s.isInShard
	}
	return func(i *storage.Item) bool { return selected(i) && s.isInShard(i) }
}

// isInShard reports whether an item is in the selected shard. An undecodable item is in none.
func (s Selection) isInShard(i *storage.Item) bool {
	if s.Shard == nil {
		return true
	}
	obj, err := i.Object()
	if err != nil {
		return false
	}
	ok, err := s.Shard.Matches(obj)
	return ok && err == nil
}

// attributeFilter returns a filter by labels and fields; nil if all items match.
func (s Selection) attributeFilter() func(*storage.Item) bool {
	byLabel := s.Labels != nil && !s.Labels.Empty()
	byField := s.Fields != nil && !s.Fields.Empty()
	switch {
	case byLabel && byField:
		byLabel := labelFilter(s.Labels)
		return func(i *storage.Item) bool { return byLabel(i) && s.Fields.Matches(itemFields{i}) }
	case byLabel:
		return labelFilter(s.Labels)
	case byField:
		return func(i *storage.Item) bool { return s.Fields.Matches(itemFields{i}) }
	}
	return nil
}

// labelFilter returns a filter by labels. It rejects most items by their label signatures,
// without reading their labels.
func labelFilter(s labels.Selector) func(*storage.Item) bool {
	must := signature(s)
	return func(i *storage.Item) bool {
		return i.MayHaveLabels(must) && s.Matches(i.Labels())
	}
}

// signature returns the label signature of the labels for which a selector requires one
// value; 0 if there are none.
func signature(s labels.Selector) uint64 {
	if s == nil || s.Empty() {
		return 0
	}
	must := labels.Set{}
	requirements, _ := s.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			if values := r.ValuesUnsorted(); len(values) == 1 {
				must[r.Key()] = values[0]
			}
		}
	}
	return storage.LabelSignature(must)
}

// itemFields are the selectable fields of an item, including metadata.name and
// metadata.namespace.
type itemFields struct{ item *storage.Item }

// Has reports whether objects can be selected by the field.
func (f itemFields) Has(field string) bool {
	switch field {
	case "metadata.name", "metadata.namespace":
		return true
	}
	return f.item.Fields().Has(field)
}

// Get returns the value of the field.
func (f itemFields) Get(field string) string {
	switch field {
	case "metadata.name":
		return f.item.Name()
	case "metadata.namespace":
		return f.item.Namespace()
	}
	return f.item.Field(field)
}

// needsConversion reports whether items must be converted by a webhook before s can select
// them. Names and namespaces are the same in all versions.
func (s Selection) needsConversion(t Target) bool {
	if !t.Resource.Storage.ConvertsRemotely {
		return false
	}
	if s.Labels != nil && !s.Labels.Empty() {
		return true
	}
	if s.Fields == nil {
		return false
	}
	for _, r := range s.Fields.Requirements() {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" {
			return true
		}
	}
	return false
}
