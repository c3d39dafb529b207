package server

import (
	"context"
	"fmt"
	"sync"

	"github.com/miniapiserver/miniapiserver/aggregation"
	"github.com/miniapiserver/miniapiserver/controllers"
)

// boot connects the store, loads what is in it, makes the objects that every
// server has, and starts what works beside requests. Each step that has a health
// check is finished when its work is done. After boot all requests are served;
// controllers are only made ready.
func (p *parts) boot(ctx context.Context) error {
	p.steps.finish(stepAdmission) // assemble made the plugins
	for _, step := range []func(context.Context) error{
		p.openCaches, p.populate, p.configureFlow, p.loadCustomKinds, p.loadServices,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	repaired := p.repair()
	p.store.EndBootstrap()
	p.handler.Started()
	p.runOwnLoops()
	select {
	case <-repaired:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// openCaches connects the store and fills the caches.
func (p *parts) openCaches(ctx context.Context) error {
	if err := p.connectStore(ctx); err != nil {
		return err
	}
	if err := p.store.Start(ctx); err != nil {
		return err
	}
	p.steps.finish(stepCaches, stepObjectCounts, stepDefinitions, stepStorage, stepServiceCache, stepServiceIndex)
	return nil
}

// populate makes the objects that every server has. Admission holds for all later
// writes: a stored webhook configuration whose webhook does not answer must not
// keep the server from starting, since only a running server can delete it.
func (p *parts) populate(ctx context.Context) (err error) {
	if err := bootstrap(ctx, p.published); err != nil {
		return err
	}
	if err := p.flow.keeper.Bootstrap(ctx); err != nil {
		return fmt.Errorf("flow control: %w", err)
	}
	p.steps.finish(stepRoles, stepPriorityClasses, stepAutoregistration, stepService, stepServiceCIDR)
	p.self, err = newIdentity(p.published, p.logger)
	if err == nil {
		err = p.self.renew(asServer(ctx))
	}
	if err != nil {
		return fmt.Errorf("the server's lease: %w", err)
	}
	p.steps.finish(stepFlowProducer, stepIdentityLease, stepPeerAddress)
	p.reg.SetAdmission(p.admission)
	p.keep("the server's lease", func() { p.self.run(asServer(p.lifetime)) })
	return nil
}

// configureFlow configures flow control by its objects, and follows them.
func (p *parts) configureFlow(ctx context.Context) error {
	if err := p.flow.keeper.Configure(ctx); err != nil {
		return fmt.Errorf("flow control: %w", err)
	}
	p.runFlowControl(p.flow)
	p.steps.finish(stepFlowConsumer, stepFlowFilter, stepInflightFilter)
	return nil
}

// loadCustomKinds brings the custom kinds into the catalogue and follows their
// definitions.
func (p *parts) loadCustomKinds(ctx context.Context) (err error) {
	if p.loops, err = p.controllersConfig(p.own, p.catalogue, p.reg); err != nil {
		return err
	}
	p.loops.Ledger, p.loops.Tokens = p.ledger, p.known.issuer
	follow, err := p.serveCustomKinds(ctx)
	if err != nil {
		return err
	}
	p.steps.finish(stepDefinitionsRead)
	p.keep("following custom kinds", follow)
	p.steps.finish(stepCustomKinds)
	return nil
}

// loadServices keeps what there is to keep of APIServices: those of what the server
// serves itself, what becomes of those of others, and what others are told.
func (p *parts) loadServices(ctx context.Context) error {
	if e := controllers.NewExtensions(p.loops, p.trust); e != nil {
		p.keep("publishing authentication", func() { e.Run(p.lifetime) })
	}
	p.steps.finish(stepExtensionInfo, stepProxyCertificate)
	if local := controllers.NewLocalServices(p.loops); local != nil {
		if err := local.Load(ctx); err != nil {
			return fmt.Errorf("local APIServices: %w", err)
		}
		metrics, err := aggregation.NewMetrics(p.metrics)
		if err != nil {
			return err
		}
		remote := controllers.NewRemoteServices(p.loops, p.remotes, metrics)
		p.keep("local APIServices", func() { local.Run(p.lifetime) })
		p.keep("remote APIServices", func() { remote.Run(p.lifetime) })
	}
	p.steps.finish(stepLocalServices, stepRemoteServices, stepServiceDiscovery, stepOpenAPIv2, stepOpenAPIv3)
	return nil
}

// repair starts the repair of allocations. The channel is closed after the first
// time.
func (p *parts) repair() <-chan struct{} {
	first := make(chan struct{})
	var once sync.Once
	p.keep("repairing allocations", func() {
		p.reg.NewRepairer(p.logger).Run(asServer(p.lifetime), repairInterval, func(err error) {
			if err == nil {
				p.steps.finish(stepRepair)
			}
			once.Do(func() { close(first) })
		})
	})
	return first
}

// runOwnLoops starts the loops that are part of an API server and not of a
// controller manager.
func (p *parts) runOwnLoops() {
	for step, run := range map[string]func(context.Context, controllers.Config){
		stepNamespaces:    controllers.KeepSystemNamespaces,
		stepExpiredLeases: controllers.DeleteExpiredIdentityLeases,
		stepTokenTracking: controllers.KeepTokenTracking,
	} {
		p.keep(string(step), func() { run(p.lifetime, p.loops) })
		p.steps.finish(step)
	}
}
