package api

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Answers is the verbs that r answers.
func (r *Resource) Answers() []string {
	if r.Verbs == nil {
		return AllVerbs
	}
	return r.Verbs
}

// Offered is the verbs that discovery tells of. While no new objects are made,
// because the kind is going away, it tells of none that would change one, though
// they are answered: a finalizer must be taken off.
func (r *Resource) Offered() []string {
	verbs := r.Answers()
	if r.RefusesNew == nil || r.RefusesNew() == nil {
		return verbs
	}
	return slices.DeleteFunc(slices.Clone(verbs), func(v string) bool {
		return v == VerbCreate || v == VerbPatch || v == VerbUpdate
	})
}

// KindOfList is the kind of lists of r.
func (r *Resource) KindOfList() string {
	if r.ListKind == "" {
		return r.Kind + "List"
	}
	return r.ListKind
}

// Hub is the group and version of the hub type.
func (r *Resource) Hub() schema.GroupVersion { return r.Versions[0].GroupVersion }

// StoredVersion is the group and version that is written into values in etcd.
func (r *Resource) StoredVersion() schema.GroupVersion {
	if r.Stored.Empty() {
		return r.Hub()
	}
	return r.Stored
}

// Version finds a version of r, served or not; nil when there is none.
func (r *Resource) Version(gv schema.GroupVersion) *Version {
	for i := range r.Versions {
		if r.Versions[i].GroupVersion == gv {
			return &r.Versions[i]
		}
	}
	return nil
}

// form is r as version v, which is one of its own, has it.
func (r *Resource) form(v *Version) *Resource {
	for _, f := range r.Forms {
		if f.Hub() == v.GroupVersion {
			return f
		}
	}
	return r
}

// NewOf makes an empty object of the Go type of v.
func (r *Resource) NewOf(v *Version) Object {
	if v.New == nil {
		return r.New()
	}
	return v.New()
}

// toHub makes the hub's form of an object of version v. The two may share
// memory, and may be the same.
func (v *Version) toHub(obj Object) (Object, error) {
	if v.ToHub == nil {
		return obj, nil
	}
	hub, err := v.ToHub(obj)
	if err != nil {
		return nil, fmt.Errorf("convert from %s: %w", v.GroupVersion, err)
	}
	return hub, nil
}

// Decoded turns an object of version v that was just decoded, and that nobody
// else holds, into the hub's form with its defaults.
func (r *Resource) Decoded(v *Version, obj Object) (Object, error) {
	hub, err := v.toHub(obj)
	if err != nil {
		return nil, err
	}
	if r.Default != nil {
		r.Default(hub)
	}
	return hub, nil
}

// As makes the form that an object of the hub type has in version v. The two
// may share memory, and may be the same.
func (r *Resource) As(v *Version, hub Object) (Object, error) {
	if v.FromHub == nil {
		return hub, nil
	}
	obj, err := v.FromHub(hub)
	if err != nil {
		return nil, fmt.Errorf("convert to %s: %w", v.GroupVersion, err)
	}
	return obj, nil
}

// served makes the Versions of a resource that has one Go type for all.
func served(gvs ...schema.GroupVersion) []Version {
	versions := make([]Version, len(gvs))
	for i, gv := range gvs {
		versions[i] = Version{GroupVersion: gv}
	}
	return versions
}
