// Package api describes the served kinds, one value per resource.
//
// An Object is a served object with metadata. A Resource describes one kind of objects: its
// names, its versions, where it is stored and how it behaves. A Version is one group and
// version in which a resource is served. A Catalogue is an index of resources.
//
// Generic code (storage, registry, handlers) does not depend on the kind: the behaviour of a
// kind is in the functions of its Resource. A built-in kind is written as a Kind, whose
// functions have the Go type of its objects; NewResource converts it to a Resource. Each
// resource is stored as one type, its hub: a published Go type of k8s.io/api. There are no
// internal types. A version with another Go type has conversions to and from the hub. A
// custom kind becomes a Resource at run time, with a schema in place of a Go type.
//
// # The life of an object
//
// The functions of a kind are called in this order, from top to bottom; a test of package
// registry walks the table. The columns are a POST, a PUT or PATCH of the object, one of
// its status, and a DELETE. Before that, Kind.Default is applied to every decoded object
// and to the result of a patch. A Kind says in Prepare and Checks what happens to new and
// updated objects; Write.IsNew tells them apart. A subresource that is a Field, such as status, has
// its own.
//
//	create              update              status              delete
//	RefusesNew                                                  Protected
//	                                                            GracePeriodSeconds
//	mutating admission  mutating admission  mutating admission  mutating admission
//	Prepare             Prepare             Prepare
//	                    Generation
//	Allocate            Allocate
//	Checks              Checks              Checks
//	validating          validating          validating          validating
//	  admission           admission           admission           admission
//	                                                            MarkTerminating
//	                                                            HasFinalizers
//	stored              stored              stored              stored
//	                                                            Release
//
// Storage, registry, handlers and the packages above them import package api, which imports
// none of them.
package api

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api/validation/declarative"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// Object is a served object: it has a kind and metadata. Pointers to the types of k8s.io/api
// that embed ObjectMeta are Objects, and so is *untyped.Object.
type Object interface {
	runtime.Object
	metav1.Object
}

// Verbs of resources, as in discovery.
const (
	VerbCreate           = "create"
	VerbDelete           = "delete"
	VerbDeleteCollection = "deletecollection"
	VerbGet              = "get"
	VerbList             = "list"
	VerbPatch            = "patch"
	VerbUpdate           = "update"
	VerbWatch            = "watch"
)

// AllVerbs are the verbs of a resource whose Verbs are nil, in the order of discovery
// documents.
var AllVerbs = []string{VerbCreate, VerbDelete, VerbDeleteCollection, VerbGet, VerbList, VerbPatch, VerbUpdate, VerbWatch}

// Resource describes one kind of objects for the rest of the server. The zero value of every
// function is the behaviour of the simplest kind, ConfigMap: no status, no generation, no
// selectable fields except name and namespace.
type Resource struct {
	Names
	// Versions are the versions in which the resource is served or can be read from etcd, the
	// hub version first.
	Versions []Version
	// RemovedVersions are the versions in which the kind is no longer served. A request with
	// such an object is refused, and the error says why.
	RemovedVersions []schema.GroupVersion
	// Deprecated is a warning for every request.
	Deprecated string

	// New allocates an empty object of the hub type.
	New func() Object
	// Untyped: objects of every version are *untyped.Object, which contain their kind
	// and apiVersion. Custom kinds have no Go type.
	Untyped bool
	// Forms, of an untyped kind, has the resource as a form for each of its versions, with the
	// validation, verbs and columns of that version. The hub of a form is its version. The
	// form of the storage version represents the kind in lists of resources.
	Forms []*Resource
	// Established, of an untyped kind, is closed when the stored definition says that the kind is
	// established. Discovery waits for it, because clients update a definition as soon as they
	// discover its kind. Nil means that this is so.
	Established <-chan struct{}

	// Default sets the fields that a client may leave out. It is called for every
	// decoded object, from a request or from etcd, after the conversion to the hub
	// version, and for written objects, parts of which others may read at the same
	// time: it changes only fields that differ from their default.
	Default func(obj Object)
	// DefaultUntyped replaces Default for an untyped kind, whose schema can have defaults of any size.
	// It returns an error that names the field if the object becomes larger than ObjectLimit.
	DefaultUntyped func(obj Object) error
	// CheckConversion returns an error if kube-apiserver could not convert an object from a client to
	// its internal type, which has a field where the hub version has an annotation. Default does not
	// change this annotation.
	CheckConversion func(obj Object) error
	// Unregistered reports that kube-apiserver cannot convert the kind in requests to the resource:
	// it does not know the Scale of custom kinds. Bodies that do not decode, and applies that change an
	// object, get errors that say so.
	Unregistered bool
	// RepeatsErrors reports that equal errors of validation are all returned, but for those of metadata, as by
	// the part of kube-apiserver that serves custom kinds.
	RepeatsErrors bool
	// DefaultStored sets the fields that writes of this server set and those of older servers
	// did not, such as the plural of a field. It is called after Default for objects from
	// etcd.
	DefaultStored func(obj Object)
	// Prune, of an untyped kind, removes the fields that the schema does not allow from
	// an object that was read from etcd, before Default. Objects in requests are pruned
	// by Version.Coerce.
	Prune func(obj Object)
	// DefaultIsIdempotent, of an untyped kind, reports whether pruning and defaulting an
	// object for the second time changes nothing. Nil means that this is so.
	DefaultIsIdempotent func() bool
	// DropDisabledFields removes the fields of disabled features from a written object,
	// unless old has them too, which is nil for a new object. It runs before the
	// strategies.
	DropDisabledFields func(gates features.Gates, obj, old Object)
	// CompleteBookmark sets the fields that even the empty object of a bookmark has.
	CompleteBookmark func(obj Object)

	Storage Storage

	// RefusesNew returns the reason for which no object can be created at present,
	// or nil.
	RefusesNew func() error
	// Fence, if set, is the name of a fence in storage. Once it is there, no object is created
	// any more, however long ago the creation began.
	Fence string
	// ValidateName returns one message per error in a name. If prefix is true, the name is a
	// generateName, to which a suffix will be added. Nil means a DNS subdomain. ValidateNameOf takes its
	// place for names that depend on other fields of the object.
	ValidateName   func(name string, prefix bool) []string
	ValidateNameOf func(obj Object, name string, prefix bool) []string
	// KeepGenerateName: generateName becomes the name as it is, without a suffix.
	KeepGenerateName bool
	// AllowCreateOnUpdate: a PUT to the name of a missing object creates it.
	AllowCreateOnUpdate bool
	// RequireResourceVersion: a PUT without resourceVersion is refused.
	RequireResourceVersion bool
	// KeepStatus says in which writes of the object the status that the client sent is stored, if the
	// kind serves a status subresource.
	KeepStatus StatusSource
	// WriteRules are those of the object itself. Its parts that have a subresource have their own.
	WriteRules
	// Allocate allocates values that must be unique among objects, and changes them on an
	// update; old is nil for a new object. They are released if the object is not stored.
	Allocate func(ctx context.Context, from Allocator, obj, old Object) error
	// Unusable returns the reason for which no obj can be validated: the schema of a custom
	// kind does not compile. Old is nil for a new object.
	Unusable func(obj, old Object) error
	// Generation reports whether the difference between obj and old, after Prepare, increments
	// metadata.generation. Nil means that objects have no generation.
	Generation func(obj, old Object) bool
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
	Selectable func(obj Object) map[string]string
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
	// Table describes the rows that kubectl prints. Nil means name and creation time.
	Table *Table[Object]

	// Reductions are what the definitions of the kind's types lose because the server emulates an
	// older release, by the definition's name. Nil means nothing.
	Reductions openapi.Reductions

	// MaxObjectBytes is the maximum size of an object in bytes, as JSON or as it is stored, with
	// everything that defaults, conversion, patches and admission add; 0 means
	// DefaultMaxObjectBytes.
	MaxObjectBytes int

	// Virtual replaces storage for a kind whose objects are computed for each request, and is nil for
	// others: an Action, such as that of a TokenReview, or a View with a Source.
	Virtual Subresource

	gates features.Gates
}

