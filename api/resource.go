// Package api is the catalogue: what is served, one value per resource.
//
// The nouns: an Object is anything served that has metadata; a Resource is one
// row of the catalogue, with its names, its versions, where it is stored and
// how it behaves; a Version is one group and version under which a resource is
// served; a Catalogue is an index of resources.
//
// Generic code (storage, registry, handlers) never asks which kind it has: what
// is particular to a kind is a field or a function of its Resource, and stands
// in the kind's own file of this package. Each resource is stored in one form,
// its hub: the published Go type of k8s.io/api that Resource.New makes. There
// are no internal types. A version with another Go type brings conversions to
// and from the hub.
//
// Package api imports nothing of this project but leaves; storage, registry,
// handlers and everything above them read it.
package api

import (
	"context"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/openapi"
	"github.com/miniapiserver/miniapiserver/request"
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

// Resource is one row of the catalogue. The zero value of every behaviour is
// the behaviour of the plainest kind, ConfigMap: no status, no generation, no
// fields to select by but name and namespace.
type Resource struct {
	// Name is the plural name in paths: "pods". Singular, Kind and ShortNames
	// are the other names clients know it by; Categories are the groups of
	// kubectl such as "all".
	Name, Singular, Kind string
	// ListKind is the kind of lists; empty means Kind with List behind it.
	ListKind               string
	ShortNames, Categories []string
	// Namespaced tells whether objects live in a namespace.
	Namespaced bool
	// Verbs are those answered; nil means AllVerbs.
	Verbs []string
	// Versions under which the resource is served or can be read from etcd.
	// The hub's comes first.
	Versions []Version
	// New makes an empty object of the hub type.
	New func() Object
	// Prefix is where the keys are, below the etcd prefix and without slashes
	// at its ends: "pods", "services/specs". Empty when nothing is stored.
	Prefix string
	// Stored is the group and version that kube-apiserver writes into the value
	// in etcd; the zero value means that of Versions[0].
	Stored schema.GroupVersion
	// StoredJSON: values in etcd are JSON and not protobuf.
	StoredJSON bool
	// Untyped: the hub, and every version, is *untyped.Object: kinds
	// that arrive at run time have no Go type. Kind and apiVersion are then part
	// of the object.
	Untyped bool
	// Forms, of a kind without a Go type, are the resource as each of its versions
	// has it, one after the other: the hub of a form is its version, and what it
	// serves, requires and shows is the version's. The resource in whose version
	// objects are stored stands for all of them wherever resources are listed, and
	// is one of them.
	Forms []*Resource
	// Read makes of stored objects, each in the version that it was stored in,
	// objects of the hub, and Store of an object of the hub what is stored. They
	// return what needs no change as it is, and change nothing. Nil means that
	// objects are stored, and read, as the hub has them. Remote: that takes
	// another server, and nobody should be kept waiting for it by a lock.
	Read   func(ctx context.Context, stored []Object) ([]Object, error)
	Store  func(ctx context.Context, obj Object) (Object, error)
	Remote bool

	// ResetFields names, for each subresource ("" is the object itself), the fields that
	// a write through it leaves as they are: a client that sends them does not come to
	// own them. A path of field names stands for all below it. A subresource that is not
	// mentioned has the default of its kind (see ssa.ResetsOf).
	ResetFields map[string][]string

	// ValidateName tells what is wrong with a name, one message per fault. With
	// prefix set the name is a generateName and more will follow it. Nil means
	// a DNS subdomain.
	ValidateName func(name string, prefix bool) []string
	// AllowCreateOnUpdate: a PUT to a name that is not there creates it.
	AllowCreateOnUpdate bool
	// RequireResourceVersion: a PUT without a resourceVersion is refused.
	RequireResourceVersion bool

	// HasStatus: the resource has a status subresource. What a client sends as
	// status is then dropped on create and update, unless KeepStatusOnCreate.
	HasStatus          bool
	KeepStatusOnCreate bool
	// Subresources are the paths below an object besides status.
	Subresources []*Subresource
	// Generation: metadata.generation starts at 1 and counts changes of what is
	// outside metadata and status, or those that Changed tells.
	Generation bool
	Changed    func(obj, old Object) bool
	// Default fills in what a client may leave out. It runs on every object that
	// was decoded, from a request or from etcd, after conversion to the hub, and on
	// those that are written, parts of which others may read at the time: it changes
	// only what differs from the default.
	Default func(obj Object)
	// Prune removes from an object without a Go type what its schema does not allow.
	// It runs on every object that was read from etcd, before Default. An object in a
	// request is pruned by Version.Coerce.
	Prune func(obj Object)
	// Settled reports, for objects without a Go type, whether Prune and Default leave
	// an object unchanged that they have processed before. Nil means that they do.
	Settled func() bool
	// Complete fills in what even an empty object shows: a bookmark.
	Complete func(obj Object)
	// Gone are the group versions that the kind was once served in. Who sends an
	// object of one is told so.
	Gone []schema.GroupVersion
	// StampUser records in a new object who asked for it, before PrepareCreate.
	StampUser func(obj Object, user *request.User)
	// PrepareCreate sets what the server owns in a new object, after status was
	// reset and before it is validated.
	PrepareCreate func(obj Object)
	// PrepareUpdate keeps in obj what a client may not change silently, on an
	// update of the object itself; old is what is stored. PrepareStatusUpdate
	// does so for the status subresource, after everything but metadata and
	// status was taken from old.
	PrepareUpdate, PrepareStatusUpdate func(obj, old Object)
	// dropDisabled removes what a write sets of features that are off, unless old, which
	// is nil for a new object, has it too. It runs before the functions above.
	dropDisabled func(gates features.Gates, obj, old Object)
	// Validate and ValidateUpdate check what is particular to the kind;
	// metadata is checked for all kinds alike.
	Validate       func(obj Object) field.ErrorList
	ValidateUpdate func(obj, old Object) field.ErrorList
	// WholeUpdate: ValidateUpdate checks all there is to check of an update, so
	// that it can look at both objects for every rule and list faults in an order
	// of its own. Validate is then for new objects only.
	WholeUpdate bool
	// ValidateCreate checks what only a new object must keep to, because it
	// cannot be changed afterwards or because stored objects may be older than
	// the rule. ValidateStatusUpdate checks a write of the status subresource.
	ValidateCreate       func(obj Object) field.ErrorList
	ValidateStatusUpdate func(obj, old Object) field.ErrorList
	// CheckAccess checks what depends on the writer and the namespace, besides the
	// objects: of a new object, an update, or a write of the status subresource.
	CheckAccess func(ctx context.Context, access Access, w Write) field.ErrorList
	// MetadataRevalidated: an update checks metadata once more as a create does,
	// so that its faults are listed once more among the causes.
	MetadataRevalidated bool
	// LooseFinalizers: finalizers need no domain in their names.
	LooseFinalizers bool

	// Fields gives the selectable fields besides metadata.name and
	// metadata.namespace, by their label in the hub version. Every label that
	// can be selected is present, with an empty value if need be. Which of them
	// clients may name is told by Version.FieldLabels.
	Fields func(obj Object) map[string]string
	// Indexed names those of Fields that lists and watches are often restricted
	// to, so that they are found without looking at every object.
	Indexed []string

	// HiddenAnnotations are annotations that stand for a field of kube-apiserver's
	// internal type. They are not shown where metadata is shown alone.
	HiddenAnnotations []string

	// Uncached: kube-apiserver has no watch cache of the kind, so that a list at
	// resourceVersion 0 is paged as any other.
	Uncached bool

	// Rows is how objects show as rows of the Table that kubectl prints. Nil means
	// name and time of creation.
	Rows *Table

	// GracePeriodSeconds makes deletion graceful: given what the client asked
	// for (nil: nothing), it returns how long the object stays, marked as
	// terminating. Nil means that objects go at once.
	GracePeriodSeconds func(obj Object, asked *int64) int64
	// BeginDelete is called on a copy that was just marked as terminating, to change
	// what else shows it (a namespace's phase). Such a kind has no grace periods, and
	// a deletion makes no generation of it.
	BeginDelete func(obj Object)
	// OnlyBegins: the first deletion does no more than BeginDelete, whatever its
	// options say; the next one does what deletions do.
	OnlyBegins bool
	// HasFinalizers tells of finalizers outside metadata (a namespace's
	// spec.finalizers). Nil means none.
	HasFinalizers func(obj Object) bool

	// Unusable, for what has no Go type, returns why obj cannot be written in the place
	// of old, which is nil for a new object, whatever it has in it: the schema by which
	// it would be judged cannot be used. Nil means that objects can always be judged.
	Unusable func(obj, old Object) error

	// RefusesNew tells why no objects are made for a while; nil when they are.
	RefusesNew func() error

	// Kept tells why the object of a name cannot be deleted; nil when it can. It is
	// not asked when a whole collection is deleted.
	Kept func(name string) error

	// Allocate gives obj what no other object may have, just before it is stored;
	// old is nil for a new object. Release gives it back when it is gone.
	Allocate func(ctx context.Context, from Allocator, obj, old Object) error
	Release  func(from Allocator, obj Object)
	// Held tells what Allocate gave to an object.
	Held func(obj Object) (ips []netip.Addr, ports []int32)
	// OrphanByDefault: what an object owns stays when it is deleted, unless the
	// client says otherwise.
	OrphanByDefault bool
	// OrphanWarning is said of that.
	OrphanWarning string
	// ReturnDeletedObject: a DELETE that ends an object answers with its last
	// state, and not with a Status.
	ReturnDeletedObject bool
	// Expires: objects vanish by themselves some time after they were last
	// written (--event-ttl).
	Expires bool

	// Warnings are said in Warning headers of every request to the resource
	// or, when they depend on the object, of writes of it; old is nil for a new
	// object. StatusWarnings are those of writes of its status.
	Deprecated     string
	ObjectWarnings func(obj, old Object) []string
	StatusWarnings func(obj Object) []string

	// Virtual answers instead of storage, for a resource that is computed and
	// not stored. Nil means that it is stored.
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
	// OpenAPI, for what has no Go type, gives the definitions of its objects and of
	// lists of them.
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
