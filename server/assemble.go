package server

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/admission/webhook"
	"github.com/miniapiserver/miniapiserver/aggregation"
	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/audit"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/authn/externaljwt"
	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/controllers/apiservices"
	"github.com/miniapiserver/miniapiserver/handlers"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/hooks"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
	"github.com/miniapiserver/miniapiserver/lab"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/registry/allocation"
	"github.com/miniapiserver/miniapiserver/server/bootstrap"
	"github.com/miniapiserver/miniapiserver/server/credentials"
	"github.com/miniapiserver/miniapiserver/server/tracing"
	"github.com/miniapiserver/miniapiserver/server/transport"
	"github.com/miniapiserver/miniapiserver/ssa"
	"github.com/miniapiserver/miniapiserver/storage"
	"github.com/miniapiserver/miniapiserver/storage/encryption"
)

// builder has the parts of a server while it starts, in the order in which start builds them.
// A Server keeps only what Stop and its callers use.
type builder struct {
	*Server
	ephemeral bool
	logging   *logProgress
	own       *credentials.Certificates                // as they were at the start
	current   atomic.Pointer[credentials.Certificates] // the newest ones, which renew replaces
	names     credentials.Names                        // in the serving certificate
	presented []credentials.ReloadedPair               // the certificates that the server shows to others
	// hasNewTokenKey: this start generated the key of service account tokens.
	hasNewTokenKey bool
	// kubeletClient and proxyClient are the client certificates for kubelets and for API servers.
	kubeletClient, proxyClient credentials.ReloadedPair

	encryption *encryption.Encryption // nil without --encryption-provider-config
	tracing    *tracing.Provider      // nil without --tracing-config-file
	etcdCalls  *storage.CallMetrics
	connecting <-chan error // the result of connecting the store; nil until that begins

	gates     features.Gates
	kinds     *builtInKinds
	catalogue *api.Catalogue
	others    []*storage.Store // of --etcd-servers-overrides
	// otherStores are the stores of the resources that are in another etcd.
	otherStores map[schema.GroupResource]*storage.Store
	steps       *bootSteps
	guards      *writeGuards
	trust       func() apiservices.Trust
	// clientCAs are the CAs of client certificates, and proxyCAs those of authenticating proxies,
	// nil without proxies.
	clientCAs, proxyCAs *authn.CAFile
	publication         *bootstrap.Publication
	lease               *bootstrap.Lease
	inflight            *apf.Inflight
	flow                flowControl
	// webhookCertificates counts the certificates that webhooks present.
	webhookCertificates *peercert.Counters
	// clientMetrics measures the requests to webhooks.
	clientMetrics *outbound.Metrics
	webhooks      *webhook.Webhooks // of admission
	converters    *hooks.Clients    // of conversion webhooks
	remotes       *aggregation.Services
	signer        *externaljwt.Signer // nil without --service-account-signing-endpoint
	auditor       *audit.Auditor      // nil if requests are not recorded
	changes       *lab.Changes        // nil without --lab
	access        *accessControl
	ledger        *quota.Ledger
	admission     *admission.Chain
	// manifestLoops keep the policies and webhooks in files up to date.
	manifestLoops    []func(context.Context)
	identities       *identities
	controllerConfig controllers.Config
	builtIn          builtInControllers
	allocator        *allocation.Allocator
	repaired         <-chan struct{} // closed after the first repair of allocations
}

// openLog wraps the logger, so that a health check detects a log that blocks.
func (p *builder) openLog() error {
	p.logger, p.logging = watchLog(p.o.Logger)
	return nil
}

