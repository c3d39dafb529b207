package policy

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// Config is what the plugins are made from. Objects and Authorizer must be set.
type Config struct {
	Objects *admission.Objects
	// Authorizer answers expressions that ask who may do what.
	Authorizer match.Authorizer
	// Schemas are what apply configurations are merged by.
	Schemas ssa.Schemas
	// Conditions are the metrics that policies share with webhooks; Metrics is
	// where their own are registered. Both may be nil.
	Conditions *match.Metrics
	Metrics    prometheus.Registerer
}

// shared is what both plugins use.
type shared struct {
	namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)
	params     params
	ask        match.Authorizer
	schemas    *knownSchemas
	metrics    *metrics
	shapes     match.Shapes
}

// request is what policies see of a write.
func (s *shared) request(a *registry.Attributes) *match.Request {
	r := match.NewRequest(a, s.namespaces)
	r.Shapes = &s.shapes
	return r
}

// Plugins makes both plugins.
func Plugins(c Config) ([]admission.Plugin, error) {
	m, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, err
	}
	s := &shared{namespaces: c.Objects.Namespaces(), params: params{c.Objects}, ask: c.Authorizer, metrics: m,
		schemas: &knownSchemas{find: c.Schemas, state: c.Objects.Kinds}}
	v := &validator{shared: s, hooks: hooks[*validating]{
		policies: admission.Follow(c.Objects, admissionv1.Resource("validatingadmissionpolicies"), compileValidating(c.Conditions)).Now,
		bindings: admission.Follow(c.Objects, admissionv1.Resource("validatingadmissionpolicybindings"), bindingOfValidating).Now,
	}}
	mu := &mutator{shared: s, hooks: hooks[*mutating]{
		policies: admission.Follow(c.Objects, admissionv1.Resource("mutatingadmissionpolicies"), compileMutating(c.Conditions)).Now,
		bindings: admission.Follow(c.Objects, admissionv1.Resource("mutatingadmissionpolicybindings"), bindingOfMutating).Now,
	}}
	return []admission.Plugin{
		{
			Name:    "MutatingAdmissionPolicy",
			Handles: []admission.Handles{{Verbs: []string{api.VerbCreate, api.VerbUpdate}}},
			Mutate:  mu.mutate,
		},
		{
			Name:     "ValidatingAdmissionPolicy",
			Handles:  []admission.Handles{{Verbs: []string{api.VerbCreate, api.VerbUpdate, api.VerbDelete, registry.VerbConnect}}},
			Validate: v.validate,
		},
	}, nil
}
