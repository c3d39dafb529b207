// Package api describes the served kinds, one value per resource.
//
// An Object is anything served that has metadata. A Resource describes one kind of
// objects: its names, its versions, where it is stored and how it behaves. A Version
// is one group and version in which a resource is served. A Catalogue is an index of
// resources.
//
// Generic code (storage, registry, handlers) never asks which kind it has: the
// behaviour of a kind is in the functions of its Resource. A built-in kind is
// written as a Kind, whose functions have the Go type of its objects; NewResource
// makes the Resource of it. Each resource is stored in one form, its hub: a
// published Go type of k8s.io/api. There are no internal types. A version with
// another Go type has conversions to and from the hub. A custom kind becomes a
// Resource at run time, with a schema in place of a Go type.
//
// # The life of an object
//
// The functions of a kind are called in this order, from top to bottom; a test of package
// registry walks the table. The columns are a POST, a PUT or PATCH of the object, one of
// its status, and a DELETE. Before that, Kind.Default is applied to every decoded object
// and to the result of a patch. ValidateAccess and Allocate are fields of CreateStrategy,
// and so is the Validate that an update calls after ValidateUpdate.
//
//	create              update              status              delete
//	RefusesNew                                                  Protected
//	mutating admission  mutating admission  mutating admission  mutating admission
//	RecordUser
//	PrepareForCreate    PrepareForUpdate    PrepareForUpdate
//	                    ChangesGeneration
//	Allocate            Allocate
//	ValidateAccess      ValidateAccess      ValidateAccess
//	ValidateName
//	Validate            ValidateUpdate      ValidateUpdate
//	ValidateOnCreate    Validate
//	WarningsOnCreate    WarningsOnUpdate    WarningsOnUpdate
//	validating          validating          validating          validating
//	  admission           admission           admission           admission
//	                                                            GracePeriodSeconds
//	                                                            BeginDelete
//	                                                            HasFinalizers
//	stored              stored              stored              stored
//	                                                            Release
//
// Package api imports no other package of this project but leaves; storage,
// registry, handlers and everything above them import it.
package api

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/openapi"
)

// Object is a served object: it knows its kind and has metadata. Pointers to
// the types of k8s.io/api that embed ObjectMeta are Objects, and so is
// *untyped.Object.
type Object interface {
	runtime.Object
	metav1.Object
}

// Verbs that a resource may answer, as discovery names them.
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

// AllVerbs is what a resource with no Verbs of its own answers, in the order
// of discovery documents.
var AllVerbs = []string{VerbCreate, VerbDelete, VerbDeleteCollection, VerbGet, VerbList, VerbPatch, VerbUpdate, VerbWatch}

// Resource describes one kind of objects as the rest of the server sees it. The zero
// value of every function is the behaviour of the plainest kind, ConfigMap: no status,
// no generation, no selectable fields but name and namespace.
type Resource struct {
	Names
	// Versions in which the resource is served or can be read from etcd, the hub
	// version first.
	Versions []Version
	// RemovedVersions are the group versions in which the kind was once served. A
	// request with an object of one of them is refused with a hint.
	RemovedVersions []schema.GroupVersion
	// Deprecated is a warning for every request.
	Deprecated string

	// New allocates an empty object of the hub type.
	New func() Object
	// Untyped: objects of every version are *untyped.Object, which contain their kind
	// and apiVersion. Kinds that arrive at run time have no Go type.
	Untyped bool
	// Forms, of an untyped kind, are the resource in each of its versions: the hub of
	// a form is its version, and the form serves, requires and shows what the version
	// does. The form of the storage version is one of them, and stands for all of
	// them wherever resources are listed.
	Forms []*Resource

	// Default sets the fields that a client may leave out. It is called for every
	// decoded object, from a request or from etcd, after the conversion to the hub
	// version, and for written objects, parts of which others may read at the same
	// time: it changes only fields that differ from their default.
	Default func(obj Object)
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
	Create  CreateStrategy[Object]
	Update  UpdateStrategy[Object]
	Status  StatusStrategy[Object]
	// Subresources are the paths below an object besides status.
	Subresources []*Subresource
	Delete       DeleteStrategy[Object]
	Fields       Fields[Object]
	// Table describes the rows that kubectl prints. Nil means name and creation time.
	Table *Table[Object]

	// Virtual answers in place of storage, for a resource that is computed and not
	// stored. Nil means that it is stored.
	Virtual *Virtual
}

// Virtual is a resource that is computed when asked for. What is created of it
// is not kept: it is a question, which is answered at once, or asks to change
// an object of another resource.
type Virtual struct {
	// Source names which of the server's own answers it is, for the server to
	// put in: the catalogue knows the name only.
	Source string
	// Changes is a resource of the same version, and Through one of its
	// subresources. Creating an object posts it to that subresource of the object with
	// the same name. If both are empty, the source answers a creation.
	Changes, Through string
}

// Write is an object that is to be stored, as Version.Check sees it.
type Write struct {
	// Old is what is in the object's place, nil when it is new.
	Object, Old Object
	// Status: nothing but status can have changed.
	Status bool
	// Found is what is wrong with it already.
	Found field.ErrorList
}

// Version is one group and version under which a resource is served.
type Version struct {
	schema.GroupVersion
	// NotServed: values of this version in etcd can be read, but clients are
	// not offered it.
	NotServed bool
	// StoredOnly: nobody can turn such a version on, because Kubernetes has removed
	// it. Its values in etcd can be read.
	StoredOnly bool
	// Gate is the feature gate without which nobody can turn the version on; empty
	// means none.
	Gate string
	// Accepted: what is sent to the paths of the resource's other versions may be
	// of this version.
	Accepted bool
	// New makes an empty object of this version's Go type; nil means that the
	// hub's type serves.
	New func() Object
	// ToHub and FromHub convert between this version's type and the hub's,
	// without loss; nil means that the types are the same. They may share
	// memory with what they are given and must not change it.
	ToHub, FromHub func(Object) (Object, error)
	// Deprecated is what clients of this version are told; nil when it is there to
	// stay.
	Deprecated *Deprecation
	// OpenAPI returns the definitions of objects and lists of a kind without a
	// published Go type. It is nil for published types; NewResource sets it for others.
	OpenAPI func() ([]openapi.Definition, error)
	// KeepsUnknown: objects may have fields that OpenAPI does not tell of, anywhere.
	KeepsUnknown bool
	// Coerce, for what has no Go type, drops from an object that was sent what the
	// version does not know, and returns the paths of that. It refuses what cannot
	// be what the version has.
	Coerce func(obj Object) (unknown []string, err error)
	// Check, for what has no Go type, checks all of an object but its metadata. What
	// is let be since it was so before goes to the warnings of ctx.
	Check func(ctx context.Context, w Write) field.ErrorList
	// FieldLabels maps the field selectors of this version to the labels of
	// Resource.Fields, metadata.name and metadata.namespace included. Nil means
	// these two alone.
	FieldLabels map[string]string
	// FieldLabelError is the message for a field selector that is not known;
	// %s stands for the label, %q for the label in quotes. Empty means the
	// message for kinds that have only metadata.name and metadata.namespace.
	FieldLabelError string
	// Validate and ValidateUpdate check what only requests of this version must
	// keep to, on objects of the hub type, before those of the Resource.
	Validate       func(obj Object) field.ErrorList
	ValidateUpdate func(obj, old Object) field.ErrorList
}
