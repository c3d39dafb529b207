// Package pack writes OpenAPI definitions, and the types of structured-merge-diff for them, to the
// archive that package openapi embeds. It is used only by the temporary program of
// openapi/internal/generate and by tests.
package pack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/schemamutation"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Main writes the definitions and their types to an archive, and exits the program on failure. add
// registers the kinds of the types in a scheme.
func Main(archive string, get common.GetOpenAPIDefinitions, add []func(*runtime.Scheme) error) {
	if err := writeDefinitions(archive, get, add); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func writeDefinitions(archive string, get common.GetOpenAPIDefinitions, add []func(*runtime.Scheme) error) error {
	kinds, err := kindsOf(add)
	if err != nil {
		return err
	}
	all, err := definitions(get, kinds)
	if err != nil {
		return err
	}
	content := map[string]*bytes.Buffer{}
	v3 := map[string][]byte{}
	for _, d := range all {
		v3[d.name] = d.v3
		// One file for each Go package, because callers usually need several types of a
		// package.
		pkg := d.name[:strings.LastIndexByte(d.name, '.')]
		if content[pkg] == nil {
			content[pkg] = &bytes.Buffer{}
		}
		fmt.Fprintf(content[pkg], "%s\t%s\t%s\n", d.name, d.v3, d.v2)
	}
	types, err := Topology(v3)
	if err != nil {
		return err
	}
	content["topology"] = bytes.NewBuffer(types)
	return writeArchive(archive, content)
}

// definition is the schema of one type, as JSON without line breaks.
type definition struct {
	name   string
	v3, v2 []byte
}

// kindsOf returns the registered groups, versions and kinds of each type, by the type's name
// in OpenAPI.
func kindsOf(add []func(*runtime.Scheme) error) (map[string][]schema.GroupVersionKind, error) {
	scheme := runtime.NewScheme()
	for _, f := range add {
		if err := f(scheme); err != nil {
			return nil, err
		}
	}
	// Every group version has the common options types. The modules of these groups are not
	// in add.
	for _, group := range []string{"apiextensions.k8s.io", "apiregistration.k8s.io"} {
		for _, version := range []string{"v1", "v1beta1"} {
			metav1.AddToGroupVersion(scheme, schema.GroupVersion{Group: group, Version: version})
		}
	}
	out := map[string][]schema.GroupVersionKind{}
	for gvk := range scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		obj, err := scheme.New(gvk)
		if err != nil {
			return nil, err
		}
		if named, ok := obj.(interface{ OpenAPIModelName() string }); ok {
			out[named.OpenAPIModelName()] = append(out[named.OpenAPIModelName()], gvk)
		}
	}
	for _, gvks := range out {
		slices.SortFunc(gvks, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	}
	return out, nil
}

// definitions builds all definitions in both versions of OpenAPI.
func definitions(get common.GetOpenAPIDefinitions, kinds map[string][]schema.GroupVersionKind) ([]definition, error) {
	var names []string
	for name := range get(func(string) spec.Ref { return spec.Ref{} }) {
		names = append(names, name)
	}
	slices.Sort(names)
	named := func(name string) (string, spec.Extensions) {
		if len(kinds[name]) == 0 {
			return name, nil
		}
		return name, spec.Extensions{"x-kubernetes-group-version-kind": extension(kinds[name])}
	}
	v3, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{
		Info: &spec.Info{}, GetDefinitions: get, GetDefinitionName: named,
	}, names...)
	if err != nil {
		return nil, err
	}
	v2, err := builder.BuildOpenAPIDefinitionsForResources(&common.Config{
		Info: &spec.Info{}, GetDefinitions: get, GetDefinitionName: named,
	}, names...)
	if err != nil {
		return nil, err
	}
	var out []definition
	for _, name := range names {
		old := v2.Definitions[name]
		d := definition{name: name}
		var errs [2]error
		d.v3, errs[0] = encode(v3[name])
		d.v2, errs[1] = encode(withoutDefaults(&old))
		if err := errors.Join(errs[:]...); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, d)
	}
	return out, nil
}

// extension returns the value of x-kubernetes-group-version-kind.
func extension(kinds []schema.GroupVersionKind) []any {
	out := make([]any, len(kinds))
	for i, k := range kinds {
		out[i] = map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}
	}
	return out
}

// withoutDefaults removes defaults, which kube-apiserver omits in version 2 because clients
// would send them as values.
func withoutDefaults(s *spec.Schema) *spec.Schema {
	walker := schemamutation.Walker{
		RefCallback: schemamutation.RefCallbackNoop,
		SchemaCallback: func(s *spec.Schema) *spec.Schema {
			if s.Default == nil {
				return s
			}
			c := *s
			c.Default = nil
			return &c
		},
	}
	return walker.WalkSchema(s)
}

// encode returns JSON with sorted keys, so that equal definitions have equal bytes.
func encode(s *spec.Schema) ([]byte, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(tree); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}
