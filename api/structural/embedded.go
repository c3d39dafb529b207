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

	"github.com/miniapiserver/miniapiserver/api/untyped"
)

// Embedded resources are objects inside of objects. What every object has is of
// their type, whatever the schema says: kind, apiVersion and metadata.

// coercer makes the metadata of embedded resources what its type can hold.
type coercer struct {
	// lenient drops what does not fit, and is for objects that are stored. Others
	// are refused.
	lenient bool
	// unknown are the paths of fields that metadata has not.
	unknown []string
}

// coerce coerces all that is embedded in a value.
func (c *coercer) coerce(path *field.Path, v any, n *node) *field.Error {
	if n == nil || !n.embeds {
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
	was, ok := m["metadata"]
	if !ok {
		return nil
	}
	at := path.Child("metadata")
	meta, unknown, err := untyped.Metadata(was, c.lenient)
	switch {
	case err != nil && c.lenient:
		return nil
	case err != nil:
		return field.Invalid(at, was, err.Error())
	}
	for _, name := range unknown {
		c.unknown = append(c.unknown, at.String()+"."+name)
	}
	m["metadata"] = meta
	return nil
}

// checkEmbedded tells what is wrong with what every object has, in all that is
// embedded in a value.
func checkEmbedded(path *field.Path, v any, n *node) field.ErrorList {
	if n == nil || !n.embeds {
		return nil
	}
	var errs field.ErrorList
	switch v := v.(type) {
	case map[string]any:
		if n.embedded {
			errs = checkObject(path, v)
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

func checkObject(path *field.Path, m map[string]any) field.ErrorList {
	errs := append(checkType(path, m, "apiVersion", func(text string) string {
		if _, err := schema.ParseGroupVersion(text); err != nil {
			return err.Error()
		}
		return ""
	}), checkType(path, m, "kind", func(text string) string {
		if faults := validation.IsDNS1035Label(strings.ToLower(text)); len(faults) > 0 {
			return "may have mixed case, but should otherwise match: " + strings.Join(faults, ",")
		}
		return ""
	})...)
	was, ok := m["metadata"]
	if !ok {
		return errs
	}
	meta, _, err := untyped.ReadMetadata(was)
	if err != nil {
		return append(errs, field.Invalid(path.Child("metadata"), was, err.Error()))
	}
	if meta.Name == "" {
		meta.Name = "x" // it need not have one
	}
	return append(errs, metavalidation.ValidateObjectMeta(meta, meta.Namespace != "", segment, path.Child("metadata"))...)
}

// segment checks a name, or one that more will follow.
func segment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// checkType checks one of the two fields that say what an object is.
func checkType(path *field.Path, m map[string]any, name string, fault func(string) string) field.ErrorList {
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
