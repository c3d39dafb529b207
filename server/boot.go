package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/server/bootstrap"
)

// The steps of a boot load the stored state and start the loops. A step with a health check
// finishes that check when its work is done.

// prepareBootstrap compiles the schemas of the objects that bootstrapObjects creates in an
// empty store, while other parts are built. A server with a data directory has created
// them at its first start.
func (p *builder) prepareBootstrap() error {
	if !p.ephemeral && !p.o.NoDataDir {
		return nil
	}
	p.wg.Go(func() {
		_ = recovery.Call(p.logger, "compiling schemas", func() { // the first writes do it then
			p.reg.PrepareFieldManagement(bootstrap.Resources()...)
		})
	})
	return nil
}

// loadCaches fills the caches from each etcd and starts to follow its changes.
func (p *builder) loadCaches(ctx context.Context) error {
	p.waiting.begin("reading all objects from etcd")
	for _, store := range p.allStores() {
		if err := store.Start(ctx); err != nil {
			return err
		}
	}
	p.steps.finish(stepCaches, stepObjectCounts, stepDefinitions, stepStorage, stepServiceCache, stepServiceIndex)
	return nil
}

// publishEndpoints creates the endpoints at which the cluster finds the server.
func (p *builder) publishEndpoints(ctx context.Context) error {
	if p.endpoints == nil {
		return nil
	}
	return p.endpoints.Publish(ctx)
}

// createLease creates or renews the server's lease.
func (p *builder) createLease(ctx context.Context) error {
	if p.lease == nil {
		return nil
	}
	if err := p.lease.Renew(ctx); err != nil {
		return fmt.Errorf("the server's lease: %w", err)
	}
	return nil
}

// bootstrapObjects creates the objects that every server has, where they are missing,
// and begins to renew the server's lease.
func (p *builder) bootstrapObjects(ctx context.Context) error {
	p.waiting.begin("writing the default objects")
	err := bootConcurrently(
		p.unlessUnavailable("the default objects", p.publication.CreateObjects),
		p.unlessUnavailable("the service kubernetes and its ServiceCIDR", p.publication.Publish),
		p.unlessUnavailable("the endpoints of the service kubernetes", p.publishEndpoints),
		p.unlessUnavailable("the objects of flow control", p.flow.controller.Bootstrap),
		p.unlessUnavailable("the server's lease", p.createLease),
	)(request.AsServer(ctx))
	if err != nil {
		return err
	}
	p.steps.finish(stepRoles, stepPriorityClasses, stepAutoregistration, stepService, stepServiceCIDR)
	p.runEvery("the service kubernetes and its ServiceCIDR", bootstrap.RefreshInterval, p.publication.Publish)
	if p.endpoints != nil {
		p.runEvery("the endpoints of the service kubernetes", bootstrap.RefreshInterval, p.endpoints.Refresh)
	}
	if p.lease != nil {
		p.runEvery("the server's lease", bootstrap.RefreshInterval, p.lease.Renew)
		p.keepWhenMoved("the server's lease", bootstrap.RefreshInterval, p.lease.Renew)
	}
	p.steps.finish(stepFlowProducer, stepIdentityLease, stepPeerAddress)
	return nil
}

// unlessUnavailable returns a step that logs an error that is due to a stored object. The start goes on
// then: another program, or a user who may write in a namespace, may have stored an object that the server
// cannot read or change. Only if etcd does not answer does the start fail.
func (p *builder) unlessUnavailable(what string, step func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := step(ctx)
		if err == nil {
			return nil
		}
		if registry.IsUnavailable(err) || ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		p.logger.Error("the start goes on although objects of the server cannot be written", "objects", what, "error", err)
		return nil
	}
}

// configureFlowControl configures flow control by its objects.
func (p *builder) configureFlowControl(ctx context.Context) error {
	if err := p.flow.controller.Configure(ctx); err != nil {
		return fmt.Errorf("flow control: %w", err)
	}
	p.steps.finish(stepFlowConsumer, stepFlowFilter, stepInflightFilter)
	return nil
}

