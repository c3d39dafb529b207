package api

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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
		below(at.of("labelSelectorPath"), *p, "either .status or .spec", ".status.", ".spec.")
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

func selectableRules(at *place, fields []apiextensionsv1.SelectableField, schema *apiextensionsv1.CustomResourceValidation) {
	if len(fields) > maxSelectable {
		at.tooMany(len(fields), maxSelectable)
	}
	var seen unique[string]
	for i, f := range fields {
		path := at.item(i).of("jsonPath")
		if !required(path, f.JSONPath) {
			continue
		}
		if schema != nil && schema.OpenAPIV3Schema != nil && pointsAtValue(path, f.JSONPath, schema.OpenAPIV3Schema) {
			seen.add(path, f.JSONPath)
		}
	}
}

// pointsAtValue asks for a path to a field that has one plain value.
func pointsAtValue(at *place, path string, s *apiextensionsv1.JSONSchemaProps) bool {
	const unknown = "is an invalid path: does not refer to a valid field"
	if !strings.HasPrefix(path, ".") {
		first, _, _ := strings.Cut(path, ".")
		at.invalid(path, "is an invalid path: expected [ or . but got: "+first)
		return false
	}
	for name := range strings.SplitSeq(path[1:], ".") {
		next, ok := s.Properties[name]
		if !ok {
			at.invalid(path, unknown)
			return false
		}
		s = &next
	}
	switch s.Type {
	case "string", "boolean", "integer":
	default:
		at.invalid(path, "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.")
		return false
	}
	if strings.HasPrefix(path, ".metadata.") {
		at.invalid(path, "must not point to fields in metadata")
		return false
	}
	return true
}
