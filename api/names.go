package api

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
