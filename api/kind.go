package api

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// Kind describes a kind whose objects have the Go type T, a pointer such as
// *appsv1.Deployment. The fields are in the order in which they are used; the package comment
// shows the order of the functions. The zero value of every field is the behaviour of the simplest kind,
// ConfigMap: no status, no generation, no selectable fields except name and namespace.
//
// NewResource makes a Resource of it, which embeds the same description with functions of every Object.
type Kind[T Object] struct {
	Names
	// Versions are the versions in which the resource is served or can be read from etcd, the
	// hub version first.
	Versions []Version
	// RemovedVersions are the versions in which the kind is no longer served. A request with
	// such an object is refused, and the error says why.
	RemovedVersions []schema.GroupVersion
	// Deprecated is a warning for every request.
	Deprecated string
	Storage    Storage

	// Default sets the fields that a client may leave out. It is called for every
	// decoded object, from a request or from etcd, after the conversion to the hub
	// version, and for written objects, parts of which others may read at the same
	// time: it changes only fields that differ from their default.
	Default func(obj T)
	// CheckConversion returns an error if kube-apiserver could not convert an object from a client to
	// its internal type, which has a field where the hub version has an annotation. Default does not
	// change this annotation.
	CheckConversion func(obj T) error
	// DefaultStored sets the fields that writes of this server set and those of older servers
	// did not, such as the plural of a field. It is called after Default for objects from
	// etcd.
	DefaultStored func(obj T)
	// CompleteBookmark sets the fields that even the empty object of a bookmark has.
	CompleteBookmark func(obj T)
	// DropDisabledFields removes the fields of disabled features from a written object, unless old has
	// them too, which is the zero T for a new object. It runs before Prepare.
	DropDisabledFields func(gates features.Gates, obj, old T)

	// ValidateName returns one message per error in a name. If prefix is true, the name is a
	// generateName, to which a suffix will be added. Nil means a DNS subdomain. ValidateNameOf takes its
	// place for names that depend on other fields of the object.
	ValidateName   func(name string, prefix bool) []string
	ValidateNameOf func(obj T, name string, prefix bool) []string
	// KeepGenerateName: generateName becomes the name as it is, without a suffix.
	KeepGenerateName bool
	// AllowCreateOnUpdate: a PUT to the name of a missing object creates it.
	AllowCreateOnUpdate bool
	// RequireResourceVersion: a PUT without resourceVersion is refused.
	RequireResourceVersion bool
	// KeepStatus says in which writes of the object the status that the client sent is stored, if the
	// kind serves a status subresource.
	KeepStatus StatusSource
	// Prepare sets the fields that the server owns in a new object. In an update it restores the fields that a
	// client cannot change.
	Prepare func(*Write[T])
	// Checks find errors and warnings. Nil means Metadata and Declared.
	Checks []Check[T]
	// Generation reports whether the difference between obj and old, after Prepare, increments
	// metadata.generation. Nil means that objects have no generation or, with HasGeneration, BodyChanged.
	Generation    func(obj, old T) bool
	HasGeneration bool
	// GenerationCountsDropped: a change of a field that is then dropped, because its feature is
	// disabled or by Prepare, counts too.
	GenerationCountsDropped bool

	// Status is the status subresource, or nil.
	Status *Field
	// Subresources are the paths below an object besides status.
	Subresources []Subresource
	Delete       Deletion

	// Selectable returns the values of the selectable fields besides metadata.name
	// and metadata.namespace, by their label in the hub version. Every label is
	// present, if only with an empty value. Version.FieldLabels says which of
	// them clients may use.
	Selectable func(obj T) map[string]string
	// Indexed are the labels by which lists and watches are often restricted, so
	// that their objects are found without a look at all others.
	Indexed []string
	// Reset has, for each subresource ("" is the object itself), the fields that a
	// write through it leaves unchanged, so that its manager does not own them. A
	// path stands for all fields below it. A subresource that is missing has the
	// default (see ssa.ResetsOf).
	Reset map[string][]string
	// HiddenAnnotations are annotations that are fields of kube-apiserver's
	// internal type, so that PartialObjectMetadata does not show them.
	HiddenAnnotations []string
	// Confidential are the paths of fields that hold secrets, such as data and metadata.annotations, without positions in lists. What
	// shows or keeps objects besides the store, such as the history of changes, leaves out the values at these paths and below.
	Confidential []string
	// Table describes the rows that kubectl prints. The zero value shows name and creation time.
	Table Table[T]
	// Virtual replaces storage for a kind whose objects are computed for each request, and is nil for
	// others: an Action, such as that of a TokenReview, or a View with a Source.
	Virtual Subresource
}

