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
	"github.com/miniapiserver/miniapiserver/internal/coldsort"
)

// maxCheckedKinds is the maximum number of kinds for which a policy is type-checked.
const maxCheckedKinds = 10

// Checker type-checks the expressions of a ValidatingAdmissionPolicy against the schemas of the
// kinds that it names. The warnings become part of the policy's status; the policy applies
// nevertheless.
type Checker struct {
	Catalogue *api.Catalogue
	// Schema returns the schema of a kind with all references resolved, or nil if it is unknown.
	Schema func(schema.GroupVersionKind) (*spec.Schema, error)
}

// kindChecker type-checks expressions for one kind.
type kindChecker struct {
	kind schema.GroupVersionKind
	with *expression.TypeChecker
}

// Check returns the warnings for a policy.
func (c *Checker) Check(p *admissionv1.ValidatingAdmissionPolicy) ([]admissionv1.ExpressionWarning, error) {
	list, err := c.checkers(p)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	var warnings []admissionv1.ExpressionWarning
	check := func(text, format string, i int) {
		if w := typeWarning(list, text); w != "" {
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

// typeWarning returns the type errors of an expression, by kind.
func typeWarning(list []kindChecker, text string) string {
	var parts []string
	for _, c := range list {
		if issues := c.with.Check(text); issues != "" {
			parts = append(parts, fmt.Sprintf("%v: %s\n", c.kind, issues))
		}
	}
	return strings.Join(parts, "\n")
}

// checkers returns a checker for each named kind with a known schema.
func (c *Checker) checkers(p *admissionv1.ValidatingAdmissionPolicy) ([]kindChecker, error) {
	var params *apicel.DeclType
	if k := p.Spec.ParamKind; k != nil {
		gv, err := schema.ParseGroupVersion(k.APIVersion)
		if err == nil {
			params, err = c.declType(gv.WithKind(k.Kind), "Params")
		}
		if err != nil {
			return nil, err
		}
	}
	var list []kindChecker
	for _, kind := range c.kinds(p.Spec.MatchConstraints) {
		object, err := c.declType(kind, "Object")
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
		list = append(list, kindChecker{kind, with})
	}
	return list, nil
}

// declType returns the CEL type of a kind, or nil if its schema is unknown. The role distinguishes
// the types of one kind as object and as parameter.
func (c *Checker) declType(kind schema.GroupVersionKind, role string) (*apicel.DeclType, error) {
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

// kinds returns the kinds that the rules name without wildcards, sorted by group, version and kind.
func (c *Checker) kinds(m *admissionv1.MatchResources) []schema.GroupVersionKind {
	if m == nil {
		return nil
	}
	var kinds []schema.GroupVersionKind
	for i := range m.ResourceRules {
		for _, r := range namedResources(&m.ResourceRules[i].Rule) {
			res, v, ok := c.Catalogue.Lookup(r.GroupVersion(), r.Resource)
			if !ok {
				continue
			}
			if kind := v.WithKind(res.Kind); !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	kinds = kinds[:min(len(kinds), maxCheckedKinds)]
	coldsort.Func(kinds, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version), strings.Compare(a.Kind, b.Kind))
	})
	return kinds
}

// namedResources returns the resources that a rule names without wildcards, except subresources.
func namedResources(r *admissionv1.Rule) []schema.GroupVersionResource {
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
