package api

import (
	"context"
	"net/netip"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/request"
)

// Names are the names of a kind in paths and in discovery.
type Names struct {
	// Name is the plural in paths, such as "pods". Singular is the name of one object for
	// kubectl. Kind is the name in objects.
	Name, Singular, Kind string
	// ListKind is the kind of lists; empty means Kind followed by "List".
	ListKind string
	// ShortNames are abbreviations such as "po". Categories are names for several
	// kinds at once, such as "all".
	ShortNames, Categories []string
	// Namespaced reports whether objects live in namespaces.
	Namespaced bool
	// Verbs are the served verbs; nil means AllVerbs.
	Verbs []string
}

// Storage describes how objects are stored.
type Storage struct {
	// Prefix is the place of the keys below the etcd prefix, without slashes at
	// its ends: "pods", "services/specs". It is empty if nothing is stored.
	Prefix string
	// StorageVersion is the group and version that kube-apiserver writes into
	// stored values; the zero value means that of the hub.
	StorageVersion schema.GroupVersion
	// Encoding is the encoding of values that the server writes. It reads all encodings.
	Encoding Encoding
	// ConvertFromStored converts stored objects, each in the version in which it
	// was stored, to the hub version. ConvertToStored converts an object of the hub
	// version to the storage version. Both return objects that need no conversion
	// unchanged, and change no object. Nil means that stored objects are of the hub
	// version.
	ConvertFromStored func(ctx context.Context, stored []Object) ([]Object, error)
	ConvertToStored   func(ctx context.Context, obj Object) (Object, error)
	// ConvertsRemotely: a webhook converts, so no lock may be held meanwhile.
	ConvertsRemotely bool
	// Uncached: kube-apiserver has no watch cache for the kind, so that a list at
	// resourceVersion 0 is paged like any other.
	Uncached bool
	// Expires: objects vanish some time after their last write (--event-ttl).
	Expires bool
}

// Encoding is an encoding of stored values.
type Encoding int

// The encodings. Only kinds that have a Go type can be stored as protobuf and as YAML, and only those
// that have none as CBOR.
const (
	Protobuf Encoding = iota
	JSON
	YAML
	CBOR
)

// CreateStrategy describes what happens to a new object, in this order.
type CreateStrategy[T Object] struct {
	// RefusesNew returns the reason for which no object can be created at present,
	// or nil.
	RefusesNew func() error
	// Fence, if set, is the name of a fence in storage. Once it is there, no object is created
	// any more, however long ago the creation began.
	Fence string
	// KeepStatusOnCreate: the status that the client sent is stored. It is dropped
	// otherwise, if the kind serves a status subresource.
	KeepStatusOnCreate bool
	// RecordUser records the user of the request in the object.
	RecordUser func(obj T, user *request.User)
	// WarningsAsSent returns warnings about an object before PrepareForCreate changes it. Invalid
	// objects have them too.
	WarningsAsSent func(obj T) []string
	// PrepareForCreate sets the fields that the server owns.
	PrepareForCreate func(obj T)
	// Allocate allocates values that must be unique among objects, and changes them on an
	// update; old is nil for a new object. They are released if the object is not stored.
	Allocate func(ctx context.Context, from Allocator, obj, old T) error
	// ValidateAccess returns errors that depend on the user and the namespace: of a new object
	// (old is nil), an update, or an update of the status subresource.
	ValidateAccess func(ctx context.Context, access Access, obj, old T, status bool) field.ErrorList
	// ValidateName returns one message per error in a name. If prefix is true, the name is a
	// generateName, to which a suffix will be added. Nil means a DNS subdomain.
	ValidateName func(name string, prefix bool) []string
	// ValidateNameOf takes the place of ValidateName for names that depend on other fields of the
	// object.
	ValidateNameOf func(obj T, name string, prefix bool) []string
	// KeepGenerateName: generateName becomes the name as it is, without a suffix.
	KeepGenerateName bool
	// AllowUnqualifiedFinalizers: names of finalizers need no domain.
	AllowUnqualifiedFinalizers bool
	// MetadataLast: the metadata is only validated if the rules of the kind find no fault, since
	// those of kube-apiserver do not include it.
	MetadataLast bool
	// Validate returns the faults of an object. Metadata is validated for all
	// kinds alike.
	Validate func(obj T) field.ErrorList
	// ValidateOnCreate returns faults that matter in a new object only, because the
	// field is immutable or because stored objects may be older than the rule.
	ValidateOnCreate func(obj T) field.ErrorList
	// WarningsOnCreate returns the warnings for a valid object.
	WarningsOnCreate func(obj T) []string
}

