// Package crd makes kinds at run time: Compile turns a CustomResourceDefinition
// into the value that package api has one file for each built-in kind of, and
// from there on nothing knows the difference.
//
// Objects are *untyped.Object and say which version they have. A kind
// is made once for each of its versions (a form, api.Resource.Forms), and
// convert.go leads from one to the other. What the schema of a version does to
// objects is done by package structural; columns.go, fields.go and scale.go have
// what a definition may add.
package crd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/structural"
	"github.com/miniapiserver/miniapiserver/api/untyped"
	"github.com/miniapiserver/miniapiserver/request"
)

// Kind is what a definition is compiled to.
type Kind struct {
	// Resource is the form of the version that is stored, with all others.
	Resource *api.Resource
	// Terminating is set when objects are being deleted with their kind: no new
	// ones are made.
	Terminating atomic.Bool
	// Schemas are those of the versions.
	Schemas map[schema.GroupVersion]*structural.Schema
}

// Definition is a CustomResourceDefinition.
type Definition = apiextensionsv1.CustomResourceDefinition

// Options are what kinds have of the server around.
type Options struct {
	// Remotes makes what converts objects by the webhook of a definition.
	Remotes func(*Definition) Remote
	// Compared, when set, is told of each update how long it took to compare the
	// object with what was in its place, to let be what is as it was.
	Compared func(time.Duration)
}

// Compile makes the kind that a definition describes. Names are those that were
// accepted.
//
// Nothing of the definition's schemas is kept or looked at, but which are alike:
// whole reads the definition with them when they are needed, so that d may be an
// Outline, and a kind that nobody uses costs little.
func Compile(d *Definition, whole func() (*Definition, error), o Options) (*Kind, error) {
	k := &Kind{Schemas: map[schema.GroupVersion]*structural.Schema{}}
	schemas := schemasOf(d, whole)
	d = withoutSchemas(d)
	forms := make([]*api.Resource, 0, len(d.Spec.Versions))
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		gv := schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}
		k.Schemas[gv] = schemas[i]
		form := k.form(d, gv, v, schemas[i], o.Compared)
		form.Versions[0].OpenAPI = publishing(d, v, whole)
		forms = append(forms, form)
		if v.Storage {
			k.Resource = form
		}
	}
	if k.Resource == nil {
		return nil, fmt.Errorf("%s: no version is stored", d.Name)
	}
	for _, form := range forms {
		form.Unusable = k.unusable(d.Name, form)
	}
	c := &conversion{group: d.Spec.Group, kind: k, remote: remoteOf(d, o.Remotes)}
	c.connect(k.Resource, forms)
	return k, nil
}

// withoutSchemas is as much of a definition as its kind keeps.
func withoutSchemas(d *Definition) *Definition {
	out := *d
	out.ManagedFields, out.Annotations = nil, nil
	out.Spec.Versions = slices.Clone(d.Spec.Versions)
	for i := range out.Spec.Versions {
		out.Spec.Versions[i].Schema = nil
	}
	return &out
}

// form is the resource as one of its versions has it.
func (k *Kind) form(d *apiextensionsv1.CustomResourceDefinition, gv schema.GroupVersion, v *apiextensionsv1.CustomResourceDefinitionVersion, s *structural.Schema, compared func(time.Duration)) *api.Resource {
	names := d.Status.AcceptedNames
	gvk := gv.WithKind(names.Kind)
	res := &api.Resource{
		Name: names.Plural, Singular: names.Singular, Kind: names.Kind, ListKind: names.ListKind,
		ShortNames: names.ShortNames, Categories: names.Categories,
		Namespaced: d.Spec.Scope == apiextensionsv1.NamespaceScoped,
		Prefix:     d.Spec.Group + "/" + names.Plural,
		StoredJSON: true, Untyped: true,
		Generation: true, RequireResourceVersion: true, MetadataRevalidated: true,
		Verbs:          verbsInOrder(),
		Versions:       []api.Version{versionOf(d, gvk, v, s, compared)},
		New:            func() api.Object { return untyped.New(gvk) },
		Prune:          func(obj api.Object) { s.Prune(contentOf(obj)) },
		Default:        func(obj api.Object) { s.Default(contentOf(obj)) },
		Settled:        s.Settled,
		Rows:           columnsOf(v.AdditionalPrinterColumns),
		Fields:         fieldsOf(d),
		ObjectWarnings: finalizerWarnings, LooseFinalizers: true,
		RefusesNew: func() error {
			if !k.Terminating.Load() {
				return nil
			}
			return errors.New("create not allowed while custom resource definition is terminating")
		},
	}
	if sub := v.Subresources; sub != nil {
		if res.HasStatus = sub.Status != nil; res.HasStatus {
			res.PrepareStatusUpdate = keepMetadata
			res.ResetFields = map[string][]string{"status": {"metadata", "spec"}}
		}
		if sub.Scale != nil {
			res.Subresources = append(res.Subresources, scaleOf(res, d, sub.Scale))
		}
	}
	if !res.HasStatus {
		res.Changed = anythingChanged
	}
	return res
}

