package lab

import "slices"

// confidentiality is the relation of a field to the confidential ones.
type confidentiality int

const (
	nothingConfidential  confidentiality = iota
	containsConfidential                 // a part of the field is confidential
	isConfidentialField                  // the field is one of api.Kind.Confidential
	withinConfidential                   // the field is a part of one
)

// hides returns the relation of the field with these names to the confidential ones.
func (d *differ) hides(names []string) confidentiality {
	found := nothingConfidential
	for _, path := range d.confidential {
		n := min(len(path), len(names))
		switch {
		case !slices.Equal(path[:n], names[:n]):
		case len(names) > len(path):
			return withinConfidential
		case len(names) == len(path):
			found = isConfidentialField
		default:
			found = max(found, containsConfidential)
		}
	}
	return found
}

// redacted returns a copy of an object in which the confidential values are replaced. It shares all other values with the object.
func redacted(doc map[string]any, confidential []string) map[string]any {
	d := newDiffer(confidential)
	out, _ := d.redact(nil, doc, func([]string, any) any { return notKept }).(map[string]any)
	return out
}

// redact returns a copy of the value of a field, in which replace gave the confidential values.
func (d *differ) redact(names []string, value any, replace func(names []string, value any) any) any {
	hidden := d.hides(names)
	switch v := value.(type) {
	case map[string]any:
		if hidden != containsConfidential && hidden != isConfidentialField {
			break
		}
		out := make(map[string]any, len(v))
		for name, field := range v {
			out[name] = d.redact(append(names[:len(names):len(names)], name), field, replace)
		}
		return out
	case []any:
		if hidden != containsConfidential && hidden != isConfidentialField {
			break
		}
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = d.redact(names, element, replace)
		}
		return out
	}
	if hidden == nothingConfidential {
		return value
	}
	return replace(names, value)
}