// UpdateStrategy describes what happens to an object that replaces another one,
// in this order. The status subresource has a StatusStrategy.
type UpdateStrategy[T Object] struct {
	// AllowCreateOnUpdate: a PUT to the name of a missing object creates it.
	AllowCreateOnUpdate bool
	// RequireResourceVersion: a PUT without resourceVersion is refused.
	RequireResourceVersion bool
	// PrepareForUpdate restores the fields that a client cannot change; old is the
	// stored object.
	PrepareForUpdate func(obj, old T)
	// HasGeneration: metadata.generation counts changes outside metadata and
	// status, or those for which ChangesGeneration returns true.
	HasGeneration     bool
	ChangesGeneration func(obj, old T) bool
	// GenerationCountsDropped: a change of a field that is then dropped, because its feature is
	// disabled or by PrepareForUpdate, counts too.
	GenerationCountsDropped bool
	// Unusable returns the reason for which no obj can be validated: the schema of a custom
	// kind does not compile. It is called for new objects too, with a nil old.
	Unusable func(obj, old T) error
	// ValidateUpdate returns the errors of an update of old to obj. CreateStrategy.Validate is
	// called in addition, unless ValidateUpdateIsComplete.
	ValidateUpdate           func(obj, old T) field.ErrorList
	ValidateUpdateIsComplete bool
	// RevalidateMetadata: metadata is validated once more by the rules for new
	// objects, so that the errors of custom kinds appear twice, as in kube-apiserver.
	RevalidateMetadata bool
	// NewMetadataFirst: with RevalidateMetadata, the rules for new objects come before those for
	// finalizers, and so before all rules of the kind.
	NewMetadataFirst bool
	// WarningsOnUpdate returns the warnings for a valid object.
	WarningsOnUpdate func(obj, old T) []string
}

// StatusStrategy describes a write of the status subresource.
type StatusStrategy[T Object] struct {
	// Served: the kind has a status subresource.
	Served bool
	// AllowCreateOnApply: an apply of the status of a missing object creates the object.
	AllowCreateOnApply bool
	// WithObject: an update of the object itself stores the status that the client sent.
	WithObject bool
	// PrepareForCreate is that of an update of the status that creates the object, which allocates
	// nothing; nil means CreateStrategy.PrepareForCreate.
	PrepareForCreate func(obj T)
	// PrepareForUpdate restores fields that are not status. It is called after
	// everything but metadata and status was taken from old.
	PrepareForUpdate func(obj, old T)
	// ValidateUpdate returns the faults of the new status and metadata.
	ValidateUpdate func(obj, old T) field.ErrorList
	// SkipFinalizers: finalizers may have any name, as in kube-apiserver where the strategy
	// of a status validates nothing.
	SkipFinalizers bool
	// WarningsOnUpdate returns the warnings for a valid status.
	WarningsOnUpdate func(obj T) []string
	// NoTable: the subresource has no representation as a table.
	NoTable bool
}

// DeleteStrategy describes the end of an object, in this order.
type DeleteStrategy[T Object] struct {
	// OrphanByDefault: dependents stay when the object is deleted, unless the
	// client asks for something else. OrphanWarning is then returned as a warning.
	OrphanByDefault bool
	OrphanWarning   string
	// NoDependents: the propagation policy has no effect on the object, and finalizers of the
	// garbage collector are removed when it is deleted.
	NoDependents bool
	// Protected returns the reason for which the object of a name cannot be
	// deleted, or nil. It is not called when a collection is deleted.
	Protected func(name string) error
	// GracePeriodSeconds returns for how long the object stays, marked as
	// terminating; requested is the period in the request, or nil. A nil function means that
	// objects are removed at once.
	GracePeriodSeconds func(obj T, requested *int64) int64
	// MarkTerminating changes a copy that was just marked as terminating (a namespace's
	// phase). A kind with MarkTerminating has no grace period, and its generation does
	// not change on deletion.
	MarkTerminating func(obj T)
	// PreconditionError is the start of the message for a failed precondition of a kind with
	// MarkTerminating.
	PreconditionError string
	// MarkOnly: the first deletion only marks the object, regardless of its options; the
	// next one removes the object.
	MarkOnly bool
	// IsScope: objects of other kinds are created within an object of this kind (a namespace).
	IsScope bool
	// HasFinalizers reports whether the object has finalizers outside metadata (a
	// namespace's spec.finalizers).
	HasFinalizers func(obj T) bool
	// Allocated returns the values that Allocate allocated for an object, and Release releases
	// them when the object is removed.
	Allocated func(obj T) (ips []netip.Addr, ports []int32)
	Release   func(from Allocator, obj T)
	// ReturnDeletedObject: the answer to a DELETE that removes the object is its
	// last state, not a Status.
	ReturnDeletedObject bool
}

// Fields describes fields that other mechanisms refer to.
type Fields[T Object] struct {
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
}
