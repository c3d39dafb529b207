package server

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/apiservices"
	"github.com/miniapiserver/miniapiserver/handlers/description"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/apiregistration"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Steps of the start that have a health check, named after kube-apiserver's post-start
// hooks. The comment of each names the code that does the work of the hook.
const (
	stepEncryptionReload = "start-encryption-provider-config-automatic-reload"           // encryption.Encryption.Run
	stepAdmission        = "start-apiserver-admission-initializer"                       // admission.Chain
	stepCaches           = "generic-apiserver-start-informers"                           // storage.Store
	stepFlowConsumer     = "priority-and-fairness-config-consumer"                       // apf.Controller.Configure
	stepFlowFilter       = "priority-and-fairness-filter"                                // apf.Limiter
	stepInflightFilter   = "max-in-flight-filter"                                        // apf.Inflight
	stepObjectCounts     = "storage-object-count-tracker-hook"                           // registry.Registry.StoredSize
	stepDefinitions      = "start-apiextensions-informers"                               // the cache of definitions
	stepCustomKinds      = "start-apiextensions-controllers"                             // customkinds.Controller.Run
	stepDefinitionsRead  = "crd-informer-synced"                                         // customkinds.Controller.Load
	stepNamespaces       = "start-system-namespaces-controller"                          // controllers.MaintainSystemNamespaces
	stepPeerAddress      = "peer-endpoint-reconciler-controller"                         // the address in the identity Lease
	stepExtensionInfo    = "start-cluster-authentication-info-controller"                // apiservices.Extensions
	stepIdentityLease    = "start-kube-apiserver-identity-lease-controller"              // identity
	stepExpiredLeases    = "start-kube-apiserver-identity-lease-garbage-collector"       // controllers.DeleteExpiredIdentityLeases
	stepElections        = "start-kube-apiserver-coordinated-leader-election-controller" // elections
	stepStorage          = "storage-readiness"                                           // storage.Store
	stepTokenTracking    = "start-legacy-token-tracking-controller"                      // controllers.MaintainTokenTracking
	stepRepair           = "start-service-ip-repair-controllers"                         // allocation.Repairer
	stepRoles            = "rbac/bootstrap-roles"                                        // authz.ReconcileBootstrapPolicy
	stepPriorityClasses  = "scheduling/bootstrap-system-priority-classes"                // bootstrap
	stepFlowProducer     = "priority-and-fairness-config-producer"                       // apf.Controller.Bootstrap
	stepService          = "bootstrap-controller"                                        // published
	stepServiceCIDR      = "start-kubernetes-service-cidr-controller"                    // published
	stepProxyCertificate = "aggregator-reload-proxy-client-cert"                         // reloadedPair
	stepServiceCache     = "start-kube-aggregator-informers"                             // aggregation.Services
	stepLocalServices    = "apiservice-status-local-available-controller"                // apiservices.LocalServices
	stepRemoteServices   = "apiservice-status-remote-available-controller"               // apiservices.RemoteServices
	stepServiceIndex     = "apiservice-registration-controller"                          // aggregation.Services
	stepServiceDiscovery = "apiservice-discovery-controller"                             // apiservices.RemoteServices
	stepAutoregistration = "kube-apiserver-autoregistration"                             // bootstrap
	stepOpenAPIv2        = "apiservice-openapi-controller"                               // apiservices.RemoteServices
	stepOpenAPIv3        = "apiservice-openapiv3-controller"                             // apiservices.RemoteServices
)

// checkRegistered is the check of APIServices, which is not a step.
const checkRegistered = "autoregister-completion"

// bootSteps are the steps of a start, in the order of their health checks.
type bootSteps struct {
	names []string
	done  map[string]*atomic.Bool
}

