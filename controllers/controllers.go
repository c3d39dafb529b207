// Package controllers has the loops without which the API is not usable: they
// empty namespaces that are being deleted, collect what owners leave behind,
// give namespaces what pods need in them, and approve, sign and clean away
// requests for certificates, gather the rules of cluster roles, and tell what is
// wrong with policies.
//
// A controller is a client like any other. It writes through the server's whole
// chain, over an in-memory transport and under the identity that
// kube-controller-manager's controller of that name has, so that authorization,
// admission, field management and conflicts hold for it too; and it reads from
// the caches that everybody reads from. It is level-triggered and idempotent:
// what it is woken for is only a hint, and what it does follows from the state
// that it finds.
//
// The nouns: a Controller runs, and nearly every one is a loop, which has
// sources of changes, makes keys of them, and works those off; a Client sends
// its requests; a Set is the controllers of one server, ended together.
package controllers

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Controller is one loop.
type Controller interface {
	// Run works until ctx is done.
	Run(ctx context.Context)
}

// entry is a controller that there is: by what name it is turned off, the name
// that kube-controller-manager had for it before, and how it is made. What is
// made can be nil, where the server lacks what it needs.
type entry struct {
	name, alias string
	make        func(Config) Controller
}

// entries are all controllers, by name.
func entries() []entry {
	return []entry{
		{clusterInfoName, "bootstrapsigner", newInfoSigner},
		{aggregationName, "clusterrole-aggregation", newAggregation},
		{approvingName, "csrapproving", newRequestApprover},
		{cleaningName, "csrcleaner", newRequestCleaner},
		{signingName, "csrsigning", newRequestSigner},
		{collectorName, "garbagecollector", newCollector},
		{namespacesName, "namespace", newNamespaces},
		{podGroupProtectionName, podGroupProtectionName, newPodGroupProtection},
		{volumeProtectionName, "pv-protection", newVolumeProtection},
		{claimProtectionName, "pvc-protection", newClaimProtection},
		{classProtectionName, classProtectionName, newClassProtection},
		{quotasName, "resourcequota", newQuotas},
		{rootCAName, "root-ca-cert-publisher", newRootCA},
		{accountsName, "serviceaccount", newAccounts},
		{tokenSecretsName, "serviceaccount-token", newTokenSecrets},
		{tokenCleanerName, "tokencleaner", newTokenCleaner},
		{policyStatusName, "validatingadmissionpolicy-status", newPolicyStatus},
	}
}

// Config is what controllers need. Handler, Registry and Catalogue must be set.
type Config struct {
	// Handler is the server's chain, which requests go through.
	Handler   http.Handler
	Registry  *registry.Registry
	Catalogue *api.Catalogue
	Logger    *slog.Logger
	Now       func() time.Time

	// RootCA has the certificates by which pods verify the server; without it
	// they are not told any.
	RootCA []byte
	// SigningCA signs requests for certificates, which last for SigningDuration
	// unless they ask for less; 0 means a year. Without it none are signed.
	SigningCA       func() (*CA, error)
	SigningDuration time.Duration
	// NamespaceConditionDelay is the time from the deletion of a namespace until
	// its conditions report what remains in it.
	NamespaceConditionDelay time.Duration
	// Ledger has what admission charges to quotas; nil is one of nothing.
	Ledger *quota.Ledger
	// Tokens signs those in Secrets; without it there are none.
	Tokens TokenSigner
}

// complete fills in what may be left out.
func (c Config) complete() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Set is a number of running controllers.
type Set struct {
	end context.CancelFunc
	wg  sync.WaitGroup
}

// Start runs all controllers but those that off names.
func Start(ctx context.Context, c Config, off ...string) *Set {
	c = c.complete()
	s := &Set{}
	ctx, s.end = context.WithCancel(ctx)
	for _, e := range entries() {
		if slices.Contains(off, e.name) {
			continue
		}
		if controller := e.make(c); controller != nil {
			s.wg.Go(func() { recovery.Keep(ctx, c.Logger, e.name, func() { controller.Run(ctx) }) })
		}
	}
	return s
}

// Names are those of all controllers.
func Names() []string {
	var names []string
	for _, e := range entries() {
		names = append(names, e.name)
	}
	return names
}

// Known returns the name of the controller that name means, which may be what
// it was called before.
func Known(name string) (string, bool) {
	for _, e := range entries() {
		if name == e.name || name == e.alias {
			return e.name, true
		}
	}
	return "", false
}

// Stop ends the controllers and returns when they have ended.
func (s *Set) Stop() {
	s.end()
	s.wg.Wait()
}
