package openapi

import (
	"encoding/json"
	"fmt"
	"strings"
)

// enumHeader begins the list of values in the description of an enum.
const enumHeader = "Possible enum values:"

// WithoutEnums returns a copy whose published definitions do not list the values of enums. Added
// definitions keep theirs. Both share the cache of unpacked packages.
func (d *Definitions) WithoutEnums() *Definitions {
	out := *d
	out.noEnums = true
	return &out
}

// withoutEnums returns the definition without the values of enums.
func (d Definition) withoutEnums() (Definition, error) {
	out := Definition{Name: d.Name}
	var err error
	if out.V3, err = schemaWithoutEnums(d.V3); err == nil {
		out.V2, err = schemaWithoutEnums(d.V2)
	}
	if err != nil {
		return out, fmt.Errorf("enums of %s: %w", d.Name, err)
	}
	return out, nil
}

func schemaWithoutEnums(schema []byte) ([]byte, error) {
	var content jsonObject
	if err := json.Unmarshal(schema, &content); err != nil {
		return nil, err
	}
	removeEnums(content)
	return json.Marshal(content)
}

// removeEnums removes the values of enums from a schema and from the schemas within.
func removeEnums(schema jsonObject) {
	delete(schema, "enum")
	if description, ok := schema["description"].(string); ok {
		if text, _, listed := strings.Cut(description, enumHeader); listed {
			if schema["description"] = strings.TrimSpace(text); schema["description"] == "" {
				delete(schema, "description")
			}
		}
	}
	for _, key := range []string{"items", "additionalProperties", "not"} {
		if within, ok := schema[key].(jsonObject); ok {
			removeEnums(within)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[key].([]any)
		for _, within := range list {
			if within, ok := within.(jsonObject); ok {
				removeEnums(within)
			}
		}
	}
	properties, _ := schema["properties"].(jsonObject)
	for _, property := range properties {
		if property, ok := property.(jsonObject); ok {
			removeEnums(property)
		}
	}
}
