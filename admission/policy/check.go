package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	celopenapi "k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
)

// maxChecked bounds the kinds that the expressions of a policy are checked for.
const maxChecked = 10

// Checker tells for the status of a ValidatingAdmissionPolicy what is wrong with
// its expressions, by the schemas of the kinds that it names. A policy with
// warnings is in force all the same.
type Checker struct {
	Catalogue *api.Catalogue
	// Schema finds the schema of a kind, without references; nil when it is not
	// known.
	Schema func(schema.GroupVersionKind) (*spec.Schema, error)
}

// checked is a kind that expressions are checked for.
type checked struct {
	kind schema.GroupVersionKind
	with *expression.TypeChecker
}

// Check returns the warnings about a policy, which it does not change.
func (c *Checker) Check(p *admissionv1.ValidatingAdmissionPolicy) ([]admissionv1.ExpressionWarning, error) {
	list, err := c.checkers(p)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	var warnings []admissionv1.ExpressionWarning
	check := func(text, format string, i int) {
		if w := warning(list, text); w != "" {
			warnings = append(warnings, admissionv1.ExpressionWarning{FieldRef: fmt.Sprintf(format, i), Warning: w})
		}
	}
	for i, v := range p.Spec.Validations {
		check(v.Expression, "spec.validations[%d].expression", i)
		if v.MessageExpression != "" {
			check(v.MessageExpression, "spec.validations[%d].messageExpression", i)
		}
	}
	return warnings, nil
}

// warning is what is wrong with an expression, by kind.
func warning(list []checked, text string) string {
	var parts []string
	for _, c := range list {
		if issues := c.with.Check(text); issues != "" {
			parts = append(parts, fmt.Sprintf("%v: %s\n", c.kind, issues))
		}
	}
	return strings.Join(parts, "\n")
}

// checkers are for the kinds that a policy names and whose schemas are known.
func (c *Checker) checkers(p *admissionv1.ValidatingAdmissionPolicy) ([]checked, error) {
	var params *apicel.DeclType
	if k := p.Spec.ParamKind; k != nil {
		gv, err := schema.ParseGroupVersion(k.APIVersion)
		if err == nil {
			params, err = c.typeOf(gv.WithKind(k.Kind), "Params")
		}
		if err != nil {
			return nil, err
		}
	}
	var list []checked
	for _, kind := range c.kinds(p.Spec.MatchConstraints) {
		object, err := c.typeOf(kind, "Object")
		if err != nil {
			return nil, err
		}
		if object == nil {
			continue
		}
		with, err := expression.NewTypeChecker(object, params, p.Spec.ParamKind != nil)
		if err != nil {
			return nil, fmt.Errorf("types of %v: %w", kind, err)
		}
		for _, v := range p.Spec.Variables {
			with.Declare(v.Name, v.Expression)
		}
		list = append(list, checked{kind, with})
	}
	return list, nil
}

// typeOf is a kind as a type of expressions; nil when its schema is not known.
// Role keeps apart the types of one kind in two places.
func (c *Checker) typeOf(kind schema.GroupVersionKind, role string) (*apicel.DeclType, error) {
	s, err := c.Schema(kind)
	if s == nil || err != nil {
		return nil, err
	}
	t := common.SchemaDeclType(&celopenapi.Schema{Schema: s}, true)
	if t == nil {
		return nil, nil
	}
	return t.MaybeAssignTypeName(kind.Kind + role), nil
}

// kinds are those that the rules of a policy name one by one, in the order of
// group, version and kind.
func (c *Checker) kinds(m *admissionv1.MatchResources) []schema.GroupVersionKind {
	if m == nil {
		return nil
	}
	var kinds []schema.GroupVersionKind
	for i := range m.ResourceRules {
		for _, r := range named(&m.ResourceRules[i].Rule) {
			res, v, ok := c.Catalogue.Lookup(r.GroupVersion(), r.Resource)
			if !ok {
				continue
			}
			if kind := v.WithKind(res.Kind); !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	kinds = kinds[:min(len(kinds), maxChecked)]
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version), strings.Compare(a.Kind, b.Kind))
	})
	return kinds
}

// named are the resources that a rule names without stars, and no subresources.
func named(r *admissionv1.Rule) []schema.GroupVersionResource {
	star := func(s string) bool { return strings.Contains(s, "*") }
	if slices.ContainsFunc(r.APIGroups, star) || slices.ContainsFunc(r.APIVersions, star) {
		return nil
	}
	var out []schema.GroupVersionResource
	for _, group := range sorted(r.APIGroups) {
		for _, version := range sorted(r.APIVersions) {
			for _, resource := range sorted(r.Resources) {
				if !strings.ContainsAny(resource, "*/") {
					out = append(out, schema.GroupVersionResource{Group: group, Version: version, Resource: resource})
				}
			}
		}
	}
	return out
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
