// Package pack writes OpenAPI definitions down as the archive that package
// openapi embeds. It is part of the program that openapi/internal/generate puts
// together, and of no other.
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

// Main writes the definitions to a file and ends the program when that fails.
// The kinds that add puts into a scheme tell which groups, versions and kinds
// a type is.
func Main(file string, get common.GetOpenAPIDefinitions, add []func(*runtime.Scheme) error) {
	if err := write(file, get, add); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(file string, get common.GetOpenAPIDefinitions, add []func(*runtime.Scheme) error) error {
	kinds, err := kindsOf(add)
	if err != nil {
		return err
	}
	all, err := definitions(get, kinds)
	if err != nil {
		return err
	}
	content := map[string]*bytes.Buffer{}
	for _, d := range all {
		// One file for each Go package: what is asked for together lies together.
		pkg := d.name[:strings.LastIndexByte(d.name, '.')]
		if content[pkg] == nil {
			content[pkg] = &bytes.Buffer{}
		}
		fmt.Fprintf(content[pkg], "%s\t%s\t%s\n", d.name, d.v3, d.v2)
	}
	return writeArchive(file, content)
}

// definition is one type, as JSON with no line breaks.
type definition struct {
	name   string
	v3, v2 []byte
}

// kindsOf tells under which groups, versions and kinds each type is known, by
// the type's name in OpenAPI.
func kindsOf(add []func(*runtime.Scheme) error) (map[string][]schema.GroupVersionKind, error) {
	scheme := runtime.NewScheme()
	for _, f := range add {
		if err := f(scheme); err != nil {
			return nil, err
		}
	}
	// The options and answers that every group version knows. The types of these
	// groups are published elsewhere.
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

// definitions builds every definition in both versions of OpenAPI.
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

// extension is the value of x-kubernetes-group-version-kind.
func extension(kinds []schema.GroupVersionKind) []any {
	out := make([]any, len(kinds))
	for i, k := range kinds {
		out[i] = map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}
	}
	return out
}

// withoutDefaults leaves out what kube-apiserver leaves out of version 2, for
// clients that would take a default for a value of their own.
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

// encode gives JSON whose keys are sorted at every level, so that the same
// definitions always make the same bytes.
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
