package server

import (
	"maps"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/handlers"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// parts is what a server is put together of. Each step uses what the steps
// before it made.
type parts struct {
	*Server
	metrics  *prometheus.Registry
	inflight *apf.Inflight
	ledger   *quota.Ledger

	own       *certificates
	trust     controllers.Trust
	gates     features.Gates
	catalogue *api.Catalogue
	reg       *registry.Registry
	flow      flowControl
	published *published
	self      *identity
	steps     *bootSteps
	logging   *logProgress
	access    *accessControl
	admission registry.Admission
	known     *identities
}

// assemble makes everything that stands behind the listeners. It reads and writes
// nothing in the store: boot does.
func (s *Server) assemble(l net.Listener) (*parts, error) {
	p := &parts{Server: s, metrics: newMetrics(), inflight: apf.NewInflight(nil), ledger: quota.NewLedger()}
	s.logger, p.logging = watchLog(s.logger)
	var err error
	if p.own, err = s.loadCredentials(l); err != nil {
		return nil, err
	}
	p.trust = p.trustIn(p.own)
	if err := p.openRegistry(); err != nil {
		return nil, err
	}
	p.published = p.publication(p.catalogue, p.reg, l)
	p.published.trust, p.published.gates = p.trust, p.gates
	p.steps = newBootSteps(&s.o, p.catalogue)
	if p.flow, err = p.newFlowControl(p.reg, p.catalogue, p.metrics, p.inflight); err != nil {
		return nil, err
	}
	if err := p.guard(); err != nil {
		return nil, err
	}
	return p, p.answer()
}

// openRegistry makes the store, and the registry of the kinds that there are.
func (p *parts) openRegistry() error {
	if err := p.readGates(); err != nil {
		return err
	}
	resources, err := p.o.resources()
	if err != nil {
		return err
	}
	if p.catalogue, err = api.New(resources...); err != nil {
		return err
	}
	if p.store, err = p.newStore(); err != nil {
		return err
	}
	p.reg, err = registry.New(p.store, p.catalogue, registry.Options{
		EtcdPrefix: p.o.EtcdPrefix,
		EventTTL:   p.o.EventTTL,
		Pools:      p.o.pools(),
		Schemas:    ssa.Published(p.catalogue),
		Virtual:    map[string]registry.Source{"componentstatuses": newComponentStatuses(p.store.Healthy)},
	})
	return err
}

// guard makes what decides who may do what, and what objects have to be like.
func (p *parts) guard() (err error) {
	if p.hooked, err = peercert.New(p.metrics, "webhooks"); err != nil {
		return err
	}
	if p.access, err = newAccessControl(&p.o, p.gates, p.reg, p.metrics, webhookDialer(p.hooked)); err != nil {
		return err
	}
	chain, err := p.newAdmission(p.gates, p.catalogue, p.reg, p.access.decide, p.metrics, p.ledger)
	if err != nil {
		return err
	}
	p.admission = &authz.Escalation{Admission: chain, Authorizer: p.access.decide, Roles: p.access.roles}
	p.reg.SetAccess(&authz.Access{Authorizer: p.access.decide, Registry: p.reg})
	if p.known, err = p.newIdentities(p.catalogue, p.reg, p.own.ca.certPEM, p.metrics); err != nil {
		return err
	}
	reviews := authz.Reviews(p.access.decide)
	maps.Copy(reviews, p.known.reviews(&p.o))
	p.reg.SetReviews(reviews)
	return nil
}

// answer makes what answers requests.
func (p *parts) answer() (err error) {
	if p.proxy, err = newConnections(&p.o, p.own, p.ownAddresses()); err != nil {
		return err
	}
	if p.remotes, err = p.newRemotes(); err != nil {
		return err
	}
	origins, err := originPatterns(p.o.CORSAllowedOrigins)
	if err != nil {
		return err
	}
	p.handler, err = handlers.New(handlers.Config{
		Catalogue:                   p.catalogue,
		Registry:                    p.reg,
		Authenticator:               p.known,
		ProxyHeaders:                p.known.headers,
		Issuer:                      p.known.discovery(&p.o, p.URL),
		Authorizer:                  p.access.decide,
		Decisions:                   p.access.metrics,
		Checks:                      p.checks(),
		LivezGracePeriod:            p.o.LivezGracePeriod,
		Starting:                    true,
		AllowedOrigins:              origins,
		Version:                     Version(),
		RequestTimeout:              p.o.RequestTimeout,
		MinRequestTimeout:           p.o.MinRequestTimeout,
		Limiter:                     p.flow.limiter,
		Inflight:                    p.inflight,
		MaxRequestsInflight:         p.o.MaxRequestsInflight,
		MaxMutatingRequestsInflight: p.o.MaxMutatingRequestsInflight,
		Kubelets:                    api.Kubelets{AddressTypes: p.o.KubeletAddressTypes, Port: int32(p.o.KubeletPort)},
		NoProfiling:                 p.o.NoProfiling,
		Proxy:                       p.proxy,
		Aggregation:                 p.remotes,
		AggregationRedirects:        p.o.AggregatorRedirects,
		Logger:                      p.logger,
		Metrics:                     p.metrics,
	})
	return err
}

// newMetrics is the server's own registry, with what there is to tell of the
// process. In a process with several servers, that is the same from each.
func newMetrics() *prometheus.Registry {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return metrics
}
