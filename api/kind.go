package api

import (
	"context"
	"net/netip"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/openapi"
	"github.com/miniapiserver/miniapiserver/request"
)

// Kind describes a kind whose objects have the Go type T, a pointer such as
// *appsv1.Deployment. The fields are in the order in which they are used; the package comment
// shows the order of the functions. NewResource converts a Kind to a Resource, which the rest
// of the server uses. Fields that are not set have the behaviour of the simplest kind,
// ConfigMap.
type Kind[T Object] struct {
	Names
	// Versions are the versions in which the kind is served or can be read from etcd, the hub
	// version first. RemovedVersions are versions of older servers: a request with such an
	// object is refused, and the error says why.
	Versions        []Version
	RemovedVersions []schema.GroupVersion
	// Deprecated is a warning for every request.
	Deprecated string
	// Default sets the fields that a client may leave out. See Resource.Default.
	Default func(obj T)
	// CheckConversion returns an error if an object from a client cannot be converted. See
	// Resource.CheckConversion.
	CheckConversion func(obj T) error
	// DefaultStored sets the fields that older servers left out of stored objects. See
	// Resource.DefaultStored.
	DefaultStored func(obj T)
	// CompleteBookmark sets the fields that even the empty object of a bookmark has.
	CompleteBookmark func(obj T)
	// DropDisabledFields removes the fields of disabled features. See
	// Resource.DropDisabledFields.
	DropDisabledFields func(gates features.Gates, obj, old T)
	Storage            Storage
	Create             CreateStrategy[T]
	Update             UpdateStrategy[T]
	Status             StatusStrategy[T]
	Subresources       []*Subresource
	Delete             DeleteStrategy[T]
	Fields             Fields[T]
	// Table is the zero value for kinds that show name and creation time.
	Table Table[T]
	// Virtual is set for a kind whose objects are not stored.
	Virtual *Virtual
}