// AnyKind is a kind as code that does not depend on it sees it: its functions take every Object, and get
// those of the kind.
type AnyKind = Kind[Object]

// NewResource returns the resource of a kind with a Go type.
func NewResource[T Object](k Kind[T]) *Resource {
	if k.Table.Row == nil {
		k.Table = plainTable[T]()
	}
	if k.Checks == nil && k.Virtual == nil {
		k.Checks = []Check[T]{Metadata[T], Declared[T]}
	}
	if k.Generation == nil && k.HasGeneration {
		k.Generation = BodyChanged[T]
	}
	r := &Resource{AnyKind: k.any(), New: newObject[T]()}
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

// any returns k with functions of every Object. A function that k does not have stays nil.
func (k Kind[T]) any() AnyKind {
	rules := writeRules(k.Prepare, k.Checks)
	out := AnyKind{
		Names: k.Names, Versions: k.Versions, RemovedVersions: k.RemovedVersions, Deprecated: k.Deprecated, Storage: k.Storage,
		Default: ofObject(k.Default), CheckConversion: resultOfObject(k.CheckConversion),
		DefaultStored: ofObject(k.DefaultStored), CompleteBookmark: ofObject(k.CompleteBookmark),
		ValidateName: k.ValidateName, KeepGenerateName: k.KeepGenerateName, AllowCreateOnUpdate: k.AllowCreateOnUpdate,
		RequireResourceVersion: k.RequireResourceVersion, KeepStatus: k.KeepStatus,
		Prepare: rules.Prepare, Checks: rules.Checks, HasGeneration: k.HasGeneration,
		GenerationCountsDropped: k.GenerationCountsDropped, Status: k.Status, Subresources: k.Subresources, Delete: k.Delete,
		Selectable: resultOfObject(k.Selectable), Indexed: k.Indexed, Reset: k.Reset, HiddenAnnotations: k.HiddenAnnotations,
		Confidential: k.Confidential,
		Table:        k.Table.any(), Virtual: k.Virtual,
	}
	if f := k.DropDisabledFields; f != nil {
		out.DropDisabledFields = func(gates features.Gates, obj, old Object) { f(gates, obj.(T), typed[T](old)) }
	}
	if f := k.ValidateNameOf; f != nil {
		out.ValidateNameOf = func(obj Object, name string, prefix bool) []string { return f(obj.(T), name, prefix) }
	}
	if f := k.Generation; f != nil {
		out.Generation = func(obj, old Object) bool { return f(obj.(T), old.(T)) }
	}
	return out
}

// any is Kind.any of a table.
func (t Table[T]) any() Table[Object] {
	out := Table[Object]{
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

// typed returns an object as a T, and nil as the zero T.
func typed[T Object](obj Object) T {
	t, _ := obj.(T)
	return t
}

func ofObject[T Object](f func(T)) func(Object) {
	if f == nil {
		return nil
	}
	return func(obj Object) { f(obj.(T)) }
}

func resultOfObject[T Object, R any](f func(T) R) func(Object) R {
	if f == nil {
		return nil
	}
	return func(obj Object) R { return f(obj.(T)) }
}
