package server

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/clock"
	"github.com/miniapiserver/miniapiserver/kinds/apiextensions"
	"github.com/miniapiserver/miniapiserver/lab"
	"github.com/miniapiserver/miniapiserver/lab/page"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Lab configures the lab, which explains what the server does. Its zero value turns the lab off.
type Lab struct {
	Enabled bool          // --lab
	Memory  int64         // --lab-memory; 0 means lab.DefaultMemory
	History time.Duration // --lab-history; 0 means an hour
	Page    int           // --lab-page: port of the page; 0 means that there is none, -1 a free port
	// SecondPort is --lab-second-port: port of the second address; 0 means that there is none, -1 a free port.
	SecondPort int
}

// defaultLabHistory is the minimum time for which a server with a lab keeps the history of etcd.
const defaultLabHistory = time.Hour

// makeClock makes the clock of a server with a lab. A fork begins with that of its origin, by which the objects are stamped.
func (p *builder) makeClock() error {
	if !p.o.Lab.Enabled {
		return nil
	}
	p.clock = &clock.Clock{}
	if p.o.forkOf != nil {
		p.clock.Restore(p.o.forkOf.clock.Setting())
	}
	p.atEnd(func(context.Context) error { p.clock.Stop(); return nil })
	return nil
}

// keepWhenMoved has f called by moves of the clock that skip an interval in which f would have been called.
func (p *builder) keepWhenMoved(name string, interval time.Duration, f func(context.Context) error) {
	last := p.clock.Now()
	p.clock.Keep(func(ctx context.Context) {
		now := p.clock.Now()
		if now.Sub(last).Abs() < interval {
			return
		}
		last = now
		if err := f(request.AsServer(ctx)); err != nil && p.lifetime.Err() == nil {
			p.logger.Warn("a periodic task failed", "task", name, "error", err)
		}
	})
}

// buildLab makes the lab, whose kinds the catalogue gets.
func (p *builder) buildLab() []*api.Resource {
	if !p.o.Lab.Enabled {
		return nil
	}
	p.lab = lab.New(lab.Config{Memory: p.o.Lab.Memory, Logger: p.logger, Clock: p.clock})
	p.atEnd(func(context.Context) error { return p.lab.Close() })
	return p.lab.Resources()
}

// storesOf returns the stores of the resources that the store of the server does not have.
func (p *builder) storesOf() map[schema.GroupResource]*storage.Store {
	if p.lab != nil {
		maps.Copy(p.otherStores, p.lab.Stores())
	}
	return p.otherStores
}

// virtualSources returns what computes the objects of resources that are not stored.
func (p *builder) virtualSources() map[string]registry.Source {
	out := map[string]registry.Source{"componentstatuses": newComponentStatuses(p.allStores(), p.o.Dial)}
	if p.lab != nil {
		p.changes = &lab.Changes{Requests: p.lab}
		out[lab.ChangesSource] = p.changes
	}
	return out
}

// connectLab connects the lab with the parts that it asks, and starts it.
func (p *builder) connectLab() error {
	if p.lab == nil {
		return nil
	}
	p.changes.Registry, p.changes.MayRead = p.reg, p.mayRead
	if err := p.lab.Connect(lab.Connections{
		Registry: p.reg,
		Settle:   p.settle,
		Save:     p.saveState,
		Find: func(r schema.GroupVersionResource) (*api.Resource, bool) {
			res, _, ok := p.catalogue.Lookup(r.GroupVersion(), r.Resource)
			return res, ok
		},
		MayRead:     p.mayRead,
		MayReadPath: p.mayReadPath,
		Transcode:   func(res *api.Resource) lab.Transcoder { return representation.Transcoder{Resource: res} },
		Between:     p.changes.Between,
		Nearest: func(user *request.User, info *request.Info) []v1alpha1.NearRule {
			var out []v1alpha1.NearRule
			for _, r := range p.access.roles.Nearest(p.lifetime, user, info) {
				out = append(out, v1alpha1.NearRule{Binding: r.Binding, Role: r.Role, Rule: r.Rule, Lacks: r.Lacks})
			}
			return out
		},
		Allowing: func(user *request.User, info *request.Info) string {
			r, _ := p.access.roles.AllowedBy(p.lifetime, user, info)
			return r.Rule
		},
	}); err != nil {
		return fmt.Errorf("the lab: %w", err)
	}
	p.runLoop("the lab", func() { p.lab.Run(p.lifetime) })
	return nil
}

// settle returns when the server has followed a rewind: when it serves the custom kinds that exist again, and has repaired the
// allocations. It waits for a bounded time, since a definition may be one that cannot be served.
func (p *builder) settle(ctx context.Context, objects []registry.Rewound) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for _, o := range objects {
		resource, group, _ := strings.Cut(o.Name, ".")
		if o.Resource.Resource != apiextensions.CustomResourceDefinitions || o.Namespace != "" {
			continue
		}
		for p.serves(schema.GroupResource{Group: group, Resource: resource}) == o.IsGone && ctx.Err() == nil {
			pause(ctx, time.Millisecond)
		}
	}
	if err := p.allocator.NewRepairer(p.logger).Repair(request.AsServer(ctx)); err != nil {
		p.logger.Warn("repair of allocations failed after a rewind", "error", err)
	}
}

