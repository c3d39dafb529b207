// Package controllers has the control loops without which the API is not usable. They empty
// namespaces that are being deleted, collect garbage, create the default objects of
// namespaces, approve, sign and clean up certificate signing requests, aggregate cluster
// roles, check the types of admission policies, and keep the ranges of service addresses that are in use.
//
// A controller is an ordinary client. It sends its writes through the server's handler
// chain, over an in-memory transport and as the service account that
// kube-controller-manager's controller of that name has, so authorization, admission, field
// management and conflict detection apply to it. It reads from the shared caches.
// Controllers are level-triggered and idempotent: a change only triggers a sync, which acts
// on the state that it reads.
//
// A Controller runs until it is stopped; nearly every one is a Loop of package reconcile,
// which has the machinery that they share. A Set is the running controllers of a server.
//
// Package customkinds has the controller of CustomResourceDefinitions, and package apiservices
// those of API aggregation. Each file of this package is a controller, except for groups of
// files:
//
//   - csr*.go: the controllers of certificate signing requests.
//   - garbage.go, graph.go: the garbage collector.
//   - namespace.go, namespacecontent.go, namespaceconditions.go: the end of namespaces.
//   - protection.go and *protection.go: finalizers of objects that are in use.
//   - bootstraptoken.go, clusterinfo.go, tokencleaner.go: bootstrap tokens.
package controllers

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/aggregation"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// Controller is one control loop.
type Controller interface {
	// Run runs the controller until ctx is done.
	Run(ctx context.Context)
}

// controllerEntry is an available controller: the name by which it is turned off, its former
// name in kube-controller-manager, and its constructor. The constructor returns nil if the
// server lacks something that the controller needs.
type controllerEntry struct {
	name, alias string
	make        func(Config) Controller
}

// controllerEntries returns all controllers, sorted by name.
func controllerEntries() []controllerEntry {
	return []controllerEntry{
		{clusterInfoName, "bootstrapsigner", newClusterInfoSigner},
		{roleAggregationName, "clusterrole-aggregation", newRoleAggregator},
		{requestApproverName, "csrapproving", newRequestApprover},
		{requestCleanerName, "csrcleaner", newRequestCleaner},
		{requestSignerName, "csrsigning", newRequestSigner},
		{garbageCollectorName, "garbagecollector", newGarbageCollector},
		{namespaceControllerName, "namespace", newNamespaceController},
		{podGroupProtectionName, podGroupProtectionName, newPodGroupProtection},
		{volumeProtectionName, "pv-protection", newVolumeProtection},
		{claimProtectionName, "pvc-protection", newClaimProtection},
		{attributesClassProtectionName, attributesClassProtectionName, newAttributesClassProtection},
		{quotaControllerName, "resourcequota", newQuotaController},
		{rootCAName, "root-ca-cert-publisher", newRootCAPublisher},
		{serviceCIDRName, serviceCIDRName, newServiceCIDRs},
		{defaultAccountsName, "serviceaccount", newDefaultAccounts},
		{tokenSecretControllerName, "serviceaccount-token", newTokenSecretController},
		{storageMigratorName, storageMigratorName, newStorageMigrator},
		{tokenCleanerName, "tokencleaner", newTokenCleaner},
		{policyStatusName, "validatingadmissionpolicy-status", newPolicyStatus},
	}
}

// Config configures the controllers.
type Config struct {
	reconcile.BaseConfig
	// RootCA is the CA bundle that is published in every namespace, by which pods verify the
	// server. If it is empty, nothing is published.
	RootCA []byte
	// SigningCA returns the CA that signs certificate signing requests; nil turns signing
	// off. SigningDuration is the maximum lifetime of the certificates; 0 means a year.
	SigningCA       func() (*CA, error)
	SigningDuration time.Duration
	// NamespaceConditionDelay is the time from the deletion of a namespace until
	// its conditions report what remains in it.
	NamespaceConditionDelay time.Duration
	// Remotes are the remote servers whose objects are deleted with their namespace; nil means
	// that there are none.
	Remotes *aggregation.Services
	// Gates are the feature gates of the server.
	Gates features.Gates
	// Ledger has the quota charges of admission; nil means no charges.
	Ledger *quota.Ledger
	// Tokens signs the tokens in Secrets; nil turns such tokens off.
	Tokens TokenSigner
}

// Set is the running controllers of a server.
type Set struct {
	end context.CancelFunc
	wg  sync.WaitGroup
}

// Start runs all controllers except those in off.
func Start(ctx context.Context, c Config, off ...string) *Set {
	c.BaseConfig = c.BaseConfig.Complete()
	s := &Set{}
	ctx, s.end = context.WithCancel(ctx)
	for _, e := range controllerEntries() {
		if slices.Contains(off, e.name) {
			continue
		}
		if controller := e.make(c); controller != nil {
			s.wg.Go(func() { recovery.RestartOnPanic(ctx, c.Logger, e.name, func() { controller.Run(ctx) }) })
		}
	}
	return s
}

// Names returns the names of all controllers.
func Names() []string {
	var names []string
	for _, e := range controllerEntries() {
		names = append(names, e.name)
	}
	return names
}

// CanonicalName returns the name of the controller with this name or former name.
func CanonicalName(name string) (string, bool) {
	for _, e := range controllerEntries() {
		if name == e.name || name == e.alias {
			return e.name, true
		}
	}
	return "", false
}

// Stop ends the controllers and waits for them.
func (s *Set) Stop() {
	s.end()
	s.wg.Wait()
}