// NewResource returns the resource that k describes.
func NewResource[T Object](k Kind[T]) *Resource {
	if k.Table.Row == nil {
		k.Table = plainTable[T]()
	}
	r := &Resource{
		Names: k.Names, Versions: k.Versions, RemovedVersions: k.RemovedVersions, Deprecated: k.Deprecated,
		New:              newObject[T](),
		Default:          eraseType(k.Default),
		CheckConversion:  eraseResult(k.CheckConversion),
		DefaultStored:    eraseType(k.DefaultStored),
		CompleteBookmark: eraseType(k.CompleteBookmark),
		Storage:          k.Storage,
		Create:           k.Create.erase(),
		Update:           k.Update.erase(),
		Status:           k.Status.erase(),
		Subresources:     k.Subresources,
		Delete:           k.Delete.erase(),
		Fields:           k.Fields.erase(),
		Table:            k.Table.erase(),
		Virtual:          k.Virtual,
	}
	if f := k.DropDisabledFields; f != nil {
		r.DropDisabledFields = func(gates features.Gates, obj, old Object) { f(gates, obj.(T), typed[T](old)) }
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

// eraseType adapts a function of a Go type to Object.
func eraseType[T Object](f func(T)) func(Object) {
	if f == nil {
		return nil
	}
	return func(obj Object) { f(obj.(T)) }
}

func eraseChange[T Object](f func(obj, old T)) func(obj, old Object) {
	if f == nil {
		return nil
	}
	return func(obj, old Object) { f(obj.(T), typed[T](old)) }
}

func eraseResult[T Object, R any](f func(T) R) func(Object) R {
	if f == nil {
		return nil
	}
	return func(obj Object) R { return f(obj.(T)) }
}

func eraseChangeResult[T Object, R any](f func(obj, old T) R) func(obj, old Object) R {
	if f == nil {
		return nil
	}
	return func(obj, old Object) R { return f(obj.(T), typed[T](old)) }
}

func (s CreateStrategy[T]) erase() CreateStrategy[Object] {
	out := CreateStrategy[Object]{
		RefusesNew:                 s.RefusesNew,
		Fence:                      s.Fence,
		KeepStatusOnCreate:         s.KeepStatusOnCreate,
		PrepareForCreate:           eraseType(s.PrepareForCreate),
		ValidateName:               s.ValidateName,
		KeepGenerateName:           s.KeepGenerateName,
		AllowUnqualifiedFinalizers: s.AllowUnqualifiedFinalizers,
		MetadataLast:               s.MetadataLast,
		Validate:                   eraseResult(s.Validate),
		ValidateOnCreate:           eraseResult(s.ValidateOnCreate),
		WarningsAsSent:             eraseResult(s.WarningsAsSent),
		WarningsOnCreate:           eraseResult(s.WarningsOnCreate),
	}
	if f := s.ValidateNameOf; f != nil {
		out.ValidateNameOf = func(obj Object, name string, prefix bool) []string { return f(obj.(T), name, prefix) }
	}
	if f := s.RecordUser; f != nil {
		out.RecordUser = func(obj Object, user *request.User) { f(obj.(T), user) }
	}
	if f := s.ValidateAccess; f != nil {
		out.ValidateAccess = func(ctx context.Context, access Access, obj, old Object, status bool) field.ErrorList {
			return f(ctx, access, obj.(T), typed[T](old), status)
		}
	}
	if f := s.Allocate; f != nil {
		out.Allocate = func(ctx context.Context, from Allocator, obj, old Object) error {
			return f(ctx, from, obj.(T), typed[T](old))
		}
	}
	return out
}

func (s UpdateStrategy[T]) erase() UpdateStrategy[Object] {
	return UpdateStrategy[Object]{
		AllowCreateOnUpdate:      s.AllowCreateOnUpdate,
		RequireResourceVersion:   s.RequireResourceVersion,
		PrepareForUpdate:         eraseChange(s.PrepareForUpdate),
		HasGeneration:            s.HasGeneration,
		ChangesGeneration:        eraseChangeResult(s.ChangesGeneration),
		GenerationCountsDropped:  s.GenerationCountsDropped,
		Unusable:                 eraseChangeResult(s.Unusable),
		ValidateUpdate:           eraseChangeResult(s.ValidateUpdate),
		ValidateUpdateIsComplete: s.ValidateUpdateIsComplete,
		RevalidateMetadata:       s.RevalidateMetadata,
		NewMetadataFirst:         s.NewMetadataFirst,
		WarningsOnUpdate:         eraseChangeResult(s.WarningsOnUpdate),
	}
}

func (s StatusStrategy[T]) erase() StatusStrategy[Object] {
	return StatusStrategy[Object]{
		Served:             s.Served,
		AllowCreateOnApply: s.AllowCreateOnApply,
		WithObject:         s.WithObject,
		PrepareForCreate:   eraseType(s.PrepareForCreate),
		PrepareForUpdate:   eraseChange(s.PrepareForUpdate),
		ValidateUpdate:     eraseChangeResult(s.ValidateUpdate),
		SkipFinalizers:     s.SkipFinalizers,
		NoTable:            s.NoTable,
		WarningsOnUpdate:   eraseResult(s.WarningsOnUpdate),
	}
}

func (s DeleteStrategy[T]) erase() DeleteStrategy[Object] {
	out := DeleteStrategy[Object]{
		OrphanByDefault:     s.OrphanByDefault,
		OrphanWarning:       s.OrphanWarning,
		NoDependents:        s.NoDependents,
		PreconditionError:   s.PreconditionError,
		Protected:           s.Protected,
		MarkTerminating:     eraseType(s.MarkTerminating),
		MarkOnly:            s.MarkOnly,
		IsScope:             s.IsScope,
		HasFinalizers:       eraseResult(s.HasFinalizers),
		ReturnDeletedObject: s.ReturnDeletedObject,
	}
	if f := s.GracePeriodSeconds; f != nil {
		out.GracePeriodSeconds = func(obj Object, requested *int64) int64 { return f(obj.(T), requested) }
	}
	if f := s.Allocated; f != nil {
		out.Allocated = func(obj Object) ([]netip.Addr, []int32) { return f(obj.(T)) }
	}
	if f := s.Release; f != nil {
		out.Release = func(from Allocator, obj Object) { f(from, obj.(T)) }
	}
	return out
}

func (s Fields[T]) erase() Fields[Object] {
	return Fields[Object]{
		Selectable:        eraseResult(s.Selectable),
		Indexed:           s.Indexed,
		Reset:             s.Reset,
		HiddenAnnotations: s.HiddenAnnotations,
	}
}

func (t Table[T]) erase() *Table[Object] {
	return &Table[Object]{
		Row:             func(row *table.Row, obj Object) { t.Row(row, obj.(T)) },
		OnDemand:        t.OnDemand,
		Order:           eraseChangeResult(t.Order),
		NullIfEmpty:     t.NullIfEmpty,
		ColumnsInEvents: t.ColumnsInEvents,
	}
}

// VersionRules adds validation to version v. It applies to requests of that version only, to
// objects of the hub type, and before the validation of the kind.
func VersionRules[T Object](v Version, validate func(obj T) field.ErrorList, validateUpdate func(obj, old T) field.ErrorList) Version {
	v.Validate, v.ValidateUpdate = eraseResult(validate), eraseChangeResult(validateUpdate)
	return v
}
