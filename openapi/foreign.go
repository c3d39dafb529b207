package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Cut takes of a document of version 2 of another server the paths that begin
// with prefix, and what they refer to. What it returns can be a part of V2 in each
// of its forms.
func Cut(document []byte, prefix string) ([]byte, error) {
	var whole spec.Swagger
	if err := json.Unmarshal(document, &whole); err != nil {
		return nil, err
	}
	if whole.Paths == nil {
		whole.Paths = &spec.Paths{}
	}
	out, err := json.Marshal(aggregator.FilterSpecByPathsWithoutSideEffects(&whole, []string{prefix}))
	if err != nil {
		return nil, err
	}
	_, err = ProtobufV2(out)
	return out, err
}

// merged is what others add to a document, and what they change in it.
type merged struct {
	paths       map[string]spec.PathItem
	parameters  map[string]spec.Parameter
	definitions []Definition // with V2 only
}

// merge adds documents of other servers to one with certain paths, parameters and
// definitions: a path stays whose it was, and of two things of one name that are
// not the same the later is given another name. The definitions come back, with
// those that were added. A document that does not fit in is left out.
func merge(others [][]byte, paths map[string]bool, parameters sharedParameters, definitions []Definition) (merged, error) {
	for {
		whole, err := mergeable(others, paths, parameters, definitions)
		if err != nil {
			return merged{}, err
		}
		i := slices.IndexFunc(others, func(other []byte) bool { return add(whole, other) != nil })
		if i < 0 {
			return difference(whole, paths, parameters, definitions)
		}
		others = slices.Delete(slices.Clone(others), i, i+1)
	}
}

func add(whole *spec.Swagger, other []byte) error {
	var s spec.Swagger
	if err := json.Unmarshal(other, &s); err != nil {
		return err
	}
	for name, schema := range s.Definitions {
		s.Definitions[name] = extendable(schema)
	}
	return aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(whole, &s)
}

// mergeable is as much of a document as others can be in conflict with: names, and
// what is behind those that others have too.
func mergeable(others [][]byte, paths map[string]bool, parameters sharedParameters, definitions []Definition) (*spec.Swagger, error) {
	asked := map[string]bool{}
	for _, other := range others {
		var names struct {
			Definitions rawObject `json:"definitions"`
		}
		if json.Unmarshal(other, &names) != nil {
			continue // it will be left out
		}
		for name := range names.Definitions {
			asked[name] = true
		}
	}
	out := &spec.Swagger{}
	out.Paths = &spec.Paths{Paths: map[string]spec.PathItem{}}
	for path := range paths {
		out.Paths.Paths[path] = spec.PathItem{}
	}
	out.Parameters = map[string]spec.Parameter{}
	for name, p := range parameters {
		var parameter spec.Parameter
		if err := remake(p, &parameter); err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		out.Parameters[name] = parameter
	}
	out.Definitions = spec.Definitions{}
	for _, def := range definitions {
		var s spec.Schema
		if asked[def.Name] {
			if err := json.Unmarshal(def.V2, &s); err != nil {
				return nil, fmt.Errorf("schema of %s: %w", def.Name, err)
			}
		}
		out.Definitions[def.Name] = extendable(s)
	}
	return out, nil
}

// extendable has a place for what a schema says of kinds.
func extendable(s spec.Schema) spec.Schema {
	if s.Extensions == nil {
		s.Extensions = spec.Extensions{}
	}
	return s
}

// remake makes of a value another that is written the same way.
func remake(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// difference is what is in whole that was not there before.
func difference(whole *spec.Swagger, paths map[string]bool, parameters sharedParameters, definitions []Definition) (merged, error) {
	out := merged{paths: maps.Clone(whole.Paths.Paths), parameters: maps.Clone(whole.Parameters)}
	maps.DeleteFunc(out.paths, func(path string, _ spec.PathItem) bool { return paths[path] })
	maps.DeleteFunc(out.parameters, func(name string, _ spec.Parameter) bool {
		_, ok := parameters[name]
		return ok
	})
	for _, def := range definitions {
		more, err := withKinds(def, whole.Definitions[def.Name].Extensions[kindsExtension])
		if err != nil {
			return merged{}, err
		}
		out.definitions = append(out.definitions, more)
		delete(whole.Definitions, def.Name)
	}
	for name, schema := range whole.Definitions {
		var content bytes.Buffer
		if err := appendJSON(&content, schema); err != nil {
			return merged{}, err
		}
		out.definitions = append(out.definitions, Definition{Name: name, V2: content.Bytes()})
	}
	slices.SortFunc(out.definitions, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

const kindsExtension = "x-kubernetes-group-version-kind"

// withKinds is a definition that says of which kinds it is, of which others may
// know more; nil if none does.
func withKinds(def Definition, kinds any) (Definition, error) {
	if kinds == nil {
		return def, nil
	}
	var content rawObject
	if err := json.Unmarshal(def.V2, &content); err != nil {
		return def, fmt.Errorf("schema of %s: %w", def.Name, err)
	}
	var is, was bytes.Buffer
	if err := appendJSON(&is, kinds); err != nil {
		return def, err
	}
	var before any
	if old, ok := content[kindsExtension]; ok {
		if err := json.Unmarshal(old, &before); err != nil {
			return def, err
		}
	}
	if err := appendJSON(&was, before); err != nil || bytes.Equal(is.Bytes(), was.Bytes()) {
		return def, err
	}
	content[kindsExtension] = is.Bytes()
	var out bytes.Buffer
	err := appendJSON(&out, content)
	def.V2 = out.Bytes()
	return def, err
}
