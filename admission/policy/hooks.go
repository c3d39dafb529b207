package policy

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/manifest"
	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/registry"
)

// compiledPolicy is the common part of compiled policies of both kinds.
type compiledPolicy struct {
	name       string
	criteria   *match.Criteria
	params     *schema.GroupVersionKind // nil if the policy has no parameters
	ignore     bool                     // ignore errors
	compiler   *expression.Compiler
	conditions *match.Conditions
	metrics    *match.Metrics
}

// policySpec is the common part of the specs of both kinds of policies.
type policySpec struct {
	name       string
	match      *admissionv1.MatchResources
	params     *admissionv1.ParamKind
	failure    *admissionv1.FailurePolicyType
	variables  []admissionv1.Variable
	conditions []admissionv1.MatchCondition
}

// compile compiles the common part of a policy.
func (s *policySpec) compile(m *match.Metrics) compiledPolicy {
	h := compiledPolicy{name: s.name, metrics: m, ignore: s.failure != nil && *s.failure == admissionv1.Ignore}
	if s.match == nil { // validation of policies rejects this
		s.match = &admissionv1.MatchResources{}
	}
	h.criteria = match.NewCriteria(s.match)
	if s.params != nil {
		gv, _ := schema.ParseGroupVersion(s.params.APIVersion)
		kind := gv.WithKind(s.params.Kind)
		h.params = &kind
	}
	h.compiler = expression.NewCompiler(expression.Scope{Params: s.params != nil, Variables: true})
	for _, v := range s.variables {
		h.compiler.Declare(v.Name, v.Expression)
	}
	// Policies of both kinds count as validating in the metrics.
	owner := match.Owner{Name: s.name, Kind: "policy", Type: "validate"}
	h.conditions = match.NewConditions(owner, h.compiler, s.conditions, s.failure, m)
	return h
}

// timed wraps compile to observe its duration.
func timed[T, P any](m *match.Metrics, compile func(T) P) func(T) P {
	return func(obj T) P {
		defer func(begin time.Time) { m.Compiled(time.Since(begin)) }(time.Now())
		return compile(obj)
	}
}

// binding selects where a policy applies.
type binding struct {
	name, policy string
	criteria     *match.Criteria // nil if the binding applies everywhere
	ref          *admissionv1.ParamRef
	selector     labels.Selector // selects parameters, unless ref names one
	err          error           // error of an invalid selector
	actions      []admissionv1.ValidationAction
}

func newBinding(name, policy string, m *admissionv1.MatchResources, ref *admissionv1.ParamRef,
	actions []admissionv1.ValidationAction) *binding {
	b := &binding{name: name, policy: policy, ref: ref, actions: actions}
	if m != nil {
		b.criteria = match.NewCriteria(m)
	}
	if ref != nil && ref.Selector != nil {
		b.selector, b.err = metav1.LabelSelectorAsSelector(ref.Selector)
	}
	return b
}

// applies reports whether the binding applies to a request.
func (b *binding) applies(ctx context.Context, r *match.Request) (bool, error) {
	if b.criteria == nil {
		return true, nil
	}
	_, ok, err := b.criteria.Match(ctx, r)
	return ok, err
}

// hook is a policy with its bindings.
type hook[P any] struct {
	policy   P
	bindings []*binding
}

// hookIndex joins the policies of one kind with their bindings, as the caches have them.
type hookIndex[P interface{ policyName() string }] struct {
	// static has the policies in manifests; nil means none.
	static   *manifest.Source[[]hook[P]]
	policies func(context.Context) (*admission.DerivedValues[P], error)
	bindings func(context.Context) (*admission.DerivedValues[*binding], error)
	cached   atomic.Pointer[joinedHooks[P]]
}

func (h *compiledPolicy) policyName() string { return h.name }

// joinedHooks are hooks with the policies and bindings that they were built from.
type joinedHooks[P any] struct {
	policies *admission.DerivedValues[P]
	bindings *admission.DerivedValues[*binding]
	hooks    []hook[P]
}

// current returns the hooks of all policies with bindings, in the order of names.
func (h *hookIndex[P]) current(ctx context.Context) ([]hook[P], error) {
	bindings, err := h.bindings(ctx)
	if err != nil || len(bindings.All) == 0 {
		return nil, err
	}
	policies, err := h.policies(ctx)
	if err != nil || len(policies.All) == 0 {
		return nil, err
	}
	if j := h.cached.Load(); j != nil && j.policies == policies && j.bindings == bindings {
		return j.hooks, nil
	}
	j := &joinedHooks[P]{policies: policies, bindings: bindings}
	j.hooks = join(policies.All, bindings.All)
	h.cached.Store(j)
	return j.hooks, nil
}

// join returns the policies that have bindings, with these.
func join[P interface{ policyName() string }](policies []P, bindings []*binding) (hooks []hook[P]) {
	byPolicy := map[string][]*binding{}
	for _, b := range bindings {
		byPolicy[b.policy] = append(byPolicy[b.policy], b)
	}
	for _, p := range policies {
		if list := byPolicy[p.policyName()]; len(list) > 0 {
			hooks = append(hooks, hook[P]{p, list})
		}
	}
	return hooks
}

// applicable returns the hooks for a request: those of manifests, and then those of the API.
func (h *hookIndex[P]) applicable(ctx context.Context, a *registry.Attributes) ([]hook[P], error) {
	static := h.static.Current()
	if isConfiguration(a) {
		return static, nil
	}
	hooks, err := h.current(ctx)
	if err == nil && len(static)+len(hooks) == 0 || match.IsReview(a) {
		return nil, nil
	}
	if len(static) == 0 || err != nil {
		return hooks, err
	}
	return slices.Concat(static, hooks), nil
}

// isConfiguration reports whether only policies in manifests apply to a resource: to policies and
// bindings no others apply, so that an invalid one can always be repaired.
func isConfiguration(a *registry.Attributes) bool {
	if a.Resource.Versions[0].Group != admissionv1.GroupName {
		return false
	}
	switch a.Resource.Name {
	case "validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings":
		return true
	}
	return false
}
