package structural

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Unsupported returns an error if a schema uses keywords that structural schemas cannot
// have.
func Unsupported(s *props) error {
	if s == nil {
		return nil
	}
	for _, w := range []struct {
		name string
		used bool
	}{
		{"id", s.ID != ""}, {"schema", s.Schema != ""}, {"$ref", s.Ref != nil}, {"patternProperties", len(s.PatternProperties) > 0},
		{"dependencies", len(s.Dependencies) > 0}, {"additionalItems", s.AdditionalItems != nil}, {"definitions", len(s.Definitions) > 0},
	} {
		if w.used {
			return fmt.Errorf("OpenAPIV3Schema '%s' is not supported", w.name)
		}
	}
	switch {
	case s.Items != nil && len(s.Items.JSONSchemas) > 0:
		return errors.New("OpenAPIV3Schema 'items' must be a schema, but is an array")
	case s.XPreserveUnknownFields != nil && !*s.XPreserveUnknownFields:
		return errors.New("'x-kubernetes-preserve-unknown-fields' must be true or undefined")
	}
	for _, part := range partsOf(s) {
		if err := Unsupported(part); err != nil {
			return err
		}
	}
	return nil
}

// partsOf returns the direct subschemas of s, in a fixed order.
func partsOf(s *props) []*props {
	parts := []*props{s.Not}
	if s.Items != nil {
		parts = append(parts, s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		parts = append(parts, s.AdditionalProperties.Schema)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		sub := s.Properties[name]
		parts = append(parts, &sub)
	}
	for _, l := range combinators(s) {
		for i := range l.schemas {
			parts = append(parts, &l.schemas[i])
		}
	}
	return parts
}

// CheckStored validates a stored schema at path. err is set if the schema cannot be used
// at all; faults affect only writes of objects with the fields that have the faults.
func CheckStored(s *props, path *field.Path) (faults field.ErrorList, err error) {
	if err := Unsupported(s); err != nil {
		return nil, err
	}
	n, err := compile(s)
	if err != nil {
		return nil, err
	}
	faults = append(checkShape(s, path), newRules(n, true).faults(path)...)
	if len(faults) == 0 { // the shape does not include types and keywords of lists
		c := &checker{}
		c.schema(s, path, location{root: true})
		faults = c.errs
	}
	return faults, nil
}

// faults returns an error for each rule that does not compile, in the schema at path and
// the schemas inside it.
func (r *rules) faults(path *field.Path) (out field.ErrorList) {
	if r == nil {
		return nil
	}
	at := path.Child("x-kubernetes-validations")
	if r.err != nil {
		out = append(out, field.Invalid(at, r.node.kind, fmt.Sprintf("rule compiler initialization error: %v", r.err)))
	}
	for i := range r.own {
		if fault := r.own[i].err; fault != nil {
			out = append(out, field.Invalid(at.Index(i).Child("rule"), r.own[i].definition.Rule, fault.Detail))
		}
	}
	for _, name := range r.names {
		out = append(out, r.fields[name].faults(path.Child("properties").Key(name))...)
	}
	out = append(out, r.items.faults(path.Child("items"))...)
	return append(out, r.values.faults(path.Child("additionalProperties"))...)
}
