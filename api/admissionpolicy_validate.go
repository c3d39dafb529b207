package api

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api/expression"
)

const (
	maxAuditAnnotations     = 20
	maxAuditAnnotationValue = 5 << 10
)

func validatingPolicyRules(at *place, p *admissionv1.ValidatingAdmissionPolicy) {
	validatingPolicyChanges(at, p, nil)
}

// validatingPolicyChanges look at conditions again only where they could have
// become wrong.
func validatingPolicyChanges(at *place, is, was *admissionv1.ValidatingAdmissionPolicy) {
	at = at.of("spec")
	s := &is.Spec
	unchanged := was != nil && sameParamKind(s.ParamKind, was.Spec.ParamKind) && slices.Equal(s.MatchConditions, was.Spec.MatchConditions)
	c := policyHeadRules(at, &policyHead{s.FailurePolicy, s.ParamKind, s.MatchConstraints, s.MatchConditions, s.Variables, len(s.Variables) > 0, false}, unchanged)
	if len(s.Validations)+len(s.AuditAnnotations) == 0 {
		at.of("validations").required("validations or auditAnnotations must contain at least one item")
		at.of("auditAnnotations").required("validations or auditAnnotations must contain at least one item")
		return
	}
	each(at.of("validations"), s.Validations, func(at *place, v *admissionv1.Validation) { validationRules(at, v, c) })
	audits := at.of("auditAnnotations")
	if len(s.AuditAnnotations) > maxAuditAnnotations {
		audits.invalid(s.AuditAnnotations, fmt.Sprintf("must not have more than %d auditAnnotations", maxAuditAnnotations))
	}
	var keys unique[string]
	each(audits, s.AuditAnnotations, func(at *place, a *admissionv1.AuditAnnotation) {
		auditAnnotationRules(at, is.Name, a, c)
		keys.add(at.of("key"), a.Key)
	})
}

// policyHead is what policies of both kinds have.
type policyHead struct {
	failure    *admissionv1.FailurePolicyType
	params     *admissionv1.ParamKind
	match      *admissionv1.MatchResources
	conditions []admissionv1.MatchCondition
	variables  []admissionv1.Variable
	// declares reports whether "variables" is a name that expressions know.
	declares bool
	// mutates reports whether the policy changes objects, which a deletion does not have.
	mutates bool
}

// policyHeadRules are for the head of a policy, and give what compiles the
// expressions of the rest. Conditions that are unchanged were good before.
func policyHeadRules(at *place, h *policyHead, unchanged bool) *expression.Compiler {
	policyTargetRules(at, h.failure, h.params, h.match)
	if h.mutates {
		mutatingOperationRules(at.of("matchConstraints"), h.match)
	}
	if !unchanged {
		matchConditionRules(at.of("matchConditions"), h.conditions, h.params != nil)
	}
	c := expression.NewCompiler(expression.Scope{Params: h.params != nil, Variables: h.declares})
	variableRules(at.of("variables"), h.variables, c)
	return c
}

func sameParamKind(a, b *admissionv1.ParamKind) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// policyTargetRules are for what policies of both kinds apply to.
func policyTargetRules(at *place, failure *admissionv1.FailurePolicyType, params *admissionv1.ParamKind, match *admissionv1.MatchResources) {
	if failure == nil {
		at.of("failurePolicy").required("")
	}
	webhookFailureRules(at.of("failurePolicy"), failure)
	present(at.of("paramKind"), params, paramKindRules)
	constraints := at.of("matchConstraints")
	if match == nil {
		constraints.required("")
		return
	}
	matchResourceRules(constraints, match)
	if len(match.ResourceRules) == 0 {
		constraints.of("resourceRules").required("")
	}
}

func paramKindRules(at *place, k *admissionv1.ParamKind) {
	version := at.of("apiVersion")
	if required(version, k.APIVersion) {
		gv, err := schema.ParseGroupVersion(k.APIVersion)
		switch {
		case err != nil:
			version.invalid(k.APIVersion, err.Error())
		default:
			if gv.Group != "" {
				joinedFaults(version, gv.Group, "", dnsSubdomain(gv.Group))
			}
			if gv.Version == "" {
				version.invalid(k.APIVersion, "version must be specified")
			} else {
				joinedFaults(version, gv.Version, "", utilvalidation.IsDNS1035Label(gv.Version))
			}
		}
	}
	if required(at.of("kind"), k.Kind) {
		joinedFaults(at.of("kind"), k.Kind, "may have mixed case, but should otherwise match: ", utilvalidation.IsDNS1035Label(strings.ToLower(k.Kind)))
	}
}

// joinedFaults says all that is wrong with a value at once.
func joinedFaults(at *place, value, before string, faults []string) {
	if len(faults) > 0 {
		at.invalid(value, before+strings.Join(faults, ","))
	}
}

