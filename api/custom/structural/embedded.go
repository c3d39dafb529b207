package structural

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// Embedded resources are objects inside objects. Their apiVersion, kind and metadata have
// the types of Kubernetes, whatever the schema declares.

// coercer converts the metadata of embedded resources to ObjectMeta and back.
type coercer struct {
	// lenient, for stored objects: invalid fields are dropped instead of refused.
	lenient bool
	// unknown has the paths of unknown fields of metadata.
	unknown []string
}

// coerce coerces all embedded resources in a value.
func (c *coercer) coerce(path *field.Path, v any, n *node) *field.Error {
	if n == nil || !n.containsEmbedded {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		if n.embedded {
			if err := c.object(path, v); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := path.Child(name)
			if n.fields[name] == nil {
				at = path.Key(name)
			}
			if err := c.coerce(at, v[name], n.field(name)); err != nil {
				return err
			}
		}
	case []any:
		for i := range v {
			if err := c.coerce(path.Index(i), v[i], n.items); err != nil {
				return err
			}
		}
	}
	return nil
}

// object coerces one embedded resource.
func (c *coercer) object(path *field.Path, m map[string]any) *field.Error {
	for _, name := range []string{"apiVersion", "kind"} {
		v, ok := m[name]
		if _, isText := v.(string); !ok || isText {
			continue
		}
		if !c.lenient {
			return field.Invalid(path.Child(name), v, "must be a string")
		}
		delete(m, name)
	}
	old, ok := m["metadata"]
	if !ok {
		return nil
	}
	at := path.Child("metadata")
	meta, unknown, err := untyped.NormalizeMetadata(old, c.lenient)
	switch {
	case err != nil && c.lenient:
		return nil
	case err != nil:
		return field.Invalid(at, old, err.Error())
	}
	for _, name := range unknown {
		c.unknown = append(c.unknown, at.String()+"."+name)
	}
	m["metadata"] = meta
	return nil
}

// checkEmbedded validates apiVersion, kind and metadata of all embedded resources in a
// value.
func checkEmbedded(path *field.Path, v any, n *node) field.ErrorList {
	if n == nil || !n.containsEmbedded {
		return nil
	}
	var errs field.ErrorList
	switch v := v.(type) {
	case map[string]any:
		if n.embedded {
			errs = checkEmbeddedObject(path, v)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := path.Child(name)
			if n.fields[name] == nil {
				at = path.Key(name)
			}
			errs = append(errs, checkEmbedded(at, v[name], n.field(name))...)
		}
	case []any:
		for i := range v {
			errs = append(errs, checkEmbedded(path.Index(i), v[i], n.items)...)
		}
	}
	return errs
}

func checkEmbeddedObject(path *field.Path, m map[string]any) field.ErrorList {
	errs := append(checkTypeField(path, m, "apiVersion", func(text string) string {
		if _, err := schema.ParseGroupVersion(text); err != nil {
			return err.Error()
		}
		return ""
	}), checkTypeField(path, m, "kind", func(text string) string {
		if faults := validation.IsDNS1035Label(strings.ToLower(text)); len(faults) > 0 {
			return "may have mixed case, but should otherwise match: " + strings.Join(faults, ",")
		}
		return ""
	})...)
	old, ok := m["metadata"]
	if !ok {
		return errs
	}
	meta, _, err := untyped.ReadMetadata(old)
	if err != nil {
		return append(errs, field.Invalid(path.Child("metadata"), old, err.Error()))
	}
	if meta.Name == "" {
		meta.Name = "x" // it need not have one
	}
	return append(errs, metavalidation.ValidateObjectMeta(meta, meta.Namespace != "", validatePathSegment, path.Child("metadata"))...)
}

// validatePathSegment validates a name, or a name prefix.
func validatePathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// checkTypeField validates apiVersion or kind.
func checkTypeField(path *field.Path, m map[string]any, name string, fault func(string) string) field.ErrorList {
	v, ok := m[name]
	text, isText := v.(string)
	switch at := path.Child(name); {
	case !ok:
		return field.ErrorList{field.Required(at, "")}
	case !isText:
		return field.ErrorList{field.Invalid(at, v, "must be a string")}
	case text == "":
		return field.ErrorList{field.Invalid(at, text, "must not be empty")}
	case fault(text) != "":
		return field.ErrorList{field.Invalid(at, text, fault(text))}
	}
	return nil
}
