package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// FilterPaths returns the paths of another server's version 2 document that begin with prefix,
// and the definitions to which they refer. It returns an error if the result cannot be
// converted to protobuf.
func FilterPaths(document []byte, prefix string) ([]byte, error) {
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

// BaseV2 is the server's own part of the document of version 2, with which documents of other
// servers may conflict.
type BaseV2 struct {
	// HasPath reports whether the document has a path.
	HasPath    func(path string) (bool, error)
	Parameters ParametersV2
	// Definitions are the names of all definitions; Definition returns one of them.
	Definitions []string
	Definition  func(name string) ([]byte, error)
}

// MergedV2 has the additions and changes by documents of other servers.
type MergedV2 struct {
	Paths, Definitions BlockV2
	// Parameters are all shared parameters, including the server's own.
	Parameters ParametersV2
	// Changed are the own definitions with additional kinds in their
	// x-kubernetes-group-version-kind.
	Changed map[string]json.RawMessage
}

// MergeV2 merges documents of other servers, as FilterPaths returns them, in order of
// precedence. A path belongs to the first document that has it. A definition or parameter
// whose name is taken by a different one is renamed. A document that cannot be merged is left
// out.
func MergeV2(own BaseV2, others ...[]byte) (MergedV2, error) {
	for {
		whole, err := conflictBase(own, others)
		if err != nil {
			return MergedV2{}, err
		}
		i := slices.IndexFunc(others, func(other []byte) bool { return mergeSpec(whole, other) != nil })
		if i < 0 {
			return own.difference(whole)
		}
		others = slices.Delete(slices.Clone(others), i, i+1)
	}
}

func mergeSpec(whole *spec.Swagger, other []byte) error {
	var s spec.Swagger
	if err := json.Unmarshal(other, &s); err != nil {
		return err
	}
	for name, schema := range s.Definitions {
		s.Definitions[name] = withExtensionsMap(schema)
	}
	return aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(whole, &s)
}

// conflictBase returns the part of the own document with which others may conflict: the names
// of all definitions, and the content of shared definitions and paths.
func conflictBase(own BaseV2, others [][]byte) (*spec.Swagger, error) {
	out := &spec.Swagger{}
	out.Paths = &spec.Paths{Paths: map[string]spec.PathItem{}}
	out.Parameters = map[string]spec.Parameter{}
	out.Definitions = spec.Definitions{}
	asked := map[string]bool{}
	for _, other := range others {
		var names struct {
			Definitions, Paths rawObject
		}
		if json.Unmarshal(other, &names) != nil {
			continue // MergeV2 leaves it out
		}
		for name := range names.Definitions {
			asked[name] = true
		}
		for path := range names.Paths {
			switch there, err := own.HasPath(path); {
			case err != nil:
				return nil, err
			case there:
				out.Paths.Paths[path] = spec.PathItem{}
			}
		}
	}
	for name, p := range own.Parameters {
		var parameter spec.Parameter
		if err := convertJSON(p, &parameter); err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		out.Parameters[name] = parameter
	}
	for _, name := range own.Definitions {
		var s spec.Schema
		if asked[name] {
			content, err := own.Definition(name)
			if err == nil {
				err = json.Unmarshal(content, &s)
			}
			if err != nil {
				return nil, fmt.Errorf("schema of %s: %w", name, err)
			}
		}
		out.Definitions[name] = withExtensionsMap(s)
	}
	return out, nil
}

// withExtensionsMap returns s with a non-nil map of extensions, which the merge writes to.
func withExtensionsMap(s spec.Schema) spec.Schema {
	if s.Extensions == nil {
		s.Extensions = spec.Extensions{}
	}
	return s
}

// convertJSON converts a value to another type by way of JSON.
func convertJSON(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// difference returns the parts of whole that are not in own.
func (own BaseV2) difference(whole *spec.Swagger) (MergedV2, error) {
	out := MergedV2{Parameters: maps.Clone(own.Parameters), Changed: map[string]json.RawMessage{}}
	for path := range whole.Paths.Paths {
		switch there, err := own.HasPath(path); {
		case err != nil:
			return MergedV2{}, err
		case there:
			delete(whole.Paths.Paths, path)
		}
	}
	for name, p := range whole.Parameters {
		if _, ok := own.Parameters[name]; !ok {
			out.Parameters[name] = p
		}
	}
	for _, name := range own.Definitions {
		kinds := whole.Definitions[name].Extensions[kindsExtension]
		delete(whole.Definitions, name)
		if kinds == nil {
			continue
		}
		was, err := own.Definition(name)
		if err != nil {
			return MergedV2{}, err
		}
		is, err := withKinds(was, kinds)
		if err != nil {
			return MergedV2{}, fmt.Errorf("schema of %s: %w", name, err)
		}
		if is != nil {
			out.Changed[name] = is
		}
	}
	var err error
	if out.Paths, err = blockV2(whole.Paths.Paths, allForms().pathV2); err != nil {
		return MergedV2{}, err
	}
	out.Definitions, err = blockV2(whole.Definitions, allForms().schema)
	return out, err
}
