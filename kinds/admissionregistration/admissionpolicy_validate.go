package admissionregistration

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/jsonpath"

	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

const (
	maxAuditAnnotations     = 20
	maxAuditAnnotationValue = 5 << 10
)

// validatingPolicyChanges returns the rules of a change; old is nil for a new policy.
func validatingPolicyChanges(functions expression.Library) func(_ *validation.Path, obj, old *admissionv1.ValidatingAdmissionPolicy) {
	return func(at *validation.Path, obj, old *admissionv1.ValidatingAdmissionPolicy) {
		validatingPolicyChange(at, obj, old, functions)
	}
}

// storedExpressions has the expressions of a stored policy by their use. In the same use they may still
// call all functions; variables are validations in this respect.
type storedExpressions struct{ conditions, validations, messages, audits, mutations []string }

func (s *storedExpressions) addConditions(list []admissionv1.MatchCondition) {
	for i := range list {
		s.conditions = append(s.conditions, list[i].Expression)
	}
}

// storedByValidating returns the expressions of a stored policy; p is nil for a new one. As in
// kube-apiserver, those of variables do not count.
func storedByValidating(p *admissionv1.ValidatingAdmissionPolicy) (s storedExpressions) {
	if p == nil {
		return s
	}
	s.addConditions(p.Spec.MatchConditions)
	for i := range p.Spec.Validations {
		v := &p.Spec.Validations[i]
		s.validations, s.messages = append(s.validations, v.Expression), append(s.messages, v.MessageExpression)
	}
	for i := range p.Spec.AuditAnnotations {
		s.audits = append(s.audits, strings.TrimSpace(p.Spec.AuditAnnotations[i].ValueExpression))
	}
	return s
}

// includes returns a function that reports whether a list has an expression.
func includes(list []string) func(text string) bool {
	return func(text string) bool { return slices.Contains(list, text) }
}

// hasCondition reports whether one of the conditions has an expression.
func hasCondition(list []admissionv1.MatchCondition, text string) bool {
	return slices.ContainsFunc(list, func(m admissionv1.MatchCondition) bool { return m.Expression == text })
}

// validatingPolicyChange validates a new or changed policy; old is nil for a new one. It validates
// match conditions only if they or the kind of the parameters changed.
func validatingPolicyChange(at *validation.Path, obj, old *admissionv1.ValidatingAdmissionPolicy, functions expression.Library) {
	at = at.Child("spec")
	s := &obj.Spec
	stored := storedByValidating(old)
	unchanged := old != nil && sameParamKind(s.ParamKind, old.Spec.ParamKind) && slices.Equal(s.MatchConditions, old.Spec.MatchConditions)
	c := policyFieldRules(at, &policyFields{s.FailurePolicy, s.ParamKind, s.MatchConstraints, s.MatchConditions, s.Variables,
		len(s.Variables) > 0, false, functions, stored}, unchanged)
	if len(s.Validations)+len(s.AuditAnnotations) == 0 {
		at.Child("validations").Required("validations or auditAnnotations must contain at least one item")
		at.Child("auditAnnotations").Required("validations or auditAnnotations must contain at least one item")
		return
	}
	validation.Each(at.Child("validations"), s.Validations,
		func(at *validation.Path, v *admissionv1.Validation) { validationRules(at, v, c, stored.messages) })
	audits := at.Child("auditAnnotations")
	if len(s.AuditAnnotations) > maxAuditAnnotations {
		audits.Invalid(s.AuditAnnotations, fmt.Sprintf("must not have more than %d auditAnnotations", maxAuditAnnotations))
	}
	var keys validation.Unique[string]
	validation.Each(audits, s.AuditAnnotations, func(at *validation.Path, a *admissionv1.AuditAnnotation) {
		auditAnnotationRules(at, obj.Name, a, c.WithStored(includes(stored.audits)))
		keys.Add(at.Child("key"), a.Key)
	})
}

// policyFields has the fields that validating and mutating policies share.
type policyFields struct {
	failure    *admissionv1.FailurePolicyType
	params     *admissionv1.ParamKind
	match      *admissionv1.MatchResources
	conditions []admissionv1.MatchCondition
	variables  []admissionv1.Variable
	// declares reports whether expressions may use the name "variables".
	declares bool
	// mutates reports whether the policy is a mutating one, which cannot match deletes.
	mutates bool
	// functions are the functions that new expressions may call.
	functions expression.Library
	stored    storedExpressions
}

