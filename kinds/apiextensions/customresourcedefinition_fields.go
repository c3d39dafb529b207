package apiextensions

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Validation of the JSON paths in a definition.

// requireSimplePath requires a path of field names with leading dots.
func requireSimplePath(at *validation.Path, path string) bool {
	if !strings.HasPrefix(path, ".") {
		at.Invalid(path, "must be a simple json path starting with .")
		return false
	}
	return true
}

func scaleRules(at *validation.Path, s *apiextensionsv1.CustomResourceSubresourceScale) {
	below := func(at *validation.Path, path, words string, roots ...string) {
		if requireSimplePath(at, path) && !slices.ContainsFunc(roots, func(r string) bool { return strings.HasPrefix(path, r) }) {
			at.Invalid(path, "should be a json path under "+words)
		}
	}
	if validation.Required(at.Child("specReplicasPath"), s.SpecReplicasPath) {
		below(at.Child("specReplicasPath"), s.SpecReplicasPath, ".spec", ".spec.")
	}
	if validation.Required(at.Child("statusReplicasPath"), s.StatusReplicasPath) {
		below(at.Child("statusReplicasPath"), s.StatusReplicasPath, ".status", ".status.")
	}
	if p := s.LabelSelectorPath; p != nil && *p != "" {
		below(at.Child("labelSelectorPath"), *p, "either .spec or .status", ".spec.", ".status.")
	}
}

func columnRules(at *validation.Path, c *apiextensionsv1.CustomResourceColumnDefinition) {
	types := []string{"boolean", "date", "integer", "number", "string"}
	formats := []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
	validation.Required(at.Child("name"), c.Name)
	switch {
	case c.Type == "":
		at.Child("type").Required("must be one of " + strings.Join(types, ","))
	case !slices.Contains(types, c.Type):
		at.Child("type").Invalid(c.Type, "must be one of "+strings.Join(types, ","))
	}
	if c.Format != "" && !slices.Contains(formats, c.Format) {
		at.Child("format").Invalid(c.Format, "must be one of "+strings.Join(formats, ","))
	}
	if validation.Required(at.Child("JSONPath"), c.JSONPath) {
		requireSimplePath(at.Child("JSONPath"), c.JSONPath)
	}
}

// maxSelectable is the maximum number of selectable fields of a version.
const maxSelectable = 8

// manySelectable returns the versions that may exceed maxSelectable, since their selectable
// fields exceeded it before and are unchanged. "" stands for the fields that all versions
// share, which are no fields of a version.
func manySelectable(list, old *definition) map[string]bool {
	same := func(list, old []apiextensionsv1.SelectableField) bool {
		return len(old) > maxSelectable && equality.Semantic.DeepEqual(list, old)
	}
	shared, oldShared := sharedFields(list.Spec.Versions), sharedFields(old.Spec.Versions)
	out := map[string]bool{"": same(shared.selectable, oldShared.selectable)}
	for i := range list.Spec.Versions {
		v := &list.Spec.Versions[i]
		for j := range old.Spec.Versions {
			w := &old.Spec.Versions[j]
			if v.Name == w.Name && same(fieldsOfVersion(v).without(shared).selectable, fieldsOfVersion(w).without(oldShared).selectable) {
				out[v.Name] = true
			}
		}
	}
	return out
}

func selectableRules(at *validation.Path, fields []apiextensionsv1.SelectableField, schema *apiextensionsv1.JSONSchemaProps, many bool) {
	var seen validation.Unique[string]
	count := 0
	for i, f := range fields {
		at := at.Index(i).Child("jsonPath")
		if !validation.Required(at, f.JSONPath) {
			continue
		}
		to, fault := fieldAt(f.JSONPath, schema)
		if fault != "" {
			at.Invalid(f.JSONPath, "is an invalid path: "+fault)
			continue
		}
		if f.JSONPath == ".metadata" || strings.HasPrefix(f.JSONPath, ".metadata.") {
			at.Invalid(f.JSONPath, "must not point to fields in metadata")
		}
		if to == nil || !validation.IsOneOf(to.Type, "string", "boolean", "integer") {
			at.Invalid(f.JSONPath, "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.")
		}
		if seen.Add(at, f.JSONPath) {
			count++
		}
	}
	if count > maxSelectable && !many {
		at.TooMany(count, maxSelectable)
	}
}

// fieldAt returns the schema of the field at a simple path, or the fault of the path.
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
