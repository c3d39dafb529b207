package crds

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// documented checks all versions of definitions in the OpenAPI documents: the complete schemas in
// v3, the properties and descriptions in v2.
func documented(t *testing.T, c clients, made []*definition) {
	t.Helper()
	v2 := kindsIn(t, c, "/openapi/v2", "definitions")
	v3 := map[schema.GroupVersion]map[schema.GroupVersionKind]object{}
	for _, d := range made {
		for _, v := range d.Spec.Versions {
			gv := schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}
			if _, known := v3[gv]; !known {
				v3[gv] = kindsIn(t, c, "/openapi/v3/apis/"+gv.String(), "components", "schemas")
			}
			for _, name := range []string{d.Spec.Names.Kind, d.Spec.Names.ListKind} {
				gvk := gv.WithKind(name)
				if in2, in3 := v2[gvk] != nil, v3[gv][gvk] != nil; in2 != v.Served || in3 != v.Served {
					t.Errorf("%v: served is %v; OpenAPI has it in version 2: %v, in version 3: %v", gvk, v.Served, in2, in3)
				}
			}
			if gvk := gv.WithKind(d.Spec.Names.Kind); v.Served {
				want := schemaOf(t, v)
				if at := missing(want, v3[gv][gvk], gvk.String()); at != "" {
					t.Errorf("OpenAPI version 3 has lost %s", at)
				}
				if at := missing(inVersion2(want), v2[gvk], gvk.String()); at != "" {
					t.Errorf("OpenAPI version 2 has lost %s", at)
				}
			}
		}
	}
}

type object = map[string]any

// schemaOf returns the schema of a version without the parts of every object, which the server
// adds.
func schemaOf(t *testing.T, v apiextensionsv1.CustomResourceDefinitionVersion) object {
	t.Helper()
	data, err := json.Marshal(v.Schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	s := object{}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	if properties, ok := s["properties"].(object); ok {
		for _, name := range []string{"apiVersion", "kind", "metadata"} {
			delete(properties, name)
		}
	}
	return s
}

// schemasOf returns the schemas of all served versions.
func schemasOf(t *testing.T, made []*definition) map[schema.GroupVersionKind]object {
	t.Helper()
	schemas := map[schema.GroupVersionKind]object{}
	for _, d := range made {
		for _, v := range d.Spec.Versions {
			if v.Served {
				schemas[schema.GroupVersionKind{Group: d.Spec.Group, Version: v.Name, Kind: d.Spec.Names.Kind}] = schemaOf(t, v)
			}
		}
	}
	return schemas
}

// inVersion2 returns the part of a schema that OpenAPI v2 can express: descriptions, extensions,
// and types and properties, except for nullable values and values with additional fields.
func inVersion2(s object) object {
	out := object{}
	for _, name := range []string{"description", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"} {
		if s[name] != nil {
			out[name] = s[name]
		}
	}
	if values, ok := s["additionalProperties"].(object); ok {
		out["additionalProperties"] = inVersion2(values)
	}
	if s["nullable"] == true || s["x-kubernetes-preserve-unknown-fields"] == true {
		return out
	}
	out["type"] = s["type"]
	if items, ok := s["items"].(object); ok {
		out["items"] = inVersion2(items)
	}
	if properties, ok := s["properties"].(object); ok {
		named := object{}
		for name, p := range properties {
			named[name] = inVersion2(p.(object))
		}
		out["properties"] = named
	}
	return out
}

// kindsIn checks a document and returns the schemas of kinds.
func kindsIn(t *testing.T, c clients, path string, place ...string) map[schema.GroupVersionKind]object {
	t.Helper()
	data, err := c.definitions.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(t.Context())
	if err != nil {
		return nil // the error is reported already
	}
	document := object{}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	sound(t, path, document)
	for _, name := range place {
		document, _ = document[name].(object)
	}
	kinds := map[schema.GroupVersionKind]object{}
	for name, s := range document {
		s, _ := s.(object)
		of, _ := s["x-kubernetes-group-version-kind"].([]any)
		if len(of) != 1 { // schemas of several kinds, such as DeleteOptions, are not custom
			continue
		}
		k := of[0].(object)
		gvk := schema.GroupVersionKind{Group: k["group"].(string), Version: k["version"].(string), Kind: k["kind"].(string)}
		if kinds[gvk] != nil {
			t.Errorf("%s: %s is %v, as another is", path, name, gvk)
		}
		kinds[gvk] = s
	}
	return kinds
}

// identifier matches operation IDs from which client generators can derive function names.
var identifier = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// sound checks that all references in a document resolve and that operation IDs are unique.
func sound(t *testing.T, path string, document object) {
	t.Helper()
	operations := map[string]bool{}
	var in func(v any)
	in = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				in(e)
			}
		case object:
			if ref, ok := v["$ref"].(string); ok && !leads(document, ref) {
				t.Errorf("%s: nothing is at %s", path, ref)
			}
			if id, ok := v["operationId"].(string); ok {
				if operations[id] || !identifier.MatchString(id) {
					t.Errorf("%s: an operation is called %s; so is another: %v", path, id, operations[id])
				}
				operations[id] = true
			}
			for _, e := range v {
				in(e)
			}
		}
	}
	in(document)
}

// leads reports whether a reference within a document resolves.
func leads(document object, ref string) bool {
	at, ok := any(document), strings.HasPrefix(ref, "#/")
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		m, _ := at.(object)
		at = m[name]
	}
	return ok && at != nil
}