// isUnresolved reports whether a definition has a resource that cannot be served, and whether it is namespaced. No
// request asks before the controllers are built.
func (p *builder) isUnresolved(ctx context.Context, r schema.GroupVersionResource) (namespaced, ok bool) {
	if p.builtIn.customKinds == nil {
		return false, false
	}
	return p.builtIn.customKinds.IsUnresolved(ctx, r)
}

// loadCustomKinds adds the custom kinds to the catalogue, and follows their
// definitions.
func (p *builder) loadCustomKinds(ctx context.Context) error {
	kinds := p.builtIn.customKinds
	if kinds != nil {
		p.waiting.begin("compiling the custom kinds")
		if err := kinds.Load(ctx); err != nil {
			return fmt.Errorf("custom kinds: %w", err)
		}
		p.runLoop("following custom kinds", func() { kinds.Run(p.lifetime) })
	}
	p.steps.finish(stepDefinitionsRead, stepCustomKinds)
	return nil
}

// loadAPIServices maintains APIServices: those of the group versions that this server
// serves, the availability of those of other servers, and the ConfigMap from which
// other servers learn how to authenticate users.
func (p *builder) loadAPIServices(ctx context.Context) error {
	if e := p.builtIn.extensions; e != nil {
		p.runLoop("publishing authentication", func() { e.Run(p.lifetime) })
	}
	p.steps.finish(stepExtensionInfo, stepProxyCertificate)
	if local, remote := p.builtIn.localServices, p.builtIn.remoteServices; local != nil {
		if err := local.Load(ctx); err != nil {
			return fmt.Errorf("local APIServices: %w", err)
		}
		p.runLoop("local APIServices", func() { local.Run(p.lifetime) })
		p.runLoop("remote APIServices", func() { remote.Run(p.lifetime) })
	}
	p.steps.finish(stepLocalServices, stepRemoteServices, stepServiceDiscovery, stepOpenAPIv2, stepOpenAPIv3)
	return nil
}

// findIssuers looks for the keys of OpenID Connect issuers.
func (p *builder) findIssuers(context.Context) error {
	if issuers := p.identities.issuers; issuers != nil {
		p.runLoop("finding issuers", func() { issuers.Run(p.lifetime) })
	}
	return nil
}

// serveResources ends the refusal of requests for resources, and starts the loops that
// belong to an API server rather than to a controller manager.
func (p *builder) serveResources(context.Context) error {
	for _, store := range p.allStores() {
		store.EndBootstrap()
	}
	p.handler.Started()
	loops := map[string]func(context.Context, reconcile.BaseConfig){
		stepNamespaces:    controllers.MaintainSystemNamespaces,
		stepTokenTracking: controllers.MaintainTokenTracking,
	}
	if p.gates.Enabled(features.APIServerIdentity) {
		loops[stepExpiredLeases] = controllers.DeleteExpiredIdentityLeases
	}
	for step, run := range loops {
		p.runLoop(step, func() { run(p.lifetime, p.controllerConfig.BaseConfig) })
		p.steps.finish(step)
	}
	p.holdElections()
	return nil
}

// beginRepair starts the loop that repairs allocations.
func (p *builder) beginRepair(context.Context) error {
	repaired := make(chan struct{})
	var once sync.Once
	p.runLoop("repairing allocations", func() {
		p.allocator.NewRepairer(p.logger).Run(request.AsServer(p.lifetime), repairInterval, func(err error) {
			if err == nil || !registry.IsUnavailable(err) { // objects that cannot be read must not keep the server from being ready
				p.steps.finish(stepRepair)
			}
			once.Do(func() { close(repaired) })
		})
	})
	p.repaired = repaired
	return nil
}

// awaitRepair waits for the first run of the loop. Requests are served meanwhile, because a
// repair may wait for a webhook that is a client of this server.
func (p *builder) awaitRepair(ctx context.Context) error {
	p.waiting.begin("checking the allocated addresses and ports")
	select {
	case <-p.repaired:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// startControllers starts the loops of flow control and the controllers that --controllers
// does not disable, without waiting for their first results.
func (p *builder) startControllers(context.Context) error {
	p.runFlowControl(p.flow)
	p.controllers = controllers.Start(p.lifetime, p.controllerConfig, p.o.Controllers.Off...)
	return nil
}

// repairInterval is the interval between repairs of allocations.
const repairInterval = 3 * time.Minute
