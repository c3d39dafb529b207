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
// its own. Allocate and Release are methods of the registry.Allocator that a resource may have.
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

// Resource describes one kind of objects for the rest of the server: the kind, whether it was written
// for a Go type or compiled from a definition, and what depends on the configuration of the server.
type Resource struct {
	AnyKind
	// New allocates an empty object of the hub type.
	New func() Object
	// Custom is what only custom kinds have, which have a schema in place of a Go type; nil for others.
	Custom *Custom

	// Detail returns an object as a get shows it to the user of ctx, who may see more of it, or less, than lists and watches show.
	// Nil means that there is no difference.
	Detail func(ctx context.Context, obj Object) (Object, error)
	// Written, if set, is called when an update of an object is stored, before the client gets its answer.
	Written func(ctx context.Context)
	// RefusesNew returns the reason for which no object can be created at present,
	// or nil.
	RefusesNew func() error
	// Fence, if set, is the name of a fence in storage. Once it is there, no object is created
	// any more, however long ago the creation began.
	Fence string
	// MaxObjectBytes is the maximum size of an object in bytes, as JSON or as it is stored, with
	// everything that defaults, conversion, patches and admission add; 0 means
	// DefaultMaxObjectBytes.
	MaxObjectBytes int
	// Reductions are what the definitions of the kind's types lose because the server emulates an
	// older release, by the definition's name. Nil means nothing.
	Reductions openapi.Reductions
	// Unregistered reports that kube-apiserver cannot convert the kind in requests to the resource:
	// it does not know the Scale of custom kinds. Bodies that do not decode, and applies that change an
	// object, get errors that say so.
	Unregistered bool
	// RepeatsErrors reports that equal errors of validation are all returned, but for those of metadata, as by
	// the part of kube-apiserver that serves custom kinds.
	RepeatsErrors bool

	gates features.Gates
}

// Custom is what the resource of a custom kind has. Objects of every version are *untyped.Object, which
// contain their kind and apiVersion.
type Custom struct {
	// Forms has the resource as a form for each of its versions, with the validation, verbs and columns of
	// that version. The hub of a form is its version. The form of the storage version represents the kind in
	// lists of resources.
	Forms []*Resource
	// Schema is that of the version of the form. Nil allows everything.
	Schema Schema
	// Unusable returns the reason for which no obj can be validated: a schema does not compile. Old is nil for
	// a new object.
	Unusable func(obj, old Object) error
	// Established is closed when the stored definition says that the kind is
	// established. Discovery waits for it, because clients update a definition as soon as they
	// discover its kind. Nil means that this is so.
	Established <-chan struct{}
}

// Schema is the schema of the content of custom objects: all fields but managedFields.
type Schema interface {
	// Coerce removes the fields that the schema does not have from content in a request, and returns their
	// paths. It returns an error if the content cannot be of this version.
	Coerce(content map[string]any) (unknown []string, err error)
	// Prune removes the fields that the schema does not allow from content that was read from etcd, before
	// Default.
	Prune(content map[string]any)
	// Default sets the defaults, which can have any size. It returns an error that names the field if the
	// content becomes larger than limit, in bytes of JSON.
	Default(content map[string]any, limit int) error
	// DefaultIsIdempotent reports whether pruning and defaulting for the second time changes nothing.
	DefaultIsIdempotent() bool
}

// IsCustom reports whether the kind is a custom one, whose objects have no Go type.
func (r *Resource) IsCustom() bool { return r.Custom != nil }

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
	// AcceptsBodyOf: requests to the resource's other versions may have a body of this version.
	AcceptsBodyOf bool
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