// policyFieldRules validates the shared fields and returns the compiler for the other
// expressions of the policy. It skips unchanged match conditions.
func policyFieldRules(at *validation.Path, h *policyFields, unchanged bool) *expression.Compiler {
	writer := func(stored []string) expression.Writer {
		return expression.Writer{New: h.functions, Stored: includes(stored)}
	}
	policyTargetRules(at, h.failure, h.params, h.match)
	if h.mutates {
		mutatingOperationRules(at.Child("matchConstraints"), h.match)
	}
	if !unchanged {
		matchConditionRules(at.Child("matchConditions"), h.conditions,
			expression.Scope{Params: h.params != nil, Functions: writer(h.stored.conditions)})
	}
	c := expression.NewCompiler(expression.Scope{Params: h.params != nil, Variables: h.declares, Functions: writer(h.stored.validations)})
	variableRules(at.Child("variables"), h.variables, c)
	return c
}

func sameParamKind(a, b *admissionv1.ParamKind) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// policyTargetRules validates the failure policy, the parameters and the match constraints
// of a policy.
func policyTargetRules(at *validation.Path, failure *admissionv1.FailurePolicyType, params *admissionv1.ParamKind,
	match *admissionv1.MatchResources) {
	if failure == nil {
		at.Child("failurePolicy").Required("")
	}
	webhookFailureRules(at.Child("failurePolicy"), failure)
	validation.IfPresent(at.Child("paramKind"), params, paramKindRules)
	constraints := at.Child("matchConstraints")
	if match == nil {
		constraints.Required("")
		return
	}
	matchResourceRules(constraints, match)
	if len(match.ResourceRules) == 0 {
		constraints.Child("resourceRules").Required("")
	}
}

func paramKindRules(at *validation.Path, k *admissionv1.ParamKind) {
	version := at.Child("apiVersion")
	if validation.Required(version, k.APIVersion) {
		gv, err := schema.ParseGroupVersion(k.APIVersion)
		switch {
		case err != nil:
			version.Invalid(k.APIVersion, err.Error())
		default:
			if gv.Group != "" {
				joinedFaults(version, gv.Group, "", validation.DNSSubdomain(gv.Group))
			}
			if gv.Version == "" {
				version.Invalid(k.APIVersion, "version must be specified")
			} else {
				joinedFaults(version, gv.Version, "", utilvalidation.IsDNS1035Label(gv.Version))
			}
		}
	}
	if validation.Required(at.Child("kind"), k.Kind) {
		joinedFaults(at.Child("kind"), k.Kind, "may have mixed case, but should otherwise match: ",
			utilvalidation.IsDNS1035Label(strings.ToLower(k.Kind)))
	}
}

// joinedFaults adds one error with all faults of a value.
func joinedFaults(at *validation.Path, value, before string, faults []string) {
	if len(faults) > 0 {
		at.Invalid(value, before+strings.Join(faults, ","))
	}
}

// variableRules validates variables; each may use the variables before it.
func variableRules(at *validation.Path, list []admissionv1.Variable, c *expression.Compiler) {
	validation.Each(at, list, func(at *validation.Path, v *admissionv1.Variable) {
		switch {
		case strings.TrimSpace(v.Name) == "":
			at.Child("name").Required("name is not specified")
		case !isCELIdentifier(v.Name):
			at.Child("name").Invalid(v.Name, "must be a valid CEL identifier")
		}
		if strings.TrimSpace(v.Expression) == "" {
			at.Child("expression").Required("expression is not specified")
			return
		}
		validation.CELRules(at.Child("expression"), v.Expression, c.Declare(v.Name, v.Expression))
	})
}

func validationRules(at *validation.Path, v *admissionv1.Validation, c *expression.Compiler, storedMessages []string) {
	if strings.TrimSpace(v.Expression) == "" {
		at.Child("expression").Required("expression is not specified")
	} else {
		validation.CELRules(at.Child("expression"), v.Expression, c.Compile(v.Expression, expression.Bool()))
	}
	switch at := at.Child("messageExpression"); {
	case v.MessageExpression == "":
	case strings.TrimSpace(v.MessageExpression) == "":
		at.Invalid(v.MessageExpression, "must be non-empty if specified")
	default:
		validation.CELRules(at, v.MessageExpression, c.WithStored(includes(storedMessages)).CompileMessage(v.MessageExpression, expression.String()))
	}
	switch text := strings.TrimSpace(v.Message); {
	case v.Message != "" && text == "":
		at.Child("message").Invalid(v.Message, "must be non-empty if specified")
	case strings.ContainsAny(text, "\r\n"):
		at.Child("message").Invalid(v.Message, "must not contain line breaks")
	}
	// An expression with line breaks needs no message, although its documentation says so.
	validation.OptionalEnum(at.Child("reason"), v.Reason, metav1.StatusReasonForbidden, metav1.StatusReasonInvalid,
		metav1.StatusReasonRequestEntityTooLarge)
}

