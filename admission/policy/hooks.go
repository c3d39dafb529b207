package policy

import (
	"context"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/registry"
)

// head is what policies of both kinds have.
type head struct {
	name       string
	criteria   *match.Criteria
	params     *schema.GroupVersionKind // nil: none
	ignore     bool                     // errors
	compiler   *expression.Compiler
	conditions *match.Conditions
}

// source is where a head comes from.
type source struct {
	name       string
	match      *admissionv1.MatchResources
	params     *admissionv1.ParamKind
	failure    *admissionv1.FailurePolicyType
	variables  []admissionv1.Variable
	conditions []admissionv1.MatchCondition
}

// compile compiles what policies of both kinds have.
func (s *source) compile(m *match.Metrics) head {
	h := head{name: s.name, ignore: s.failure != nil && *s.failure == admissionv1.Ignore}
	if s.match == nil { // which cannot be written
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

// timed compiles a policy, and counts how long it took.
func timed[T, P any](m *match.Metrics, compile func(T) P) func(T) P {
	return func(obj T) P {
		defer func(begin time.Time) { m.Compiled(time.Since(begin)) }(time.Now())
		return compile(obj)
	}
}

// binding is where a policy applies.
type binding struct {
	name, policy string
	criteria     *match.Criteria // nil: everywhere
	ref          *admissionv1.ParamRef
	selector     labels.Selector // of parameters, if they are not named
	err          error           // why parameters cannot be selected
	actions      []admissionv1.ValidationAction
}

func newBinding(name, policy string, m *admissionv1.MatchResources, ref *admissionv1.ParamRef, actions []admissionv1.ValidationAction) *binding {
	b := &binding{name: name, policy: policy, ref: ref, actions: actions}
	if m != nil {
		b.criteria = match.NewCriteria(m)
	}
	if ref != nil && ref.Selector != nil {
		b.selector, b.err = metav1.LabelSelectorAsSelector(ref.Selector)
	}
	return b
}

// applies tells whether the binding is about a request.
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

// hooks are those of one kind of policy, as the caches have them.
type hooks[P interface{ called() string }] struct {
	policies func(context.Context) (*admission.Made[P], error)
	bindings func(context.Context) (*admission.Made[*binding], error)
	current  atomic.Pointer[joined[P]]
}

func (h *head) called() string { return h.name }

// joined are hooks, and what they were made from.
type joined[P any] struct {
	policies *admission.Made[P]
	bindings *admission.Made[*binding]
	hooks    []hook[P]
}

// now are the hooks of policies that are bound, in the order of names.
func (h *hooks[P]) now(ctx context.Context) ([]hook[P], error) {
	bindings, err := h.bindings(ctx)
	if err != nil || len(bindings.All) == 0 {
		return nil, err
	}
	policies, err := h.policies(ctx)
	if err != nil || len(policies.All) == 0 {
		return nil, err
	}
	if j := h.current.Load(); j != nil && j.policies == policies && j.bindings == bindings {
		return j.hooks, nil
	}
	j := &joined[P]{policies: policies, bindings: bindings}
	of := map[string][]*binding{}
	for _, b := range bindings.All {
		of[b.policy] = append(of[b.policy], b)
	}
	for _, p := range policies.All {
		if list := of[p.called()]; len(list) > 0 {
			j.hooks = append(j.hooks, hook[P]{p, list})
		}
	}
	h.current.Store(j)
	return j.hooks, nil
}

// exempt are resources that no policy is about: policies themselves, so that a
// bad one can always be mended, and questions that decide about other requests.
func exempt(a *registry.Attributes) bool {
	switch a.Resource.Versions[0].Group {
	case admissionv1.GroupName:
		switch a.Resource.Name {
		case "validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings":
			return true
		}
	case "authentication.k8s.io":
		return a.Resource.Name == "tokenreviews" || a.Resource.Name == "selfsubjectreviews"
	case "authorization.k8s.io":
		return true
	}
	return false
}
