package api

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Older versions are not served unless enabled (Enable), but stored objects of them can
// always be read.

// pointer is the constraint of *T for a published type T.
type pointer[T any] interface {
	*T
	Object
}

// Preview returns the hub version of a kind that has no stable version. It is not served
// unless enabled.
func Preview[T any, P pointer[T]](gv schema.GroupVersion, gate string) []Version {
	return []Version{{GroupVersion: gv, NotServed: true, Gate: gate, Deprecated: deprecationOf(gv, P(new(T)))}}
}

// WithGate sets the feature gate without which versions are not served.
func WithGate(versions []Version, gate string) []Version {
	for i := range versions {
		versions[i].Gate = gate
	}
	return versions
}

// WithOlderVersions adds versions that are not served by default. They have the feature gate
// of the first version, and its field labels unless they have their own.
func WithOlderVersions(versions []Version, more ...Version) []Version {
	for _, v := range more {
		v.NotServed = true
		v.Gate = versions[0].Gate
		if v.FieldLabels == nil {
			v.FieldLabels, v.FieldLabelError = versions[0].FieldLabels, versions[0].FieldLabelError
		}
		versions = append(versions, v)
	}
	return versions
}

// SameFields returns a version whose type Old has the fields of the hub type Hub.
func SameFields[Hub, Old any, H pointer[Hub], O pointer[Old]](gv schema.GroupVersion) Version {
	return ConvertedVersion[Hub, Old, H, O](gv, nil, nil)
}

// ConvertedVersion returns a version some fields of which have other names or meanings than
// in the hub. After the equal fields were copied, toHub and fromHub convert the others. They
// must not change their source, with which the result shares memory.
func ConvertedVersion[Hub, Old any, H pointer[Hub], O pointer[Old]](gv schema.GroupVersion,
	toHub func(hub *Hub, old *Old), fromHub func(old *Old, hub *Hub)) Version {
	return Version{
		GroupVersion: gv,
		New:          func() Object { return O(new(Old)) },
		ToHub:        copying[Old, Hub, O, H](toHub),
		FromHub:      copying[Hub, Old, H, O](fromHub),
		Deprecated:   deprecationOf(gv, O(new(Old))),
	}
}

// StoredOnly marks a version as removed, for published types that lack this information.
func StoredOnly(v Version) Version {
	v.StoredOnly = true
	return v
}

// OnlyFaithful marks a version as served in a faithful emulation only.
func OnlyFaithful(v Version) Version {
	v.OnlyFaithful = true
	return v
}

// copying returns a conversion that copies equal fields and then calls rest.
func copying[From, To any, F pointer[From], T pointer[To]](rest func(to *To, from *From)) func(Object) (Object, error) {
	return func(obj Object) (Object, error) {
		from, ok := obj.(F)
		if !ok {
			return nil, fmt.Errorf("%T is not %T", obj, from)
		}
		to := new(To)
		CopyFields(to, (*From)(from))
		if rest != nil {
			rest(to, (*From)(from))
		}
		return T(to), nil
	}
}

// Converting adapts a conversion between two Go types to the signature of Version.ToHub.
func Converting[From, To Object](convert func(From) (To, error)) func(Object) (Object, error) {
	return func(obj Object) (Object, error) {
		from, ok := obj.(From)
		if !ok {
			return nil, fmt.Errorf("%T is not %T", obj, from)
		}
		to, err := convert(from)
		if err != nil {
			return nil, err
		}
		return to, nil
	}
}

// RemovedVersions parses group versions, for Kind.RemovedVersions.
func RemovedVersions(versions ...string) []schema.GroupVersion {
	var out []schema.GroupVersion
	for _, text := range versions {
		group, version, _ := strings.Cut(text, "/")
		out = append(out, schema.GroupVersion{Group: group, Version: version})
	}
	return out
}
