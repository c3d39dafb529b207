package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Cut takes of a document of version 2 of another server the paths that begin
// with prefix, and what they refer to. What it returns can be a part of the document
// of this server in each of its forms.
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

// OwnV2 is what others can be in conflict with: the parts of a document of version
// 2 that are there before others are added.
type OwnV2 struct {
	// HasPath tells whether a path is there.
	HasPath    func(path string) (bool, error)
	Parameters ParametersV2
	// Definitions are the names of all; Definition gives one of them.
	Definitions []string
	Definition  func(name string) ([]byte, error)
}

// MoreV2 is what others bring, and what they change.
type MoreV2 struct {
	Paths, Definitions BlockV2
	// Parameters are those of all.
	Parameters ParametersV2
	// Changed are definitions in place of own ones: they are of more kinds.
	Changed map[string]json.RawMessage
}

// MergeV2 adds documents of other servers, as Cut makes them, those first that have
// precedence: a path stays whose it was, and of two things of one name that are not
// the same the later is given another name. A document that does not fit in is left
// out.
func MergeV2(own OwnV2, others ...[]byte) (MoreV2, error) {
	for {
		whole, err := mergeable(own, others)
		if err != nil {
			return MoreV2{}, err
		}
		i := slices.IndexFunc(others, func(other []byte) bool { return add(whole, other) != nil })
		if i < 0 {
			return own.difference(whole)
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

// mergeable is as much of a document as others can be in conflict with: names of
// definitions, and what is behind those that others have too; and paths that they
// have too.
func mergeable(own OwnV2, others [][]byte) (*spec.Swagger, error) {
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
			continue // it will be left out
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
		if err := remake(p, &parameter); err != nil {
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
		out.Definitions[name] = extendable(s)
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
func (own OwnV2) difference(whole *spec.Swagger) (MoreV2, error) {
	out := MoreV2{Parameters: maps.Clone(own.Parameters), Changed: map[string]json.RawMessage{}}
	for path := range whole.Paths.Paths {
		switch there, err := own.HasPath(path); {
		case err != nil:
			return MoreV2{}, err
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
			return MoreV2{}, err
		}
		is, err := withKinds(was, kinds)
		if err != nil {
			return MoreV2{}, fmt.Errorf("schema of %s: %w", name, err)
		}
		if is != nil {
			out.Changed[name] = is
		}
	}
	var err error
	if out.Paths, err = blockV2(whole.Paths.Paths); err != nil {
		return MoreV2{}, err
	}
	out.Definitions, err = blockV2(whole.Definitions)
	return out, err
}

const kindsExtension = "x-kubernetes-group-version-kind"

// withKinds is a definition that says of which kinds it is, of which others may
// know more; nil if it says just that already.
func withKinds(definition []byte, kinds any) ([]byte, error) {
	var content rawObject
	if err := json.Unmarshal(definition, &content); err != nil {
		return nil, err
	}
	var is, was bytes.Buffer
	if err := appendJSON(&is, kinds); err != nil {
		return nil, err
	}
	var before any
	if old, ok := content[kindsExtension]; ok {
		if err := json.Unmarshal(old, &before); err != nil {
			return nil, err
		}
	}
	if err := appendJSON(&was, before); err != nil || bytes.Equal(is.Bytes(), was.Bytes()) {
		return nil, err
	}
	content[kindsExtension] = is.Bytes()
	var out bytes.Buffer
	err := appendJSON(&out, content)
	return out.Bytes(), err
}
