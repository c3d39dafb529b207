package api

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Rules of the paths by which a definition points into objects.

// simplePath asks for names with dots before them.
func simplePath(at *place, path string) bool {
	if !strings.HasPrefix(path, ".") {
		at.invalid(path, "must be a simple json path starting with .")
		return false
	}
	return true
}

func scaleRules(at *place, s *apiextensionsv1.CustomResourceSubresourceScale) {
	below := func(at *place, path, words string, roots ...string) {
		if simplePath(at, path) && !slices.ContainsFunc(roots, func(r string) bool { return strings.HasPrefix(path, r) }) {
			at.invalid(path, "should be a json path under "+words)
		}
	}
	if required(at.of("specReplicasPath"), s.SpecReplicasPath) {
		below(at.of("specReplicasPath"), s.SpecReplicasPath, ".spec", ".spec.")
	}
	if required(at.of("statusReplicasPath"), s.StatusReplicasPath) {
		below(at.of("statusReplicasPath"), s.StatusReplicasPath, ".status", ".status.")
	}
	if p := s.LabelSelectorPath; p != nil && *p != "" {
		below(at.of("labelSelectorPath"), *p, "either .spec or .status", ".spec.", ".status.")
	}
}

func columnRules(at *place, c *apiextensionsv1.CustomResourceColumnDefinition) {
	types := []string{"boolean", "date", "integer", "number", "string"}
	formats := []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
	required(at.of("name"), c.Name)
	switch {
	case c.Type == "":
		at.of("type").required("must be one of " + strings.Join(types, ","))
	case !slices.Contains(types, c.Type):
		at.of("type").invalid(c.Type, "must be one of "+strings.Join(types, ","))
	}
	if c.Format != "" && !slices.Contains(formats, c.Format) {
		at.of("format").invalid(c.Format, "must be one of "+strings.Join(formats, ","))
	}
	if required(at.of("JSONPath"), c.JSONPath) {
		simplePath(at.of("JSONPath"), c.JSONPath)
	}
}

// maxSelectable bounds the fields that a version can be selected by.
const maxSelectable = 8

// manySelectable returns the versions of a changed definition that keep their
// selectable fields and have more of them than maxSelectable. "" stands for the fields
// that all versions have in common.
func manySelectable(is, was *definition) map[string]bool {
	same := func(is, was []apiextensionsv1.SelectableField) bool {
		return len(was) > maxSelectable && equality.Semantic.DeepEqual(is, was)
	}
	sharedIs, sharedWas := sharedBy(is.Spec.Versions), sharedBy(was.Spec.Versions)
	out := map[string]bool{"": same(sharedIs.selectable, sharedWas.selectable)}
	for _, v := range is.Spec.Versions {
		for _, w := range was.Spec.Versions {
			if v.Name == w.Name && same(v.SelectableFields, w.SelectableFields) {
				out[v.Name] = true
			}
		}
	}
	return out
}

func selectableRules(at *place, fields []apiextensionsv1.SelectableField, schema *apiextensionsv1.JSONSchemaProps, many bool) {
	var seen unique[string]
	count := 0
	for i, f := range fields {
		at := at.item(i).of("jsonPath")
		if !required(at, f.JSONPath) {
			continue
		}
		to, fault := fieldAt(f.JSONPath, schema)
		if fault != "" {
			at.invalid(f.JSONPath, "is an invalid path: "+fault)
			continue
		}
		if f.JSONPath == ".metadata" || strings.HasPrefix(f.JSONPath, ".metadata.") {
			at.invalid(f.JSONPath, "must not point to fields in metadata")
		}
		if to == nil || !among(to.Type, "string", "boolean", "integer") {
			at.invalid(f.JSONPath, "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.")
		}
		if seen.add(at, f.JSONPath) {
			count++
		}
	}
	if count > maxSelectable && !many {
		at.tooMany(count, maxSelectable)
	}
}

// fieldAt returns the schema of the field at a path of names with dots before them,
// or what is wrong with the path.
func fieldAt(path string, s *apiextensionsv1.JSONSchemaProps) (to *apiextensionsv1.JSONSchemaProps, fault string) {
	const unknown = "does not refer to a valid field"
	for rest := path; rest != ""; {
		switch token := pathToken(rest); token {
		case ".":
		case "[":
			return nil, "array notation is not allowed"
		default:
			return nil, "expected [ or . but got: " + token
		}
		name := pathToken(rest[1:])
		rest = rest[1+len(name):]
		switch {
		case name == "":
			return nil, "unexpected end of JSON path"
		case s == nil:
			return nil, unknown
		case len(s.Properties) > 0:
			next, ok := s.Properties[name]
			if !ok {
				return nil, unknown
			}
			s = &next
		case s.AdditionalProperties != nil:
			s = s.AdditionalProperties.Schema
		default:
			return nil, unknown
		}
	}
	return s, ""
}

// pathToken returns the delimiter or the name at the start of a path.
func pathToken(path string) string {
	switch i := strings.IndexAny(path, ".[]"); i {
	case -1:
		return path
	case 0:
		return path[:1]
	default:
		return path[:i]
	}
}
