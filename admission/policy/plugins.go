package policy

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/manifest"
	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// Config configures the plugins. Objects and Authorizer are required.
type Config struct {
	Objects *admission.Objects
	// Authorizer implements the authorizer variables of expressions.
	Authorizer match.Authorizer
	// Schemas are the schemas for merging apply configurations.
	Schemas ssa.Schemas
	// Files are the configurations of plugins by plugin name. Manifests configures the objects in
	// the directories that they name.
	Files     map[string][]byte
	Manifests manifest.Config
	// Conditions are the metrics shared with webhooks. Metrics registers the metrics of policies.
	// Both may be nil.
	Conditions *match.Metrics
	Metrics    prometheus.Registerer
}

// shared is the common state of both plugins.
type shared struct {
	namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)
	params     paramReader
	ask        match.Authorizer
	schemas    *schemaCache
	metrics    *metrics
	shapes     match.Shapes
	// kinds returns the resource and the version of a registered kind.
	kinds func(schema.GroupVersionKind) (*api.Resource, *api.Version, bool)
}

// request returns the Request of a write.
func (s *shared) request(a *registry.Attributes) *match.Request {
	r := match.NewRequest(a, s.namespaces)
	r.Shapes = &s.shapes
	return r
}

// selects reports whether a policy applies to a request, and in which form of the object.
func (s *shared) selects(ctx context.Context, p *compiledPolicy, r *match.Request) (match.Form, bool, error) {
	form, ok, err := p.criteria.Match(ctx, r)
	if err == nil && ok {
		err = s.params.checkKind(p)
	}
	return form, ok, err
}

// paramsOf returns the parameters with which a binding applies its policy to a request, none if it does not.
func (s *shared) paramsOf(ctx context.Context, p *compiledPolicy, b *binding, r *match.Request) ([]param, error) {
	if ok, err := b.applies(ctx, r); err != nil || !ok {
		return nil, err
	}
	return s.params.list(ctx, p, b, r.In)
}

// rejection is the error of a policy that refuses a request.
type rejection struct {
	policy, binding string // binding may be empty
	message         string
	reason          metav1.StatusReason
	decided         *decision // of a validation; nil for other rejections
}

// record records the rejection for the account of the request.
func (r *rejection) record(account *request.Account) {
	refusal := request.Refusal{By: request.RefusedByPolicy, Name: r.policy}
	if r.binding != "" {
		refusal.Name += "/" + r.binding
	}
	if r.decided != nil {
		refusal.Expression, refusal.Variables = r.decided.expression, r.decided.variables
		if refusal.Expression == "" {
			refusal.Expression = expression.FailedIn(r.decided.err)
		}
	}
	account.Refuse(refusal)
}

// addMisconfigured adds the error of a policy or of a binding that cannot be evaluated, unless the policy ignores
// errors; b is nil if it is an error of the policy.
func addMisconfigured(list []rejection, p *compiledPolicy, b *binding, err error) []rejection {
	switch {
	case p.ignore:
		return list
	case b == nil:
		return append(list, rejection{p.name, "", "failed to configure policy: " + err.Error(), "", nil})
	}
	return append(list, rejection{p.name, b.name, "failed to configure binding: " + err.Error(), "", nil})
}

// Names of the plugins.
const (
	mutatingName   = "MutatingAdmissionPolicy"
	validatingName = "ValidatingAdmissionPolicy"
)

// Policies implements both plugins.
type Policies struct {
	objects    *admission.Objects
	validating *validator
	mutating   *mutator
}

// New returns the plugins. Policies in manifests apply from the start; Loops has what keeps them up
// to date.
func New(c Config) (*Policies, error) {
	m, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, err
	}
	s := &shared{namespaces: c.Objects.Namespaces(), params: paramReader{c.Objects}, ask: c.Authorizer, metrics: m,
		kinds:   c.Objects.RegisteredKind,
		schemas: &schemaCache{find: c.Schemas, state: c.Objects.CatalogueState}}
	compileV, compileM := compileValidating(c.Conditions), compileMutating(c.Conditions)
	v := &validator{shared: s, hooks: hookIndex[*validatingPolicy]{
		policies: admission.NewDerived(c.Objects, admissionv1.Resource("validatingadmissionpolicies"), compileV).Values,
		bindings: admission.NewDerived(c.Objects, admissionv1.Resource("validatingadmissionpolicybindings"), bindingOfValidating).Values,
	}}
	mu := &mutator{shared: s, hooks: hookIndex[*mutatingPolicy]{
		policies: admission.NewDerived(c.Objects, admissionv1.Resource("mutatingadmissionpolicies"), compileM).Values,
		bindings: admission.NewDerived(c.Objects, admissionv1.Resource("mutatingadmissionpolicybindings"), bindingOfMutating).Values,
	}}
	if v.hooks.static, err = openManifests(&c, validatingName, compileV, bindingOfValidating); err != nil {
		return nil, err
	}
	if mu.hooks.static, err = openManifests(&c, mutatingName, compileM, bindingOfMutating); err != nil {
		return nil, err
	}
	return &Policies{c.Objects, v, mu}, nil
}

// Plugins returns the plugins for the chain.
func (p *Policies) Plugins() []admission.Plugin {
	return []admission.Plugin{
		{
			Name:    mutatingName,
			Handles: []admission.Handles{{Verbs: []string{api.VerbCreate, api.VerbUpdate}}},
			Mutate:  p.mutating.mutate,
			IsIdle:  p.mutating.hooks.isIdle(p.objects.EmptinessOf(admissionv1.Resource("mutatingadmissionpolicybindings"))),
		},
		{
			Name:     validatingName,
			Handles:  []admission.Handles{{Verbs: []string{api.VerbCreate, api.VerbUpdate, api.VerbDelete, registry.VerbConnect}}},
			Validate: p.validating.validate,
			IsIdle:   p.validating.hooks.isIdle(p.objects.EmptinessOf(admissionv1.Resource("validatingadmissionpolicybindings"))),
		},
	}
}

// Loops returns functions that keep the policies in manifests up to date until their context ends.
func (p *Policies) Loops() []func(context.Context) {
	return slices.Concat(p.validating.hooks.static.Loop(), p.mutating.hooks.static.Loop())
}

// isIdle returns a function that reports whether no policy applies: without a binding, none does.
func (h *hookIndex[P]) isIdle(hasNoBindings func() bool) func() bool {
	if h.static == nil {
		return hasNoBindings
	}
	return func() bool { return len(h.static.Current()) == 0 && hasNoBindings() }
}
