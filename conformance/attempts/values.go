package attempts

import (
	"strings"
)

// Valid returns values that the rules of most fields of this type accept. Those of an enumeration
// are all of its values.
func (f Field) Valid() []any {
	s := f.Schema
	if len(s.Enum) > 0 {
		return s.Enum
	}
	if s.Type == "boolean" {
		return []any{true, false}
	}
	values := []any{f.document.sample(s, f.Name(), 0)}
	if s.Type == "integer" {
		values = append(values, 2)
	}
	return values
}

// Off returns values that a field with rules refuses, though they are of its type.
func (f Field) Off() []any {
	s := f.Schema
	switch {
	case len(s.Enum) > 0:
		return []any{"", "Other"}
	case isQuantity(s):
		return []any{"-1", "0", "0.5m"}
	case isIntOrString(s):
		return []any{-1, 0, 70000, "A b!", "", "200%"}
	case s.Type == "string" && s.Format == "byte":
		return []any{"", "AAECAw=="}
	case s.Type == "string" && s.Format == "date-time":
		return nil
	case s.Type == "string":
		return []any{"", "A b!", "a/b/c", "..", strings.Repeat("x", 300)}
	case s.Type == "integer":
		return []any{-1, 0, 2147483647}
	case s.Type == "array":
		one := f.document.sample(*s.Items, f.Name(), 0)
		return []any{[]any{}, []any{one, one}}
	case s.AdditionalProperties != nil:
		one := f.document.sample(*s.AdditionalProperties, f.Name(), 0)
		return []any{map[string]any{}, map[string]any{"A b!": one}, map[string]any{"": one}}
	case s.Type == "object" && len(s.Properties) > 0:
		return []any{map[string]any{}}
	}
	return nil
}

// Mistyped returns values of other types, which no field of this type can have.
func (f Field) Mistyped() []any {
	switch s := f.Schema; {
	case isIntOrString(s), isQuantity(s):
		return []any{[]any{}, true}
	case s.Type == "string" && s.Format == "":
		return []any{1, []any{}}
	case s.Type == "string" && s.Format == "byte":
		return []any{1, "?"}
	case s.Type == "string":
		return []any{map[string]any{}, "yesterday"}
	case s.Type == "integer":
		return []any{"1", 1.5, 1e30}
	case s.Type == "boolean":
		return []any{"true", 1}
	case s.Type == "array":
		return []any{map[string]any{}, "x"}
	case s.Type == "object" && (s.AdditionalProperties != nil || len(s.Properties) > 0):
		return []any{[]any{}, "x"}
	}
	return nil
}

func isQuantity(s Schema) bool { return strings.HasSuffix(s.name, ".resource.Quantity") }

func isIntOrString(s Schema) bool { return s.Format == "int-or-string" }

// sample returns a value with the required fields.
func (d *Document) sample(s Schema, name string, depth int) any {
	s = d.resolve(s)
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case isQuantity(s):
		return "1"
	case isIntOrString(s):
		return 1
	case strings.HasSuffix(s.name, ".MicroTime"):
		return "2026-01-02T03:04:05.000000Z"
	}
	switch s.Type {
	case "string":
		return sampleText(s.Format, name)
	case "integer":
		return 1
	case "number":
		return 1.5
	case "boolean":
		return true
	case "array":
		if depth > 8 {
			return []any{}
		}
		return []any{d.sample(*s.Items, name, depth+1)}
	case "object":
		object := map[string]any{}
		if s.AdditionalProperties != nil && depth < 8 {
			object[sampleKey(name)] = d.sample(*s.AdditionalProperties, name, depth+1)
		}
		for _, required := range s.Required {
			object[required] = d.sample(s.Properties[required], required, depth+1)
		}
		switch lastSegment(s.name) {
		case "KeyToPath", "DownwardAPIVolumeFile":
			object["path"] = "a"
		case "LocalObjectReference", "ObjectReference", "SecretReference":
			object["name"] = "a"
		}
		return object
	}
	return map[string]any{}
}

// sampleKey returns a key of a map.
func sampleKey(name string) string {
	switch strings.ToLower(name) {
	case "limits", "requests", "capacity", "allocatable", "podfixed", "default", "defaultrequest", "max", "min", "maxlimitrequestratio", "allocatedresources":
		return "cpu"
	case "hard", "used":
		return "pods"
	}
	return "a"
}

// sampleText returns a text by the conventions for names of fields.
func sampleText(format, name string) string {
	switch format {
	case "date-time":
		return "2026-01-02T03:04:05Z"
	case "byte":
		return "YQ=="
	}
	lower := strings.ToLower(name)
	for _, word := range []struct{ part, text string }{
		{"topologykey", "kubernetes.io/hostname"}, {"subpath", "a"}, {"cidr", "10.0.0.0/24"}, {"hostip", "10.0.0.1"}, {"podip", "10.0.0.1"}, {"clusterip", "10.96.0.77"}, {"externalip", "192.0.2.1"}, {"loadbalancerip", "192.0.2.1"}, {"sourceranges", "10.0.0.0/24"},
		{"nameservers", "10.0.0.1"}, {"url", "https://example.com/a"}, {"fieldpath", "metadata.name"}, {"resource", "limits.cpu"}, {"driver", "d.example.com"}, {"provisioner", "d.example.com"},
		{"signername", "example.com/a"}, {"apiversion", "v1"}, {"apigroup", "example.com"}, {"path", "/a"}, {"expression", "true"}, {"timezone", "UTC"}, {"schedule", "0 * * * *"},
		{"protocol", "TCP"}, {"operator", "Exists"}, {"effect", "NoSchedule"}, {"accessmodes", "ReadWriteOnce"}, {"unit", "a"},
	} {
		if strings.Contains(lower, word.part) {
			return word.text
		}
	}
	if lower == "ip" || lower == "ips" || lower == "addresses" || lower == "address" {
		return "10.1.2.3"
	}
	return "a"
}