// schemasOf makes the schemas of the versions. Those that have the same share it.
func schemasOf(d *Definition, whole func() (*Definition, error)) []*structural.Schema {
	versions := d.Spec.Versions
	out := make([]*structural.Schema, len(versions))
	for i := range versions {
		alike := slices.IndexFunc(versions[:i], func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return equality.Semantic.DeepEqual(v.Schema, versions[i].Schema)
		})
		if alike >= 0 {
			out[i] = out[alike]
			continue
		}
		name := versions[i].Name
		out[i] = structural.Later(func() (*props, error) {
			d, err := whole()
			if err != nil {
				return nil, err
			}
			return schemaOf(d, name)
		})
		if d.Spec.PreserveUnknownFields {
			out[i] = out[i].Keeping()
		}
	}
	return out
}

// schemaOf returns the schema by which objects of a version are judged. Only a
// definition from before schemas were required may lack one, which then lets
// everything pass, or have one that is not structural.
func schemaOf(d *Definition, name string) (*props, error) {
	switch p := written(d, name); {
	case d.Spec.PreserveUnknownFields && p == nil:
		return anything(), nil
	case d.Spec.PreserveUnknownFields:
		return p, nil
	case p == nil:
		return nil, errors.New("schemas are required")
	default:
		return p, structural.Unsupported(p)
	}
}

// anything is a schema that every object fits.
func anything() *props {
	keep := true
	return &props{Type: "object", XPreserveUnknownFields: &keep}
}

// written is the schema of a version as the definition has it; nil for none.
func written(d *Definition, name string) *props {
	if d == nil {
		return nil
	}
	for i := range d.Spec.Versions {
		if v := &d.Spec.Versions[i]; v.Name == name && v.Schema != nil {
			return v.Schema.OpenAPIV3Schema
		}
	}
	return nil
}

// unusable returns what refuses writes of a form while its schema, or that of the
// version that is stored, has a fault. Metadata can be written all the same, so that
// finalizers can be removed.
func (k *Kind) unusable(definition string, form *api.Resource) func(obj, old api.Object) error {
	return func(obj, old api.Object) error {
		for _, gv := range []schema.GroupVersion{form.Hub(), k.Resource.Hub()} {
			fault := k.Schemas[gv].Fault()
			if fault != nil && (old == nil || anythingChanged(obj, old)) {
				return fmt.Errorf("error resolving resource: the schema of version %s of %s cannot be used: %w", gv.Version, definition, fault)
			}
		}
		return nil
	}
}

// anythingChanged compares all but metadata, for kinds whose status is a field
// like any other.
func anythingChanged(obj, old api.Object) bool {
	is, was := contentOf(obj), contentOf(old)
	for _, m := range []map[string]any{is, was} {
		for name := range m {
			if name != "metadata" && name != "apiVersion" && name != "kind" && !equality.Semantic.DeepEqual(is[name], was[name]) {
				return true
			}
		}
	}
	return false
}

// keepMetadata keeps all metadata but managedFields: the status subresource of custom
// resources writes nothing else than the status.
func keepMetadata(obj, old api.Object) {
	contentOf(obj)["metadata"] = runtime.DeepCopyJSONValue(contentOf(old)["metadata"])
}

// contentOf is what schemas and paths look at: all but managedFields.
func contentOf(obj api.Object) map[string]any { return obj.(*untyped.Object).Object }

// versionOf makes a version, all but what leads to the others.
func versionOf(d *apiextensionsv1.CustomResourceDefinition, own schema.GroupVersionKind, v *apiextensionsv1.CustomResourceDefinitionVersion, s *structural.Schema, compared func(time.Duration)) api.Version {
	return api.Version{
		GroupVersion: own.GroupVersion(), NotServed: !v.Served, Deprecated: deprecationOf(d, v),
		KeepsUnknown: d.Spec.PreserveUnknownFields,
		Coerce:       func(obj api.Object) ([]string, error) { return s.Coerce(contentOf(obj)) },
		Check: func(ctx context.Context, asked api.Write) field.ErrorList {
			w := structural.Write{
				Is: contentOf(asked.Object), Status: asked.Status, Found: asked.Found, Compared: compared,
				Tolerate: func(err error) { request.From(ctx).Warn(err.Error()) },
			}
			if asked.Old != nil {
				w.Was = contentOf(asked.Old)
				w.MetadataOnly = func() bool { return !anythingChanged(asked.Object, asked.Old) }
			}
			if v.Subresources != nil && v.Subresources.Scale != nil {
				w.Also = scaleFaults(v.Subresources.Scale, w.Is, !asked.Status)
			}
			return s.Validate(ctx, w)
		},
		FieldLabels: labelsOf(v), FieldLabelError: "field label not supported: %s",
	}
}

// verbsInOrder are the verbs of custom kinds, in the order in which
// kube-apiserver tells them.
func verbsInOrder() []string {
	return []string{api.VerbDelete, api.VerbDeleteCollection, api.VerbGet, api.VerbList, api.VerbPatch, api.VerbCreate, api.VerbUpdate, api.VerbWatch}
}
