package api

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// DiscoveryVerbs returns the verbs of r in discovery. While the kind is being deleted, they
// don't include create, patch and update, although patch and update are served so that
// finalizers can be removed.
func (r *Resource) DiscoveryVerbs() []string {
	verbs := r.Verbs
	if r.RefusesNew == nil || r.RefusesNew() == nil {
		return verbs
	}
	return slices.DeleteFunc(slices.Clone(verbs), func(v string) bool {
		return v == VerbCreate || v == VerbPatch || v == VerbUpdate
	})
}

// KindOfList returns the kind of lists of r.
func (r *Resource) KindOfList() string {
	if r.ListKind == "" {
		return r.Kind + "List"
	}
	return r.ListKind
}

// Hub returns the group and version of the hub type.
func (r *Resource) Hub() schema.GroupVersion { return r.Versions[0].GroupVersion }

// GroupResource returns the group of the hub version and the name.
func (r *Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Versions[0].Group, Resource: r.Name}
}

// StoredVersion returns the group and version of values that r writes to etcd.
func (r *Resource) StoredVersion() schema.GroupVersion {
	if r.Storage.StorageVersion.Empty() {
		return r.Hub()
	}
	return r.Storage.StorageVersion
}

// Version returns a version of r, served or not, or nil.
func (r *Resource) Version(gv schema.GroupVersion) *Version {
	for i := range r.Versions {
		if r.Versions[i].GroupVersion == gv {
			return &r.Versions[i]
		}
	}
	return nil
}

// Forms returns the forms of a custom kind; nil for others.
func (r *Resource) Forms() []*Resource {
	if r.Custom == nil {
		return nil
	}
	return r.Custom.Forms
}

// form returns the form of r in its version v.
func (r *Resource) form(v *Version) *Resource {
	for _, f := range r.Forms() {
		if f.Hub() == v.GroupVersion {
			return f
		}
	}
	return r
}

// SchemaOf returns the schema of a custom kind in its version v.
func (r *Resource) SchemaOf(v *Version) Schema {
	if s := r.form(v).Custom.Schema; s != nil {
		return s
	}
	return noSchema{}
}

// noSchema allows everything.
type noSchema struct{}

func (noSchema) Coerce(map[string]any) ([]string, error) { return nil, nil }
func (noSchema) Prune(map[string]any)                    {}
func (noSchema) Default(map[string]any, int) error       { return nil }
func (noSchema) DefaultIsIdempotent() bool               { return true }

// contentOf returns the content of a custom object, to which its schema applies.
func contentOf(obj Object) map[string]any { return obj.(*untyped.Object).Object }

// NewOf returns an empty object of the Go type of v.
func (r *Resource) NewOf(v *Version) Object {
	if v.New == nil {
		return r.New()
	}
	return v.New()
}

// Decoded converts a decoded object of version v to the hub version and sets its defaults.
// It may change obj, and the result may share memory with it.
func (r *Resource) Decoded(v *Version, obj Object) (Object, error) {
	if v.Default != nil {
		v.Default(obj)
	}
	hub := obj
	if v.ToHub != nil {
		var err error
		if hub, err = v.ToHub(obj); err != nil {
			return nil, fmt.Errorf("convert from %s: %w", v.GroupVersion, err)
		}
	}
	switch {
	case v.HubDefault != nil:
		v.HubDefault(hub)
	case r.IsCustom():
		return hub, r.DefaultSchema(hub)
	case r.Default != nil:
		r.Default(hub)
	}
	return hub, nil
}

// As converts an object of the hub version to version v. The result may be hub, or share
// memory with it.
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

// Served returns versions that share one Go type.
func Served(gvs ...schema.GroupVersion) []Version {
	versions := make([]Version, len(gvs))
	for i, gv := range gvs {
		versions[i] = Version{GroupVersion: gv}
	}
	return versions
}

// StorageVersionHash returns the hash of the storage version for discovery. It is empty for
// resources that are not stored.
func StorageVersionHash(r *Resource) string {
	if r.Virtual != nil {
		return ""
	}
	// As in kube-apiserver, the hash is computed from the version of stored values.
	gv := r.StoredVersion()
	sum := sha256.Sum256([]byte(gv.Group + "/" + gv.Version + "/" + r.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
