package api

import (
	"context"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// Kind describes a kind whose objects have the Go type T, a pointer such as
// *appsv1.Deployment. The fields are in the order in which they are used; the package comment
// shows the order of the functions. NewResource converts a Kind to a Resource, which the rest
// of the server uses and which describes fields that both have. Fields that are not set have the
// behaviour of the simplest kind, ConfigMap.
type Kind[T Object] struct {
	Names
	Versions        []Version
	RemovedVersions []schema.GroupVersion
	Deprecated      string
	Storage         Storage

	Default            func(obj T)
	CheckConversion    func(obj T) error
	DefaultStored      func(obj T)
	CompleteBookmark   func(obj T)
	DropDisabledFields func(gates features.Gates, obj, old T)

	ValidateName           func(name string, prefix bool) []string
	ValidateNameOf         func(obj T, name string, prefix bool) []string
	KeepGenerateName       bool
	AllowCreateOnUpdate    bool
	RequireResourceVersion bool
	KeepStatus             StatusSource
	// Prepare sets the fields that the server owns in a new object. In an update it restores the fields that a
	// client cannot change.
	Prepare  func(*Write[T])
	Allocate func(ctx context.Context, from Allocator, obj, old T) error
	// Checks find errors and warnings. Nil means Metadata and Declared.
	Checks []Check[T]
	// HasGeneration: metadata.generation counts changes outside metadata and status, or those for which
	// Generation returns true.
	HasGeneration           bool
	Generation              func(obj, old T) bool
	GenerationCountsDropped bool

	Status       *Field
	Subresources []Subresource
	Delete       Deletion

	// Selectable returns the values of the selectable fields, see Resource.Selectable.
	Selectable        func(obj T) map[string]string
	Indexed           []string
	Reset             map[string][]string
	HiddenAnnotations []string
	// Table is the zero value for kinds that show name and creation time.
	Table Table[T]
	// Virtual is set for a kind whose objects are not stored.
	Virtual Subresource
}

// NewResource returns the resource that k describes.
func NewResource[T Object](k Kind[T]) *Resource {
	if k.Table.Row == nil {
		k.Table = plainTable[T]()
	}
	if k.Checks == nil && k.Virtual == nil {
		k.Checks = []Check[T]{Metadata[T], Declared[T]}
	}
	r := &Resource{
		Names: k.Names, Versions: k.Versions, RemovedVersions: k.RemovedVersions, Deprecated: k.Deprecated, Storage: k.Storage,
		New: newObject[T](), Default: erase(k.Default), CheckConversion: eraseResult(k.CheckConversion),
		DefaultStored: erase(k.DefaultStored), CompleteBookmark: erase(k.CompleteBookmark),
		ValidateName: k.ValidateName, KeepGenerateName: k.KeepGenerateName,
		AllowCreateOnUpdate: k.AllowCreateOnUpdate, RequireResourceVersion: k.RequireResourceVersion,
		KeepStatus: k.KeepStatus, WriteRules: writeRules(k.Prepare, k.Checks), GenerationCountsDropped: k.GenerationCountsDropped,
		Status: k.Status, Subresources: k.Subresources, Delete: k.Delete,
		Selectable: eraseResult(k.Selectable), Indexed: k.Indexed, Reset: k.Reset, HiddenAnnotations: k.HiddenAnnotations,
		Table: k.Table.erase(), Virtual: k.Virtual,
	}
	if f := k.DropDisabledFields; f != nil {
		r.DropDisabledFields = func(gates features.Gates, obj, old Object) { f(gates, obj.(T), typed[T](old)) }
	}
	if f := k.ValidateNameOf; f != nil {
		r.ValidateNameOf = func(obj Object, name string, prefix bool) []string { return f(obj.(T), name, prefix) }
	}
	if f := k.Allocate; f != nil {
		r.Allocate = func(ctx context.Context, from Allocator, obj, old Object) error {
			return f(ctx, from, obj.(T), typed[T](old))
		}
	}
	switch f := k.Generation; {
	case f == nil && k.HasGeneration:
		r.Generation = BodyChanged[Object]
	case f != nil:
		r.Generation = func(obj, old Object) bool { return f(obj.(T), old.(T)) }
	}
	r.describeOwnTypes()
	r.describeLifecycles()
	return r
}

// describeOwnTypes sets the OpenAPI definitions of versions whose Go type k8s.io/api does not
// publish. They are made from the type when they are needed.
func (r *Resource) describeOwnTypes() {
	// Other resources may have the same slice of versions.
	r.Versions = slices.Clone(r.Versions)
	for i := range r.Versions {
		v := &r.Versions[i]
		obj := r.NewOf(v)
		if v.OpenAPI != nil || openapi.IsPublished(obj) {
			continue
		}
		kind := openapi.CustomKind{GroupVersionKind: v.WithKind(r.Kind), ListKind: r.KindOfList(), Plural: r.Name}
		v.OpenAPI = func() ([]openapi.Definition, error) {
			return openapi.TypeDefinitions(kind, reflect.TypeOf(obj).Elem())
		}
	}
}

// newObject returns a function that allocates an object of type T.
func newObject[T Object]() func() Object {
	elem := reflect.TypeFor[T]().Elem()
	return func() Object { return reflect.New(elem).Interface().(Object) }
}

// The functions below adapt functions of T to Object. A nil function stays nil, and a nil
// object becomes a nil T.

func typed[T Object](obj Object) T {
	t, _ := obj.(T)
	return t
}

func erase[T Object](f func(T)) func(Object) {
	if f == nil {
		return nil
	}
	return func(obj Object) { f(obj.(T)) }
}

func eraseResult[T Object, R any](f func(T) R) func(Object) R {
	if f == nil {
		return nil
	}
	return func(obj Object) R { return f(obj.(T)) }
}

func (t Table[T]) erase() *Table[Object] {
	out := &Table[Object]{
		Row:      func(row *table.Row, obj Object) { t.Row(row, obj.(T)) },
		OnDemand: t.OnDemand,

		NullIfEmpty:     t.NullIfEmpty,
		ColumnsInEvents: t.ColumnsInEvents,
	}
	if f := t.Order; f != nil {
		out.Order = func(a, b Object) int { return f(a.(T), b.(T)) }
	}
	return out
}
