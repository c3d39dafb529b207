package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Reductions are what the published definitions lose if the server emulates an older release, by
// the definition's name.
type Reductions map[string]Reduction

// Reduction is what one definition loses.
type Reduction struct {
	Properties []string
	// Values has the values that the enums of other properties lose, by property.
	Values map[string][]string
}

// reduce returns the definition without what the reduction names.
func (d Definition) reduce(r Reduction) (Definition, error) {
	out := Definition{Name: d.Name}
	var err error
	if out.V3, err = r.apply(d.V3); err == nil {
		out.V2, err = r.apply(d.V2)
	}
	if err != nil {
		return out, fmt.Errorf("reducing %s: %w", d.Name, err)
	}
	return out, nil
}

func (r Reduction) apply(schema []byte) ([]byte, error) {
	var content struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(schema, &content); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(schema, &whole); err != nil {
		return nil, err
	}
	maps.DeleteFunc(content.Properties, func(name string, _ json.RawMessage) bool { return slices.Contains(r.Properties, name) })
	for name, values := range r.Values {
		property, ok := content.Properties[name]
		if !ok {
			continue
		}
		reduced, err := withoutValues(property, values)
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", name, err)
		}
		content.Properties[name] = reduced
	}
	properties, err := json.Marshal(content.Properties)
	if err != nil {
		return nil, err
	}
	whole["properties"] = properties
	return json.Marshal(whole)
}

// withoutValues removes values from the enum of a property, and their lines from its description.
func withoutValues(property []byte, values []string) ([]byte, error) {
	var content map[string]any
	if err := json.Unmarshal(property, &content); err != nil {
		return nil, err
	}
	if enum, ok := content["enum"].([]any); ok {
		content["enum"] = slices.DeleteFunc(enum, func(v any) bool {
			s, ok := v.(string)
			return ok && slices.Contains(values, s)
		})
	}
	if description, ok := content["description"].(string); ok {
		lines := slices.DeleteFunc(strings.Split(description, "\n"), func(line string) bool {
			return slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(line, " - `\""+v+"\"`") })
		})
		content["description"] = strings.Join(lines, "\n")
	}
	return json.Marshal(content)
}
