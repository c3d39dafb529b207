package admission

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/registry"
)

// Plugin is one decision. Mutate or Validate may be nil.
type Plugin struct {
	// Name is as kube-apiserver has it: "NamespaceLifecycle".
	Name string
	// Handles says what the plugin is asked about. It is not called for anything
	// else.
	Handles []Handles
	// Mutate may change a.Object; Validate may not. The errors of both are what
	// the client sees.
	Mutate, Validate func(ctx context.Context, a *registry.Attributes) error
}

// Handles are verbs on resources. A subresource stands behind a slash:
// "pods/ephemeralcontainers". No resources means all, with all subresources.
type Handles struct {
	Verbs     []string
	Resources []schema.GroupResource
}

// Chain runs plugins in their order. It implements registry.Admission.
type Chain struct {
	// named are the plugins for resources that some plugin names; others, by
	// verb, those for any other resource. Both are made once and only read.
	named  map[target]*steps
	others map[string]*steps
}

type target struct{ group, resource, subresource, verb string }

// steps are the plugins for one verb on one resource.
type steps struct {
	mutate, validate phase
}

type phase struct {
	steps []step
	done  outcome
}

type step struct {
	run  func(ctx context.Context, a *registry.Attributes) error
	took outcome
}

// newChain sorts plugins, which are in their order, by what they handle.
func newChain(plugins []Plugin, m *metrics) *Chain {
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
	return c
}

// targetOf splits the subresource off.
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

// steps are those of plugins that handle verb on what matches.
func (m *metrics) steps(plugins []Plugin, verb string, matches func(Handles) bool) *steps {
	s := &steps{mutate: phase{done: m.phase(verb, "admit")}, validate: phase{done: m.phase(verb, "validate")}}
	for _, p := range plugins {
		for _, h := range p.Handles {
			if !slices.Contains(h.Verbs, verb) || !matches(h) {
				continue
			}
			if p.Mutate != nil {
				s.mutate.steps = append(s.mutate.steps, step{p.Mutate, m.plugin(p.Name, verb, "admit")})
			}
			if p.Validate != nil {
				s.validate.steps = append(s.validate.steps, step{p.Validate, m.plugin(p.Name, verb, "validate")})
			}
			break
		}
	}
	return s
}

// of finds the plugins for a; nil when there are none.
func (c *Chain) of(a *registry.Attributes) *steps {
	if s, ok := c.named[target{a.Resource.Versions[0].Group, a.Resource.Name, a.Subresource, a.Verb}]; ok {
		return s
	}
	return c.others[a.Verb]
}

// Mutate implements registry.Admission. Plugins are run a second time when one
// of them changed what others have seen.
func (c *Chain) Mutate(ctx context.Context, a *registry.Attributes) error {
	s := c.of(a)
	if s == nil {
		return nil
	}
	err := s.mutate.run(ctx, a)
	if err == nil && a.BeginRerun() {
		err = s.mutate.run(ctx, a)
	}
	return err
}

// Validate implements registry.Admission.
func (c *Chain) Validate(ctx context.Context, a *registry.Attributes) error {
	if s := c.of(a); s != nil {
		return s.validate.run(ctx, a)
	}
	return nil
}

// run runs the steps up to the first that refuses.
func (p *phase) run(ctx context.Context, a *registry.Attributes) error {
	if len(p.steps) == 0 {
		return nil
	}
	begin := time.Now()
	last := begin
	for i := range p.steps {
		err := p.steps[i].run(ctx, a)
		now := time.Now()
		p.steps[i].took.observe(now.Sub(last), err)
		if last = now; err != nil {
			p.done.observe(now.Sub(begin), err)
			return err
		}
	}
	p.done.observe(last.Sub(begin), nil)
	return nil
}

// outcome observes how long something took, by whether it refused.
type outcome struct{ admitted, rejected []prometheus.Observer }

func (o outcome) observe(d time.Duration, err error) {
	observers := o.admitted
	if err != nil {
		observers = o.rejected
	}
	for _, x := range observers {
		x.Observe(d.Seconds())
	}
}
