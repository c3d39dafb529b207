package server

import (
	"cmp"
	"context"
	"errors"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/manifest"
	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/admission/plugins"
	"github.com/miniapiserver/miniapiserver/admission/policy"
	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/admission/webhook"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
	"github.com/miniapiserver/miniapiserver/kinds/admissionregistration"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// buildAdmission makes the admission plugins that the options choose.
func (p *builder) buildAdmission() error {
	configurations, files, err := admission.ReadConfigFile(p.o.Admission.ConfigFile)
	if err != nil {
		return fileError("admission-control-config-file", p.o.Admission.ConfigFile, err)
	}
	err = p.buildPlugins(configurations)
	var fault *admission.InitError
	if configurations != nil && errors.As(err, &fault) { // without configurations, all plugins can be built
		return fileError("admission-control-config-file", cmp.Or(files[fault.Plugin], p.o.Admission.ConfigFile), err)
	}
	return err
}

// buildPlugins makes the plugins with the configurations in files.
func (p *builder) buildPlugins(files map[string][]byte) error {
	p.ledger = quota.NewLedger()
	files = plugins.Enabled(files, p.o.Admission.EnablePlugins, p.o.Admission.DisablePlugins)
	manifests, err := p.manifestConfig()
	if err != nil {
		return err
	}
	allowed := func(ctx context.Context, user *request.User, info *request.Info) (bool, string, error) {
		decision, reason, err := p.access.decide.Authorize(ctx, user, info)
		return decision == authz.Allow, reason, err
	}
	objects := admission.NewObjects(p.catalogue, p.reg)
	conditions, err := match.NewMetrics(p.metrics)
	if err != nil {
		return err
	}
	policies, err := policy.New(policy.Config{
		Objects:    objects,
		Authorizer: allowed,
		Schemas:    ssa.Published(p.catalogue),
		Files:      files,
		Manifests:  manifests,
		Conditions: conditions,
		Metrics:    p.metrics,
	})
	if err != nil {
		return err
	}
	p.webhooks, err = webhook.New(webhook.Config{
		Registry:      p.reg,
		Objects:       objects,
		Authorizer:    allowed,
		Files:         files,
		Manifests:     manifests,
		Certificates:  p.webhookCertificates,
		ClientMetrics: p.clientMetrics,
		Dial:          p.o.Dial,
		Guard:         p.guard(),
		Logger:        p.o.Logger,
		Endpoints:     p.o.Aggregation.Routing,
		Gates:         p.gates,
		Conditions:    conditions,
		Metrics:       p.metrics,
	})
	if err != nil {
		return err
	}
	p.atEnd(func(context.Context) error { p.webhooks.Close(); return nil })
	release, err := p.o.release()
	if err != nil {
		return err
	}
	p.admission, err = plugins.New(plugins.Config{
		Enable:             p.o.Admission.EnablePlugins,
		Disable:            p.o.Admission.DisablePlugins,
		Files:              files,
		RefusePrivileged:   p.o.Admission.NoPrivileged,
		Objects:            objects,
		Plugins:            append(policies.Plugins(), p.webhooks.Plugins()...),
		Allowed:            allowed,
		Gates:              p.gates,
		Release:            release.Emulated,
		Dial:               p.webhookDialer(),
		NotReadySeconds:    *p.o.Admission.NotReadyTolerationSeconds,
		UnreachableSeconds: *p.o.Admission.UnreachableTolerationSeconds,
		Now:                p.clock.Now,
		Ledger:             p.ledger,
		Metrics:            p.metrics,
	})
	if err != nil {
		return err
	}
	p.manifestLoops = append(policies.Loops(), p.webhooks.Loops()...)
	p.steps.finish(stepAdmission)
	return nil
}

// manifestConfig returns the configuration of the policies and webhooks in files.
func (p *builder) manifestConfig() (manifest.Config, error) {
	metrics, err := configmetrics.New(p.metrics,
		configmetrics.Options{Name: "manifest_admission", Subject: "admission manifest", ServerID: p.serverID,
			Stability: "ALPHA", ByPlugin: true})
	if err != nil {
		return manifest.Config{}, err
	}
	release, err := p.o.release()
	if err != nil {
		return manifest.Config{}, err
	}
	kinds := func() []*api.Resource {
		return admissionregistration.ManifestKinds(p.gates, expression.NewExpressions(p.o.oldestCompatible(release)))
	}
	return manifest.Config{Kinds: kinds, Gates: p.gates, Metrics: metrics, Logger: p.logger}, nil
}