// variableRules let each variable use those before it.
func variableRules(at *place, list []admissionv1.Variable, c *expression.Compiler) {
	each(at, list, func(at *place, v *admissionv1.Variable) {
		switch {
		case strings.TrimSpace(v.Name) == "":
			at.of("name").required("name is not specified")
		case !celIdentifier(v.Name):
			at.of("name").invalid(v.Name, "must be a valid CEL identifier")
		}
		if strings.TrimSpace(v.Expression) == "" {
			at.of("expression").required("expression is not specified")
			return
		}
		celRules(at.of("expression"), v.Expression, c.Declare(v.Name, v.Expression))
	})
}

func validationRules(at *place, v *admissionv1.Validation, c *expression.Compiler) {
	if strings.TrimSpace(v.Expression) == "" {
		at.of("expression").required("expression is not specified")
	} else {
		celRules(at.of("expression"), v.Expression, c.Compile(v.Expression, expression.Bool()))
	}
	switch at := at.of("messageExpression"); {
	case v.MessageExpression == "":
	case strings.TrimSpace(v.MessageExpression) == "":
		at.invalid(v.MessageExpression, "must be non-empty if specified")
	default:
		celRules(at, v.MessageExpression, c.CompileMessage(v.MessageExpression, expression.String()))
	}
	switch text := strings.TrimSpace(v.Message); {
	case v.Message != "" && text == "":
		at.of("message").invalid(v.Message, "must be non-empty if specified")
	case strings.ContainsAny(text, "\r\n"):
		at.of("message").invalid(v.Message, "must not contain line breaks")
	case strings.ContainsAny(strings.TrimSpace(v.Expression), "\r\n") && text == "":
		at.of("message").required("must be specified if expression contains line breaks")
	}
	optionalEnum(at.of("reason"), v.Reason, metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge)
}

func auditAnnotationRules(at *place, policy string, a *admissionv1.AuditAnnotation, c *expression.Compiler) {
	if policy == "" {
		at.of("key").invalid(a.Key, "requires metadata.name be non-empty")
	} else {
		format(at.of("key"), policy+"/"+a.Key, qualifiedName)
	}
	value := at.of("valueExpression")
	switch text := strings.TrimSpace(a.ValueExpression); {
	case text == "":
		value.required("valueExpression is not specified")
	case len(text) > maxAuditAnnotationValue:
		value.required(fmt.Sprintf("must not exceed %d bytes in length", maxAuditAnnotationValue))
	default:
		celRules(value, a.ValueExpression, c.Compile(text, expression.StringOrNull()))
	}
}

func validatingPolicyStatusRules(at *place, p, _ *admissionv1.ValidatingAdmissionPolicy) {
	at = at.of("status")
	if t := p.Status.TypeChecking; t != nil {
		each(at.of("typeChecking").of("expressionWarnings"), t.ExpressionWarnings, func(at *place, w *admissionv1.ExpressionWarning) {
			required(at.of("warning"), w.Warning)
			required(at.of("fieldRef"), strings.TrimSpace(w.FieldRef))
		})
	}
	conditionRules(at.of("conditions"), p.Status.Conditions)
}

func validatingBindingRules(at *place, b *admissionv1.ValidatingAdmissionPolicyBinding) {
	at = at.of("spec")
	bindingRules(at, b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources)
	actions := at.of("validationActions")
	var seen unique[admissionv1.ValidationAction]
	for i, a := range b.Spec.ValidationActions {
		oneOf(actions.item(i), a, admissionv1.Audit, admissionv1.Deny, admissionv1.Warn)
		seen.add(actions.item(i), a)
	}
	if seen.has(admissionv1.Deny) && seen.has(admissionv1.Warn) {
		actions.invalid(b.Spec.ValidationActions, "must not contain both Deny and Warn "+
			"(repeating the same validation failure information in the API response and headers serves no purpose)")
	}
	if len(b.Spec.ValidationActions) == 0 {
		actions.required("at least one validation action is required")
	}
}

// bindingRules are for bindings of both kinds of policies.
func bindingRules(at *place, policy string, params *admissionv1.ParamRef, match *admissionv1.MatchResources) {
	needs(at.of("policyName"), policy, dnsSubdomain)
	present(at.of("paramRef"), params, paramRefRules)
	matchResourceRules(at.of("matchResources"), match)
}

func paramRefRules(at *place, r *admissionv1.ParamRef) {
	const one = "name and selector are mutually exclusive"
	if r.Name != "" {
		format(at.of("name"), r.Name, segment)
		if r.Selector != nil {
			at.of("name").forbidden(one)
		}
	}
	if r.Selector != nil {
		selectorRules(at.of("selector"), r.Selector)
		if r.Name != "" {
			at.of("selector").forbidden(one)
		}
	} else if r.Name == "" {
		at.required("one of name or selector must be specified")
	}
	action := r.ParameterNotFoundAction
	if action == nil || *action == "" {
		at.of("parameterNotFoundAction").required("")
		return
	}
	oneOf(at.of("parameterNotFoundAction"), *action, admissionv1.DenyAction, admissionv1.AllowAction)
}

// celIdentifier tells whether a name can stand in an expression.
func celIdentifier(name string) bool {
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
