package server

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/admission/policy"
	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/admission/webhook"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// newAdmission puts the plugins together that the options choose.
func (s *Server) newAdmission(gates features.Gates, catalogue *api.Catalogue, reg *registry.Registry, authorizer authz.Authorizer, metrics prometheus.Registerer, ledger *quota.Ledger) (*admission.Chain, error) {
	files, err := admission.ReadConfigFile(s.o.AdmissionConfigFile)
	if err != nil {
		return nil, fmt.Errorf("--admission-control-config-file: %w", err)
	}
	allowed := func(ctx context.Context, user *request.User, info *request.Info) (bool, string, error) {
		decision, reason, err := authorizer.Authorize(ctx, user, info)
		return decision == authz.Allow, reason, err
	}
	objects := admission.NewObjects(catalogue, reg)
	conditions, err := match.NewMetrics(metrics)
	if err != nil {
		return nil, err
	}
	policies, err := policy.Plugins(policy.Config{
		Objects:    objects,
		Authorizer: allowed,
		Schemas:    ssa.Published(catalogue),
		Conditions: conditions,
		Metrics:    metrics,
	})
	if err != nil {
		return nil, err
	}
	s.webhooks, err = webhook.New(webhook.Config{
		Registry:     reg,
		Objects:      objects,
		Authorizer:   allowed,
		Files:        files,
		Certificates: s.hooked,
		Dial:         s.o.Dial,
		Endpoints:    s.o.AggregatorRouting,
		Conditions:   conditions,
		Metrics:      metrics,
	})
	if err != nil {
		return nil, err
	}
	return admission.New(admission.Config{
		Enable:             s.o.EnableAdmissionPlugins,
		Disable:            s.o.DisableAdmissionPlugins,
		Files:              files,
		Objects:            objects,
		Plugins:            append(policies, s.webhooks.Plugins()...),
		Allowed:            allowed,
		Gates:              gates,
		Dial:               webhookDialer(s.hooked),
		NotReadySeconds:    *s.o.NotReadyTolerationSeconds,
		UnreachableSeconds: *s.o.UnreachableTolerationSeconds,
		Ledger:             ledger,
		Metrics:            metrics,
	})
}
