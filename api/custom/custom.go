// Package custom makes kinds at run time: Compile turns a CustomResourceDefinition
// into an api.Resource, which the rest of the server uses like that of a built-in kind.
//
// Objects are *untyped.Object and contain their version. A kind has a form for each of
// its versions (api.Custom.Forms), and convert.go converts objects between them.
// Package structural prunes, defaults and validates objects by the schema of a version;
// columns.go, fields.go and scale.go compile the other parts of a definition.
package custom

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// Kind is the compiled form of a definition.
type Kind struct {
	// Resource is the form of the storage version; api.Custom.Forms has all forms.
	Resource *api.Resource
	// Terminating is set while the objects are deleted together with the definition:
	// creates are refused then.
	Terminating atomic.Bool
	// Schemas has the schema of each version.
	Schemas map[schema.GroupVersion]*structural.Schema
}

// Definition is the published type of CustomResourceDefinitions.
type Definition = apiextensionsv1.CustomResourceDefinition

// Options connect kinds to the rest of the server.
type Options struct {
	// NewConverter returns the Converter that calls the conversion webhook of a definition.
	NewConverter func(*Definition) Converter
	// ObserveComparison, when set, is called for each update with the time that ratcheting
	// took to compare the new object with the old one.
	ObserveComparison func(time.Duration)
	// MaxObjectBytes is api.Resource.MaxObjectBytes of the kind.
	MaxObjectBytes int
	// Release decides how schemas are treated.
	Release structural.Release
	// StoreCBOR stores objects in CBOR instead of JSON.
	StoreCBOR bool
	// Established is api.Custom.Established of the kind.
	Established <-chan struct{}
}

// Compile makes the kind that a definition describes, with the accepted names.
//
// Compile only compares the schemas of d with each other, and keeps none of them. So d
// may be an Outline, and an unused kind costs little memory. readDefinition reads the
// definition with its schemas when an object first needs them.
func Compile(d *Definition, readDefinition func() (*Definition, error), o Options) (*Kind, error) {
	k := &Kind{Schemas: map[schema.GroupVersion]*structural.Schema{}}
	schemas := versionSchemas(d, readDefinition, o.Release)
	d = withoutSchemas(d)
	forms := make([]*api.Resource, 0, len(d.Spec.Versions))
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		gv := schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}
		k.Schemas[gv] = schemas[i]
		form := k.buildForm(d, gv, v, schemas[i], o.ObserveComparison)
		if o.StoreCBOR {
			form.Storage.Encoding = api.CBOR
		}
		form.Custom.Established, form.MaxObjectBytes = o.Established, o.MaxObjectBytes
		form.Versions[0].OpenAPI = openAPIDefinitions(d, v, readDefinition)
		forms = append(forms, form)
		if v.Storage {
			k.Resource = form
		}
	}
	if k.Resource == nil {
		return nil, fmt.Errorf("%s: no version is stored", d.Name)
	}
	for _, form := range forms {
		form.Custom.Unusable = k.refuseUnusable(d.Name, form)
	}
	c := &conversion{group: d.Spec.Group, kind: k, webhook: webhookConverter(d, o.NewConverter)}
	c.connectForms(k.Resource, forms)
	return k, nil
}

// withoutSchemas returns the part of a definition that its kind keeps in memory.
func withoutSchemas(d *Definition) *Definition {
	out := *d
	out.ManagedFields, out.Annotations = nil, nil
	out.Spec.Versions = slices.Clone(d.Spec.Versions)
	for i := range out.Spec.Versions {
		out.Spec.Versions[i].Schema = nil
	}
	return &out
}

// buildForm returns the resource whose objects have the given version.
func (k *Kind) buildForm(
	d *Definition, gv schema.GroupVersion, v *apiextensionsv1.CustomResourceDefinitionVersion,
	s *structural.Schema, compared func(time.Duration),
) *api.Resource {
	check := checkOf(v, s, compared)
	names := d.Status.AcceptedNames
	names.Plural = d.Spec.Names.Plural // which is part of the definition's name, whatever a client writes to the status
	gvk := gv.WithKind(names.Kind)
	res := &api.Resource{
		AnyKind: api.AnyKind{
			Names: api.Names{
				Name: names.Plural, Singular: names.Singular, Kind: names.Kind,
				ListKind:   names.ListKind,
				ShortNames: names.ShortNames,
				Categories: names.Categories,
				Namespaced: d.Spec.Scope == apiextensionsv1.NamespaceScoped,
				Verbs:      customVerbs(),
			},
			Versions:               []api.Version{buildVersion(d, gvk, v)},
			Storage:                api.Storage{Prefix: d.Spec.Group + "/" + names.Plural, Encoding: api.JSON},
			RequireResourceVersion: true,
			Checks:                 api.Checks(api.ObjectMeta, check, api.WarnOfChange(finalizerWarnings)),
			Generation:             api.BodyChanged[api.Object],
			Selectable:             selectableFields(d),
			Table:                  printerColumns(v.AdditionalPrinterColumns),
		},
		New:    func() api.Object { return untyped.New(gvk) },
		Custom: &api.Custom{Schema: s},
		RefusesNew: func() error {
			if !k.Terminating.Load() {
				return nil
			}
			return errors.New("create not allowed while custom resource definition is terminating")
		},
		Fence: string(d.UID),
	}
	if sub := v.Subresources; sub != nil {
		if sub.Status != nil {
			res.Status = api.NewStatus(keepMetadata, api.ObjectMeta, check)
			res.Reset = map[string][]string{"status": {"metadata", "spec"}}
		}
		if sub.Scale != nil {
			res.Subresources = append(res.Subresources, scaleSubresource(res, d, sub.Scale))
		}
	}
	if res.Status == nil {
		res.Generation = changesBeyondMetadata
	}
	return res
}