func auditAnnotationRules(at *validation.Path, policy string, a *admissionv1.AuditAnnotation, c *expression.Compiler) {
	if policy == "" {
		at.Child("key").Invalid(a.Key, "requires metadata.name be non-empty")
	} else {
		validation.Format(at.Child("key"), policy+"/"+a.Key, validation.QualifiedName)
	}
	value := at.Child("valueExpression")
	switch text := strings.TrimSpace(a.ValueExpression); {
	case text == "":
		value.Required("valueExpression is not specified")
	case len(text) > maxAuditAnnotationValue:
		value.Required(fmt.Sprintf("must not exceed %d bytes in length", maxAuditAnnotationValue))
	default:
		validation.CELRules(value, a.ValueExpression, c.Compile(text, expression.StringOrNull()))
	}
}

func validatingPolicyStatusRules(at *validation.Path, p, _ *admissionv1.ValidatingAdmissionPolicy) {
	at = at.Child("status")
	if t := p.Status.TypeChecking; t != nil {
		validation.Each(at.Child("typeChecking").Child("expressionWarnings"), t.ExpressionWarnings,
			func(at *validation.Path, w *admissionv1.ExpressionWarning) {
				validation.Required(at.Child("warning"), w.Warning)
				fieldRefRules(at.Child("fieldRef"), strings.TrimSpace(w.FieldRef))
			})
	}
	validation.ConditionRules(at.Child("conditions"), p.Status.Conditions)
}

func fieldRefRules(at *validation.Path, ref string) {
	if !validation.Required(at, ref) {
		return
	}
	if err := jsonpath.New("").Parse("{" + ref + "}"); err != nil {
		at.Invalid(ref, fmt.Sprintf("invalid JSONPath: %v", err))
	}
}

func validatingBindingRules(at *validation.Path, b *admissionv1.ValidatingAdmissionPolicyBinding) {
	at = at.Child("spec")
	bindingRules(at, b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources)
	actions := at.Child("validationActions")
	var seen validation.Unique[admissionv1.ValidationAction]
	for i, a := range b.Spec.ValidationActions {
		validation.OneOf(actions.Index(i), a, admissionv1.Audit, admissionv1.Deny, admissionv1.Warn)
		seen.Add(actions.Index(i), a)
	}
	if seen.Has(admissionv1.Deny) && seen.Has(admissionv1.Warn) {
		actions.Invalid(b.Spec.ValidationActions, "must not contain both Deny and Warn "+
			"(repeating the same validation failure information in the API response and headers serves no purpose)")
	}
	if len(b.Spec.ValidationActions) == 0 {
		actions.Required("at least one validation action is required")
	}
}

// bindingRules validates the fields that the bindings of validating and mutating policies
// share.
func bindingRules(at *validation.Path, policy string, params *admissionv1.ParamRef, match *admissionv1.MatchResources) {
	validation.RequiredFormat(at.Child("policyName"), policy, validation.DNSSubdomain)
	validation.IfPresent(at.Child("paramRef"), params, paramRefRules)
	matchResourceRules(at.Child("matchResources"), match)
}

func paramRefRules(at *validation.Path, r *admissionv1.ParamRef) {
	const one = "name and selector are mutually exclusive"
	if r.Name != "" {
		validation.Format(at.Child("name"), r.Name, validation.Segment)
		if r.Selector != nil {
			at.Child("name").Forbidden(one)
		}
	}
	if r.Selector != nil {
		validation.SelectorRules(at.Child("selector"), r.Selector)
		if r.Name != "" {
			at.Child("selector").Forbidden(one)
		}
	} else if r.Name == "" {
		at.Required("one of name or selector must be specified")
	}
	action := r.ParameterNotFoundAction
	if action == nil || *action == "" {
		at.Child("parameterNotFoundAction").Required("")
		return
	}
	validation.OneOf(at.Child("parameterNotFoundAction"), *action, admissionv1.DenyAction, admissionv1.AllowAction)
}

// isCELIdentifier reports whether a name is an identifier of CEL and no reserved word.
func isCELIdentifier(name string) bool {
	switch name {
	case "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
		"loop", "package", "namespace", "return", "var", "void", "while":
		return false
	}
	for i, c := range name {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
