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

// Config configures the plugins. Objects and Authorizer are required.
type Config struct {
	Objects *admission.Objects
	// Authorizer implements the authorizer variables of expressions.
	Authorizer match.Authorizer
	// Schemas are the schemas for merging apply configurations.
	Schemas ssa.Schemas
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
}

// request returns the Request of a write.
func (s *shared) request(a *registry.Attributes) *match.Request {
	r := match.NewRequest(a, s.namespaces)
	r.Shapes = &s.shapes
	return r
}

// Plugins returns both plugins.
func Plugins(c Config) ([]admission.Plugin, error) {
	m, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, err
	}
	s := &shared{namespaces: c.Objects.Namespaces(), params: paramReader{c.Objects}, ask: c.Authorizer, metrics: m,
		schemas: &schemaCache{find: c.Schemas, state: c.Objects.CatalogueState}}
	v := &validator{shared: s, hooks: hookIndex[*validatingPolicy]{
		policies: admission.NewDerived(c.Objects, admissionv1.Resource("validatingadmissionpolicies"), compileValidating(c.Conditions)).Values,
		bindings: admission.NewDerived(c.Objects, admissionv1.Resource("validatingadmissionpolicybindings"), bindingOfValidating).Values,
	}}
	mu := &mutator{shared: s, hooks: hookIndex[*mutatingPolicy]{
		policies: admission.NewDerived(c.Objects, admissionv1.Resource("mutatingadmissionpolicies"), compileMutating(c.Conditions)).Values,
		bindings: admission.NewDerived(c.Objects, admissionv1.Resource("mutatingadmissionpolicybindings"), bindingOfMutating).Values,
	}}
	return []admission.Plugin{
		{
			Name:    "MutatingAdmissionPolicy",
			Handles: []admission.Handles{{Verbs: []string{api.VerbCreate, api.VerbUpdate}}},
			Mutate:  mu.mutate,
			IsIdle:  c.Objects.EmptinessOf(admissionv1.Resource("mutatingadmissionpolicybindings")), // no policy applies without one
		},
		{
			Name:     "ValidatingAdmissionPolicy",
			Handles:  []admission.Handles{{Verbs: []string{api.VerbCreate, api.VerbUpdate, api.VerbDelete, registry.VerbConnect}}},
			Validate: v.validate,
			IsIdle:   c.Objects.EmptinessOf(admissionv1.Resource("validatingadmissionpolicybindings")),
		},
	}, nil
}