// newBootSteps returns the steps of a server with these options. As in kube-apiserver,
// disabled features have no step, and the default objects of a group have one only if the
// group is served.
func newBootSteps(o *Options, catalogue *api.Catalogue, gates features.Gates) *bootSteps {
	has := func(group string) bool {
		_, ok := catalogue.Group(group)
		return ok
	}
	b := &bootSteps{done: map[string]*atomic.Bool{}}
	add := func(wanted bool, names ...string) {
		if !wanted {
			return
		}
		for _, name := range names {
			b.names = append(b.names, name)
			b.done[name] = new(atomic.Bool)
		}
	}
	add(o.Encryption.Reload, stepEncryptionReload)
	add(true, stepAdmission, stepCaches)
	add(!o.Limits.NoPriorityAndFairness, stepFlowConsumer, stepFlowFilter)
	add(o.Limits.NoPriorityAndFairness, stepInflightFilter)
	add(true, stepObjectCounts, stepDefinitions, stepCustomKinds, stepDefinitionsRead, stepNamespaces)
	add(gates.Enabled(features.UnknownVersionInteroperabilityProxy), stepPeerAddress)
	add(true, stepExtensionInfo)
	add(gates.Enabled(features.APIServerIdentity), stepIdentityLease, stepExpiredLeases)
	add(gates.Enabled(features.CoordinatedLeaderElection), stepElections)
	add(gates.Enabled(features.WatchCacheInitializationPostStartHook), stepStorage)
	add(true, stepTokenTracking, stepRepair)
	add(has(rbacv1.GroupName), stepRoles)
	add(has(schedulingv1.GroupName), stepPriorityClasses)
	add(has(flowcontrolv1.GroupName), stepFlowProducer)
	add(true, stepService, stepServiceCIDR)
	add(o.Aggregation.ClientCertFile != "", stepProxyCertificate)
	add(true, stepServiceCache, stepLocalServices, stepRemoteServices, stepServiceIndex, stepServiceDiscovery,
		stepAutoregistration, stepOpenAPIv2, stepOpenAPIv3)
	return b
}

// finish marks steps as done. It ignores steps that this server does not have.
func (b *bootSteps) finish(names ...string) {
	for _, name := range names {
		if done := b.done[name]; done != nil {
			done.Store(true)
		}
	}
}

// check returns the health check of a step.
func (b *bootSteps) check(name string) description.Check {
	done := b.done[name]
	return description.Check{Name: "poststarthook/" + name, Health: true, Live: true, Ready: true, Boot: true, Run: func(context.Context) error {
		if !done.Load() {
			return errors.New("not finished")
		}
		return nil
	}}
}

// checks returns all health checks except ping, in kube-apiserver's order.
func (p *builder) checks() []description.Check {
	first := []description.Check{
		{Name: "log", Health: true, Live: true, Ready: true, Unlogged: true, Run: p.logging.check},
		{Name: "loopback-serving-certificate", Health: true, Live: true, Run: p.checkLoopback},
		{Name: "etcd", Health: true, Live: true, Ready: true,
			Run: withTimeout(p.o.Etcd.HealthcheckTimeout, p.store.Healthy)},
		{Name: "etcd-readiness", Ready: true, Run: withTimeout(p.o.Etcd.ReadycheckTimeout, p.store.Healthy)},
	}
	all := append(first, p.otherStoreChecks()...)
	all = append(all, p.encryptionChecks()...)
	all = append(all, description.Check{Name: "informer-sync", Ready: true, Run: p.checkCaches})
	for _, name := range p.steps.names {
		all = append(all, p.steps.check(name))
		if name == stepAutoregistration {
			all = append(all, description.Check{Name: checkRegistered, Health: true, Live: true, Ready: true, Boot: true, Run: p.checkRegistered()})
		}
	}
	return all
}

// withTimeout limits the duration of a check.
func withTimeout(timeout time.Duration, check func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return check(ctx)
	}
}

// checkLoopback fails if the certificates by which the server and its administrator connect
// on this machine have expired.
func (p *builder) checkLoopback(context.Context) error {
	now, own := p.clock.Now(), p.current.Load()
	for _, c := range []*x509.Certificate{own.CA.Cert, own.Serving.Cert, own.Admin.Cert} {
		if now.After(c.NotAfter) {
			return errors.New("loopback serving certificate is expired")
		}
	}
	return nil
}

// checkCaches fails while the caches are not loaded.
func (p *builder) checkCaches(context.Context) error {
	missing := p.reg.NotLoaded()
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("%d informers not started yet: [%s]", len(missing), strings.Join(missing, " "))
}

// checkRegistered returns the check that fails until every built-in group version has an
// APIService. It does not fail again when one is deleted later.
func (p *builder) checkRegistered() func(context.Context) error {
	var complete atomic.Bool
	services, version, ok := p.catalogue.Lookup(apiregistrationv1.SchemeGroupVersion, apiregistration.APIServices)
	return func(ctx context.Context) error {
		if complete.Load() || !ok { // without APIServices, discovery needs none
			return nil
		}
		registered := map[string]bool{}
		list, err := p.reg.List(ctx, registry.Target{Resource: services, Version: version},
			registry.ListOptions{Read: storage.Read{Match: storage.Any}})
		if err == nil {
			for _, item := range list.Items {
				registered[item.Name()] = true
			}
		}
		var missing []string
		for _, a := range apiservices.BuiltInServices(p.catalogue) {
			if !registered[a.Name] {
				missing = append(missing, a.Name)
			}
		}
		if len(missing) > 0 {
			slices.Sort(missing)
			return fmt.Errorf("missing APIService: [%s]", strings.Join(missing, " "))
		}
		complete.Store(true)
		return nil
	}
}