// StatusSource says in which writes of an object its status is the one that the client sent. It is otherwise
// removed from a new object, and restored by an update.
type StatusSource int

// Sources of the status. KeepOnCreate keeps that of a new object, and KeepAlways that of an update too.
const (
	KeepNever StatusSource = iota
	KeepOnCreate
	KeepAlways
)

// Version is one group and version under which a resource is served.
type Version struct {
	schema.GroupVersion
	// NotServed: clients cannot use the version, but stored values of it can be read.
	NotServed bool
	// StoredOnly: NotServed, and no flag can enable the version, because the emulated release
	// of Kubernetes has removed or not introduced it.
	StoredOnly bool
	// OnlyFaithful: only a faithful emulation serves the version, because kube-apiserver's emulation
	// does not have it any more.
	OnlyFaithful bool
	// Lifecycle has the releases that have the version. NewResource sets it from the Go type.
	Lifecycle Lifecycle
	// Gate is the feature gate that must be enabled to serve the version; empty means none.
	Gate string
	// Accepted: requests to the resource's other versions may have a body of this version.
	Accepted bool
	// New returns an empty object of this version's Go type. Nil means the type of the hub.
	New func() Object
	// ToHub and FromHub convert without loss between this version's type and the hub's. Nil
	// means that the types are the same. The result may share memory with the argument, which
	// must not change.
	ToHub, FromHub func(Object) (Object, error)
	// Default sets the defaults that only this version has, in a decoded object of the version.
	Default func(Object)
	// HubDefault replaces Resource.Default for objects that were converted from this version. Nil
	// means that the version has the defaults of the hub version.
	HubDefault func(Object)
	// Deprecated is the deprecation that clients of this version are warned about, or nil.
	Deprecated *Deprecation
	// OpenAPI returns the definitions of objects and lists of a kind without a
	// published Go type. It is nil for published types; NewResource sets it for others.
	OpenAPI func() ([]openapi.Definition, error)
	// KeepsUnknown: objects may have fields anywhere that are not in the OpenAPI definition.
	KeepsUnknown bool
	// Coerce, of an untyped kind, removes the fields that the schema does not have from an
	// object in a request, and returns their paths. It returns an error if the object cannot
	// be of this version.
	Coerce func(obj Object) (unknown []string, err error)
	// Omit removes the fields that an emulated older release did not have from an object of this
	// version's type, and returns their paths in JSON. Nil means that it had all of them.
	Omit func(obj Object) (unknown []string)
	// FieldLabels maps the field selectors of this version to the labels of
	// Resource.Fields, metadata.name and metadata.namespace included. Nil means
	// these two alone.
	FieldLabels map[string]string
	// FieldLabelError is the message for an unknown field selector. %s stands for the label,
	// %q for the label in quotes. Empty means the message for kinds that have only
	// metadata.name and metadata.namespace.
	FieldLabelError string
	// RequireResourceVersion and ReturnDeletedObject are those of Resource and Deletion for requests of this
	// version only.
	RequireResourceVersion, ReturnDeletedObject bool
	// HubPath converts the path of a field of this version to its path in the hub version, which
	// the rules written by hand report. Nil means that the paths are the same.
	HubPath func(path string) string
	// declared returns the rules that the Go type states in markers; see ApplyDeclaredRules.
	declared func() (*declarative.Program, error)
}