// versionSchemas returns the schemas of the versions. Versions with equal schemas share one.
func versionSchemas(d *Definition, readDefinition func() (*Definition, error), r structural.Release) []*structural.Schema {
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
		out[i] = structural.New(func() (*props, error) {
			d, err := readDefinition()
			if err != nil {
				return nil, err
			}
			return effectiveSchema(d, name)
		}, r)
		if d.Spec.PreserveUnknownFields {
			out[i] = out[i].PreservingUnknownFields()
		}
	}
	return out
}

// effectiveSchema returns the schema that applies to the objects of a version. Only a
// definition from before schemas were required may have no schema, which permits
// everything, or one that is not structural.
func effectiveSchema(d *Definition, name string) (*props, error) {
	switch p := declaredSchema(d, name); {
	case d.Spec.PreserveUnknownFields && p == nil:
		return permissiveSchema(), nil
	case d.Spec.PreserveUnknownFields:
		return p, nil
	case p == nil:
		return nil, errors.New("schemas are required")
	default:
		return p, structural.Unsupported(p)
	}
}

// permissiveSchema returns a schema that permits every object.
func permissiveSchema() *props {
	keep := true
	return &props{Type: "object", XPreserveUnknownFields: &keep}
}

// declaredSchema returns the schema that the definition has for a version; nil for none.
func declaredSchema(d *Definition, name string) *props {
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

// refuseUnusable returns a function that refuses writes while the schema of the form, or
// of the storage version, cannot be used. It permits changes of metadata, so that
// finalizers can be removed.
func (k *Kind) refuseUnusable(definition string, form *api.Resource) func(obj, old api.Object) error {
	return func(obj, old api.Object) error {
		for _, gv := range []schema.GroupVersion{form.Hub(), k.Resource.Hub()} {
			fault := k.Schemas[gv].Err()
			if fault != nil && (old == nil || changesBeyondMetadata(obj, old)) {
				return fmt.Errorf("error resolving resource: the schema of version %s of %s cannot be used: %w", gv.Version, definition, fault)
			}
		}
		return nil
	}
}

// changesBeyondMetadata reports whether objects differ in a field other than metadata.
// Without a status subresource such a change, also of status, changes the generation.
func changesBeyondMetadata(obj, old api.Object) bool {
	content, oldContent := contentOf(obj), contentOf(old)
	for _, m := range []map[string]any{content, oldContent} {
		for name := range m {
			if name != "metadata" && name != "apiVersion" && name != "kind" && !equality.Semantic.DeepEqual(content[name], oldContent[name]) {
				return true
			}
		}
	}
	return false
}

// keepMetadata restores all metadata but managedFields: the status subresource of custom
// resources writes nothing but status.
func keepMetadata(obj, old api.Object) {
	contentOf(obj)["metadata"] = runtime.DeepCopyJSONValue(contentOf(old)["metadata"])
}

// contentOf returns the content to which schemas and paths apply: all but managedFields.
func contentOf(obj api.Object) map[string]any { return obj.(*untyped.Object).Object }

// checkOf returns the check of objects by the schema of a version. Errors that an update did not introduce are
// tolerated, and become warnings.
func checkOf(
	v *apiextensionsv1.CustomResourceDefinitionVersion, s *structural.Schema, compared func(time.Duration),
) api.Check[api.Object] {
	return func(w *api.Write[api.Object]) {
		write := structural.Write{
			Object: contentOf(w.Object), StatusOnly: w.Status, MetadataErrors: w.Errors, ObserveComparison: compared,
			Tolerate: func(err error) { w.WarnNow(err.Error()) },
		}
		if !w.IsNew() {
			write.Old = contentOf(w.Old)
			write.MetadataOnly = func() bool { return !changesBeyondMetadata(w.Object, w.Old) }
		}
		if v.Subresources != nil && v.Subresources.Scale != nil {
			write.ScaleErrors = validateScaleFields(v.Subresources.Scale, write.Object, !w.Status)
		}
		w.Add(s.Validate(w.Context, write)...)
	}
}

// buildVersion returns a version without its conversions, which connectForms adds.
func buildVersion(
	d *apiextensionsv1.CustomResourceDefinition, own schema.GroupVersionKind, v *apiextensionsv1.CustomResourceDefinitionVersion,
) api.Version {
	return api.Version{
		GroupVersion: own.GroupVersion(), NotServed: !v.Served, Deprecated: versionDeprecation(d, v),
		KeepsUnknown: d.Spec.PreserveUnknownFields,
		FieldLabels:  fieldLabels(v, d.Spec.Scope), FieldLabelError: "field label not supported: %s",
	}
}

// customVerbs returns the verbs of custom kinds, in the order of kube-apiserver's
// discovery documents.
func customVerbs() []string {
	return []string{api.VerbDelete, api.VerbDeleteCollection, api.VerbGet, api.VerbList, api.VerbPatch, api.VerbCreate,
		api.VerbUpdate, api.VerbWatch}
}
