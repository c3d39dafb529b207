package api

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Versions that came before the hub's. They are off unless somebody turns them
// on (Enable), but what older servers wrote in them is always read.

// pointer is what *T is, for a published type T.
type pointer[T any] interface {
	*T
	Object
}

// preview returns the hub version of a kind without a stable one. It is off
// unless somebody turns it on.
func preview[T any, P pointer[T]](gv schema.GroupVersion, gate string) []Version {
	return []Version{{GroupVersion: gv, NotServed: true, Gate: gate, Deprecated: deprecationOf(gv, P(new(T)))}}
}

// older adds versions that are not served by default. Their fields are selected
// by the labels of the first version, unless they have their own. They need the
// feature gate that the first version needs.
func older(versions []Version, more ...Version) []Version {
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

// alike is a version whose type Old has the fields of the hub's type Hub, by
// the same names.
func alike[Hub, Old any, H pointer[Hub], O pointer[Old]](gv schema.GroupVersion) Version {
	return unlike[Hub, Old, H, O](gv, nil, nil)
}

// unlike is a version that has fields of other names or meanings too. After all
// others were copied, toHub and fromHub fill in these. Neither may change what
// it reads, and what they fill in shares its memory.
func unlike[Hub, Old any, H pointer[Hub], O pointer[Old]](gv schema.GroupVersion, toHub func(hub *Hub, old *Old), fromHub func(old *Old, hub *Hub)) Version {
	return Version{
		GroupVersion: gv,
		New:          func() Object { return O(new(Old)) },
		ToHub:        copying[Old, Hub, O, H](toHub),
		FromHub:      copying[Hub, Old, H, O](fromHub),
		Deprecated:   deprecationOf(gv, O(new(Old))),
		StoredOnly:   isRemoved(O(new(Old))),
	}
}

// storedOnly marks a version as removed whose published type does not say so.
func storedOnly(v Version) Version {
	v.StoredOnly = true
	return v
}

// copying makes a conversion out of what it does besides copying fields.
func copying[From, To any, F pointer[From], T pointer[To]](rest func(to *To, from *From)) func(Object) (Object, error) {
	return func(obj Object) (Object, error) {
		from, ok := obj.(F)
		if !ok {
			return nil, fmt.Errorf("%T is not %T", obj, from)
		}
		to := new(To)
		copyFields(to, (*From)(from))
		if rest != nil {
			rest(to, (*From)(from))
		}
		return T(to), nil
	}
}

// gone reads the group versions that a kind was once served in.
func gone(versions ...string) []schema.GroupVersion {
	var out []schema.GroupVersion
	for _, text := range versions {
		group, version, _ := strings.Cut(text, "/")
		out = append(out, schema.GroupVersion{Group: group, Version: version})
	}
	return out
}
