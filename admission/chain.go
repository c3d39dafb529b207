package admission

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// Plugin is an admission plugin. Mutate or Validate may be nil.
type Plugin struct {
	// Name is kube-apiserver's name of the plugin, for example "NamespaceLifecycle".
	Name string
	// Handles selects the requests for which the plugin is called.
	Handles []Handles
	// Mutate may change a.Object, Validate may not. Their errors are the response to the client.
	Mutate, Validate func(ctx context.Context, a *registry.Attributes) error
	// IsIdle reports whether there is nothing to do for any request, for example because no
	// policy exists. The chain then does not call the plugin. Nil means never.
	IsIdle func() bool
}

// Allowed reports whether user is authorized for the request in info, and if not, the reason.
type Allowed func(ctx context.Context, user *request.User, info *request.Info) (ok bool, reason string, err error)

// Handles selects verbs on resources. A subresource follows a slash: "pods/ephemeralcontainers". No
// resources select all resources and subresources.
type Handles struct {
	Verbs     []string
	Resources []schema.GroupResource
}

// Chain runs plugins in order. It implements registry.Admission.
type Chain struct {
	// named holds the plugins of each resource that a plugin names; others holds, by verb, those of
	// all other resources. Both are immutable.
	named  map[target]*steps
	others map[string]*steps
}

type target struct{ group, resource, subresource, verb string }

// steps are the plugins for one verb on one resource.
type steps struct {
	mutate, validate phase
}

type phase struct {
	steps   []step
	latency *latency
}

type step struct {
	name    string // of the plugin
	run     func(ctx context.Context, a *registry.Attributes) error
	isIdle  func() bool // nil means never
	latency *latency
}

// NewChain returns the chain of plugins, which are in the order of execution, indexed by verb and
// resource. It registers the metrics of the chain unless reg is nil.
func NewChain(plugins []Plugin, reg prometheus.Registerer) (*Chain, error) {
	m, err := newMetrics(reg)
	if err != nil {
		return nil, err
	}
	c := &Chain{named: map[target]*steps{}, others: map[string]*steps{}}
	for _, p := range plugins {
		for _, h := range p.Handles {
			for _, verb := range h.Verbs {
				c.others[verb] = nil
				for _, r := range h.Resources {
					c.named[targetOf(r, verb)] = nil
				}
			}
		}
	}
	for verb := range c.others {
		c.others[verb] = m.steps(plugins, verb, func(h Handles) bool { return len(h.Resources) == 0 })
	}
	for t := range c.named {
		c.named[t] = m.steps(plugins, t.verb, func(h Handles) bool { return h.names(t) })
	}
	return c, nil
}

// targetOf splits a resource into resource and subresource.
func targetOf(r schema.GroupResource, verb string) target {
	t := target{group: r.Group, resource: r.Resource, verb: verb}
	for i := range r.Resource {
		if r.Resource[i] == '/' {
			t.resource, t.subresource = r.Resource[:i], r.Resource[i+1:]
			break
		}
	}
	return t
}

func (h Handles) names(t target) bool {
	for _, r := range h.Resources {
		if targetOf(r, t.verb) == t {
			return true
		}
	}
	return len(h.Resources) == 0
}

// steps returns the plugins that handle verb on matching resources.
func (m *metrics) steps(plugins []Plugin, verb string, matches func(Handles) bool) *steps {
	s := &steps{mutate: phase{latency: m.phase(verb, "admit")}, validate: phase{latency: m.phase(verb, "validate")}}
	for _, p := range plugins {
		for _, h := range p.Handles {
			if !slices.Contains(h.Verbs, verb) || !matches(h) {
				continue
			}
			if p.Mutate != nil {
				s.mutate.steps = append(s.mutate.steps, step{p.Name, p.Mutate, p.IsIdle, m.plugin(p.Name, verb, "admit")})
			}
			if p.Validate != nil {
				s.validate.steps = append(s.validate.steps, step{p.Name, p.Validate, p.IsIdle, m.plugin(p.Name, verb, "validate")})
			}
			break
		}
	}
	return s
}

// stepsFor returns the plugins for a, or nil if there are none.
func (c *Chain) stepsFor(a *registry.Attributes) *steps {
	if s, ok := c.named[target{a.Resource.Versions[0].Group, a.Resource.Name, a.Subresource, a.Verb}]; ok {
		return s
	}
	return c.others[a.Verb]
}

// Mutate implements registry.Admission. It reinvokes the plugins if a later one changed the object.
func (c *Chain) Mutate(ctx context.Context, a *registry.Attributes) error {
	s := c.stepsFor(a)
	if s == nil {
		return nil
	}
	err := s.mutate.run(ctx, a)
	if err == nil && a.BeginReinvocation() {
		err = s.mutate.run(ctx, a)
	}
	return err
}

// Validate implements registry.Admission.
func (c *Chain) Validate(ctx context.Context, a *registry.Attributes) error {
	if s := c.stepsFor(a); s != nil {
		return s.validate.run(ctx, a)
	}
	return nil
}

// record records, for the account of the request, that the plugin ran, how it changed the object, and whether it refused it.
func (s *step) record(ctx context.Context, a *registry.Attributes, start time.Time, took time.Duration, err error) {
	request.CurrentSpan(ctx).Did(s.name, start, took)
	if err != nil {
		a.Scope.Account.Refuse(request.Refusal{By: request.RefusedByPlugin, Name: s.name})
		return
	}
	a.RecordState(s.name)
}

// run calls the plugins until one returns an error.
func (p *phase) run(ctx context.Context, a *registry.Attributes) error {
	if len(p.steps) == 0 {
		return nil
	}
	begin := time.Now()
	last := begin
	for i := range p.steps {
		var err error
		if isIdle := p.steps[i].isIdle; isIdle == nil || !isIdle() {
			err = p.steps[i].run(ctx, a)
		}
		now := time.Now()
		p.steps[i].latency.observe(now.Sub(last), err)
		if a.Scope.Account != nil {
			p.steps[i].record(ctx, a, last, now.Sub(last), err)
		}
		if last = now; err != nil {
			p.latency.observe(now.Sub(begin), err)
			return err
		}
	}
	p.latency.observe(last.Sub(begin), nil)
	return nil
}