// identify sets the identity of the server, which follows from the name of its host. It is empty if
// the feature is disabled.
func (p *builder) identify() error {
	gates, err := p.o.gates()
	if err != nil || !gates.Enabled(features.APIServerIdentity) {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	p.serverID = bootstrap.ServerID(host)
	return nil
}

// buildCatalogue builds the catalogue of the kinds that the feature gates and
// --runtime-config enable, and the list of the boot steps, some of which belong to a kind.
func (p *builder) buildCatalogue() (err error) {
	if p.metrics, err = newMetrics(&p.o); err != nil {
		return err
	}
	if p.gates, err = readGates(&p.o, p.logger, p.metrics); err != nil {
		return err
	}
	if p.kinds, err = p.o.builtInKinds(p.gates, p.clock); err != nil {
		return err
	}
	if p.catalogue, err = api.New(append(p.buildLab(), p.kinds.resources...)...); err != nil {
		return err
	}
	p.steps = newBootSteps(&p.o, p.catalogue, p.gates)
	return nil
}

// buildRegistry makes the registry of the kinds in the catalogue.
func (p *builder) buildRegistry() (err error) {
	for _, c := range []prometheus.Collector{storage.Metrics(p.allStores()...), p.etcdCalls} {
		if err := p.metrics.Register(c); err != nil {
			return fmt.Errorf("register metrics of the store: %w", err)
		}
	}
	p.guards = &writeGuards{}
	pools := p.o.pools()
	p.reg, err = registry.New(p.store, p.catalogue, registry.Options{
		EtcdPrefix:              p.o.Etcd.Prefix,
		EventTTL:                p.o.Limits.EventTTL,
		Now:                     p.clock.Now,
		Transformer:             p.transformers(),
		DeleteCollectionWorkers: p.o.Limits.DeleteCollectionWorkers,
		PrefersIPv6:             len(pools.Addresses) > 0 && pools.Addresses[0].Addr().Is6(),
		Allocators: func(r *registry.Registry) map[schema.GroupResource]registry.Allocator {
			p.allocator = allocation.New(r, allocation.Options{Gates: p.gates, Pools: pools, Now: p.clock.Now})
			return map[schema.GroupResource]registry.Allocator{allocation.ServiceResource(): p.allocator}
		},
		Schemas:              ssa.Published(p.catalogue),
		FieldManagers:        p.kinds.fields,
		Admission:            p.guards.currentAdmission,
		Access:               p.guards,
		Reviews:              p.guards.review,
		Stores:               p.storesOf(),
		UnconvertedIsCorrupt: p.gates.Enabled(features.AllowUnsafeMalformedObjectDeletion),
		Virtual:              p.virtualSources(),
	})
	if err != nil {
		return err
	}
	for _, c := range []prometheus.Collector{p.allocator.Metrics(), p.reg.Metrics()} {
		if err := p.metrics.Register(c); err != nil {
			return fmt.Errorf("register metrics of the registry: %w", err)
		}
	}
	return nil
}

// buildProxies makes the connections to kubelets, pods and services, and to the
// servers of aggregated APIs.
func (p *builder) buildProxies() (err error) {
	if p.proxy, err = newConnections(&p.o, p.kubeletClient, p.ownAddresses()); err != nil {
		return err
	}
	if p.remotes, err = p.newRemotes(); err == nil {
		p.atEnd(func(context.Context) error { p.remotes.Close(); return nil })
	}
	return err
}

// advertisedAddress returns the host and port that /api tells clients: the host of
// --external-hostname or the address at which other machines reach the server, or "".
func (p *builder) advertisedAddress() string {
	if address := p.externalAddress(); address != "" {
		return address
	}
	ip := bootstrap.AdvertiseAddress(net.ParseIP(cmp.Or(p.o.Serving.AdvertiseAddress, p.o.Serving.BindAddress)))
	if !ip.IsValid() {
		return ""
	}
	return netip.AddrPortFrom(ip, uint16(p.secure.Addr().(*net.TCPAddr).Port)).String()
}

// externalAddress returns the host of --external-hostname with the port of the server,
// or "".
func (p *builder) externalAddress() string {
	if p.o.Serving.ExternalHostname == "" {
		return ""
	}
	return net.JoinHostPort(p.o.Serving.ExternalHostname, strconv.Itoa(p.secure.Addr().(*net.TCPAddr).Port))
}

// publicURL returns the URL of the server in documents for others.
func (p *builder) publicURL() string {
	if address := p.externalAddress(); address != "" {
		return "https://" + address
	}
	return p.URL
}

// buildHandler makes the handler of all requests.
func (p *builder) buildHandler() error {
	origins, err := transport.OriginPatterns(p.o.Serving.CORSAllowedOrigins)
	if err != nil {
		return err
	}
	p.handler, err = handlers.New(handlers.Config{
		Catalogue:                   p.catalogue,
		Registry:                    p.reg,
		Authenticator:               p.identities,
		ProxyHeaders:                p.identities.headers,
		Issuer:                      p.identities.discovery(&p.o, p.publicURL()),
		ExternalAddress:             p.advertisedAddress(),
		Authorizer:                  p.access.decide,
		Recorder:                    p.recorder(),
		Faults:                      p.faults(),
		Auditor:                     p.auditor,
		Decisions:                   p.access.metrics,
		Checks:                      p.checks(),
		RetryDuringShutdown:         p.o.Lifecycle.ShutdownRetryAfter,
		LivezGracePeriod:            p.o.Lifecycle.LivezGracePeriod,
		Starting:                    true,
		AllowedOrigins:              origins,
		Version:                     p.o.Version(),
		RequestTimeout:              p.o.Limits.RequestTimeout,
		MinRequestTimeout:           p.o.Limits.MinRequestTimeout,
		Limiter:                     p.flow.limiter,
		Inflight:                    p.inflight,
		MaxRequestsInflight:         p.o.Limits.MaxRequestsInflight,
		MaxMutatingRequestsInflight: p.o.Limits.MaxMutatingRequestsInflight,
		Uncached:                    p.o.uncached(),
		Gates:                       p.gates,
		Kubelets: api.Kubelets{AddressTypes: p.o.Kubelets.AddressTypes,
			Port: int32(p.o.Kubelets.Port), WebSockets: p.gates.Enabled(features.ExtendWebSocketsToKubelet)},
		Flags:                p.shownFlags(),
		Now:                  p.clock.Now,
		NoProfiling:          p.o.NoProfiling,
		SetVerbosity:         p.o.SetVerbosity,
		Proxy:                p.proxy,
		IsUnresolved:         p.isUnresolved,
		Aggregation:          p.remotes,
		AggregationRedirects: p.o.Aggregation.Redirects,
		Logger:               p.logger,
		Tracer:               p.tracer(),
		Metrics:              p.metrics,
		SLIs:                 p.metrics.Sibling(),
	})
	return err
}

// buildPublication describes the addresses of this server for the cluster.
func (p *builder) buildPublication() (err error) {
	if p.trust, err = p.newTrust(); err != nil {
		return err
	}
	p.publication = &bootstrap.Publication{
		Catalogue: p.catalogue, Registry: p.reg, Allocator: p.allocator,
		Ranges: p.o.pools().Addresses, Advertise: bootstrap.AdvertiseAddress(net.ParseIP(cmp.Or(p.o.Serving.AdvertiseAddress,
			p.o.Serving.BindAddress))),
		NodePort: int32(p.o.Services.KubernetesNodePort),
		Port:     int32(p.secure.Addr().(*net.TCPAddr).Port), Trust: p.trust(), Gates: p.gates,
		KubeletClient: p.o.Kubelets.CertFile == "" && !p.o.NoDataDir, Logger: p.logger, Now: p.clock.Now,
	}
	if p.o.Services.EndpointReconciler != "none" {
		p.endpoints = &bootstrap.Endpoints{
			Publication: p.publication, Store: p.store,
			Shared: p.o.Services.EndpointReconciler == "lease" && len(p.o.Etcd.Servers) > 0,
		}
	}
	if !p.gates.Enabled(features.APIServerIdentity) {
		return nil
	}
	if p.lease, err = bootstrap.NewLease(p.publication); err != nil {
		return fmt.Errorf("the server's lease: %w", err)
	}
	return nil
}