// settleTimeout is the maximum time for which settle waits.
const settleTimeout = 3 * time.Second

// serves reports whether a resource is served.
func (p *builder) serves(gr schema.GroupResource) bool {
	g, _ := p.catalogue.Group(gr.Group)
	return slices.ContainsFunc(g.Versions, func(gv schema.GroupVersion) bool {
		_, _, ok := p.catalogue.Lookup(gv, gr.Resource)
		return ok
	})
}

// mayRead reports whether the user of ctx may get an object.
func (p *builder) mayRead(ctx context.Context, group, resource, namespace, name string) bool {
	info := &request.Info{IsResource: true, Verb: api.VerbGet, APIPrefix: "apis", Group: group, Version: "*", Resource: resource,
		Namespace: namespace, Name: name}
	decision, _, err := p.access.decide.Authorize(ctx, request.From(ctx).User, info)
	return err == nil && decision == authz.Allow
}

// mayReadPath reports whether the user of ctx may get a path that is that of no resource.
func (p *builder) mayReadPath(ctx context.Context, path string) bool {
	decision, _, err := p.access.decide.Authorize(ctx, request.From(ctx).User, &request.Info{Verb: api.VerbGet, Path: path})
	return err == nil && decision == authz.Allow
}

// faults returns the lab as the source of faults; nil if there is none.
func (p *builder) faults() request.Faults {
	if p.lab == nil {
		return nil
	}
	return p.lab
}

// recorder returns the lab as the recorder of requests; nil if there is none.
func (p *builder) recorder() request.Recorder {
	if p.lab == nil {
		return nil
	}
	return p.lab
}

// serveLabPage serves the page of the lab.
func (p *builder) serveLabPage(context.Context) error {
	if p.lab == nil || p.o.Lab.Page == 0 {
		return nil
	}
	transport, err := rest.TransportFor(p.LocalConfig())
	if err != nil {
		return fmt.Errorf("the page of the lab: %w", err)
	}
	served, err := page.Listen(page.Config{API: transport, Token: page.NewToken(), Log: p.logger}, max(p.o.Lab.Page, 0))
	if err != nil {
		return portError("lab-page", p.o.Lab.Page, "; use another one, or --lab-page -1 for a free one", err)
	}
	p.LabPage = served.URL()
	p.atEnd(func(context.Context) error { return served.Close() })
	return nil
}

// labFlags are the flags of the lab.
func labFlags(o *Options) []Flag {
	return []Flag{
		{Name: "lab", Value: boolean(&o.Lab.Enabled),
			Help: "If true, the server explains what it does: it serves the API group lab.miniapiserver.io, with the requests of the last minutes and the history of objects."},
		{Name: "lab-page", Value: orZero(number(&o.Lab.Page, -1, port(-1, "1 to 65535, 0 for none, or -1 for a free one"))),
			Help: "Port of 127.0.0.1 for the page of --lab, whose address with a token is printed at the start. If -1, a free port. If 0, there is no page."},
		{Name: "lab-second-port", Value: orZero(number(&o.Lab.SecondPort, 0, port(-1, "1 to 65535, 0 for none, or -1 for a free one"))),
			Help: "Port of a second address of a server with --lab, for clients behind a load balancer: Faults can match the requests that are sent to it, such as to have its cache lag. If -1, a free port. If 0, there is none."},
		{Name: "fork-of", Value: text(&o.Fork.Of, ""), Check: o.checkForkOf,
			Help: "File containing a kubeconfig of a server with --lab, with whose objects this server begins. It uses the certificates and keys in the directory pki beside the file, if it can read them. --data-dir must not have data yet."},
		{Name: "fork-checkpoint", Value: text(&o.Fork.Checkpoint, ""), Check: o.checkForkCheckpoint,
			Help: "Name of a Checkpoint of the server of --fork-of, with whose state this server begins. If empty, the present one."},
		{Name: "lab-memory", Value: number(&o.Lab.Memory, lab.DefaultMemory, labMemory),
			Help: "Maximum memory of --lab in bytes. The oldest requests are dropped."},
		{Name: "lab-history", Value: duration(&o.Lab.History, defaultLabHistory, notNegative),
			Help: "Minimum time for which --lab keeps the history of etcd, if --etcd-compaction-interval is shorter."},
	}
}

// labMemory checks that a lab has room for some requests.
func labMemory(n int64) error {
	if n != 0 && n < 1<<20 {
		return fmt.Errorf("%d is below 1048576", n)
	}
	return nil
}

// compactionInterval returns the age at which the history of etcd is compacted; 0 means never.
func (o *Options) compactionInterval() time.Duration {
	interval := o.Etcd.CompactionInterval
	if !o.Lab.Enabled || interval == 0 {
		return interval
	}
	return max(interval, cmp.Or(o.Lab.History, defaultLabHistory))
}
