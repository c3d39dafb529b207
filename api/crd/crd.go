// Package crd makes kinds at run time: Compile turns a CustomResourceDefinition
// into the value that package api has one file for each built-in kind of, and
// from there on nothing knows the difference.
//
// Objects are *unstructured.Unstructured, in the version that is stored. What
// the schema of a version does to them is done by package structural; object.go
// has what is generic about them, columns.go and scale.go what a definition may
// add.
package crd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/structural"
	"github.com/miniapiserver/miniapiserver/openapi"
	"github.com/miniapiserver/miniapiserver/request"
)

// Kind is what a definition is compiled to.
type Kind struct {
	Resource *api.Resource
	// Terminating is set when objects are being deleted with their kind: no new
	// ones are made.
	Terminating atomic.Bool
	// Schemas are those of the versions.
	Schemas map[schema.GroupVersion]*structural.Schema
}

// Compile makes the kind that a definition describes. Names are those that were
// accepted.
func Compile(d *apiextensionsv1.CustomResourceDefinition) (*Kind, error) {
	names := d.Status.AcceptedNames
	stored := slices.IndexFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if stored < 0 {
		return nil, fmt.Errorf("%s: no version is stored", d.Name)
	}
	k := &Kind{Schemas: map[schema.GroupVersion]*structural.Schema{}}
	hub := schema.GroupVersion{Group: d.Spec.Group, Version: d.Spec.Versions[stored].Name}
	gvk := hub.WithKind(names.Kind)
	res := &api.Resource{
		Name: names.Plural, Singular: names.Singular, Kind: names.Kind, ListKind: names.ListKind,
		ShortNames: names.ShortNames, Categories: names.Categories,
		Namespaced: d.Spec.Scope == apiextensionsv1.NamespaceScoped,
		Prefix:     d.Spec.Group + "/" + names.Plural,
		StoredJSON: true, Untyped: true,
		Generation: true, RequireResourceVersion: true, MetadataRevalidated: true,
		Verbs: verbsOf(d),
		New: func() api.Object {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(gvk)
			return u
		},
		ObjectWarnings: finalizerWarnings, LooseFinalizers: true,
	}
	res.RefusesNew = func() error {
		if !k.Terminating.Load() {
			return nil
		}
		return errors.New("create not allowed while custom resource definition is terminating")
	}
	var made []*structural.Schema
	for _, v := range d.Spec.Versions {
		s, err := schemaOf(d, &v, made)
		if err != nil {
			return nil, fmt.Errorf("%s: version %s: %w", d.Name, v.Name, err)
		}
		made = append(made, s)
		version := versionOf(d, gvk, &v, s)
		version.OpenAPI = func() ([]openapi.Definition, error) { return definitionsOf(&d.Spec, names, &v) }
		k.Schemas[version.GroupVersion] = s
		if v.Storage {
			version.New, version.ToHub, version.FromHub = nil, nil, nil
			res.Default = func(obj api.Object) { complete(contentOf(obj), s) }
			res.Rows = columnsOf(v.AdditionalPrinterColumns)
			res.Versions = slices.Insert(res.Versions, 0, version)
		} else {
			res.Versions = append(res.Versions, version)
		}
		parts(res, &v)
	}
	if !res.HasStatus {
		res.Changed = anythingChanged
	}
	k.Resource = res
	return k, nil
}

// schemaOf compiles the schema of a version, if it is not one of those that were
// made for others.
func schemaOf(d *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion, made []*structural.Schema) (*structural.Schema, error) {
	keep := true
	props := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep}
	if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
		props = v.Schema.OpenAPIV3Schema
		if d.Spec.PreserveUnknownFields {
			props = props.DeepCopy()
			props.XPreserveUnknownFields = &keep
		}
	}
	if i := slices.IndexFunc(made, func(s *structural.Schema) bool { return s.Same(props) }); i >= 0 {
		return made[i], nil
	}
	return structural.New(props)
}

// parts are what a version adds to a kind. Versions share subresources.
func parts(res *api.Resource, v *apiextensionsv1.CustomResourceDefinitionVersion) {
	for _, f := range v.SelectableFields {
		addField(res, f.JSONPath)
	}
	if v.Subresources == nil {
		return
	}
	if v.Subresources.Status != nil {
		res.HasStatus = true
	}
	if s := v.Subresources.Scale; s != nil && res.Subresource("scale") == nil {
		res.Subresources = append(res.Subresources, scaleOf(res, v.Name, s))
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

// complete drops what the schema does not know, and fills in its defaults.
func complete(content map[string]any, s *structural.Schema) {
	s.Prune(content)
	s.Default(content)
}

func contentOf(obj api.Object) map[string]any { return obj.(*unstructured.Unstructured).Object }

// versionOf makes a version. What converts is for all but the hub: objects are
// taken over as they are, but for what their version does not know.
func versionOf(d *apiextensionsv1.CustomResourceDefinition, hub schema.GroupVersionKind, v *apiextensionsv1.CustomResourceDefinitionVersion, s *structural.Schema) api.Version {
	gv := schema.GroupVersion{Group: hub.Group, Version: v.Name}
	own := gv.WithKind(hub.Kind)
	version := api.Version{
		GroupVersion: gv, NotServed: !v.Served, Deprecated: deprecationOf(d, v),
		New: func() api.Object {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(own)
			return u
		},
		ToHub: func(obj api.Object) (api.Object, error) {
			u := obj.DeepCopyObject().(*unstructured.Unstructured)
			complete(u.Object, s)
			u.SetGroupVersionKind(hub)
			return u, nil
		},
		FromHub: func(obj api.Object) (api.Object, error) {
			u := obj.DeepCopyObject().(*unstructured.Unstructured)
			u.SetGroupVersionKind(own)
			s.Prune(u.Object)
			return u, nil
		},
		Coerce:      func(obj api.Object) ([]string, error) { return s.Coerce(contentOf(obj)) },
		FieldLabels: labelsOf(v), FieldLabelError: "field label not supported: %s",
	}
	version.Check = func(ctx context.Context, obj, old api.Object, status bool) field.ErrorList {
		w := structural.Write{Status: status, Tolerate: func(err error) { request.From(ctx).Warn(err.Error()) }}
		var err error
		if w.Is, err = inVersion(gv, hub, version.FromHub, obj); err == nil && old != nil {
			w.Was, err = inVersion(gv, hub, version.FromHub, old)
		}
		if err != nil {
			return field.ErrorList{field.InternalError(nil, err)}
		}
		if v.Subresources != nil && v.Subresources.Scale != nil {
			w.Also = scaleFaults(v.Subresources.Scale, w.Is, !status)
		}
		return s.Validate(ctx, w)
	}
	return version
}

// inVersion is the content of an object of the hub as a version has it.
func inVersion(gv schema.GroupVersion, hub schema.GroupVersionKind, from func(api.Object) (api.Object, error), obj api.Object) (map[string]any, error) {
	if gv == hub.GroupVersion() {
		return contentOf(obj), nil
	}
	obj, err := from(obj)
	if err != nil {
		return nil, err
	}
	return contentOf(obj), nil
}

// verbsOf are the verbs of a kind, in the order in which kube-apiserver tells
// them. What is being deleted is not written any more.
func verbsOf(d *apiextensionsv1.CustomResourceDefinition) []string {
	verbs := []string{api.VerbDelete, api.VerbDeleteCollection, api.VerbGet, api.VerbList, api.VerbPatch, api.VerbCreate, api.VerbUpdate, api.VerbWatch}
	return verbs
}
