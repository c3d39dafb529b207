package server

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
)

// accessControl is the authorization of requests.
type accessControl struct {
	decide  authz.Authorizer
	roles   *authz.RBAC
	metrics *authz.Metrics
}

// buildAuthorization makes the authorizers that the options choose.
func (p *parts) buildAuthorization() error {
	metrics, err := authz.NewMetrics(p.metrics)
	if err != nil {
		return err
	}
	if p.webhookCertificates, err = peercert.New(p.metrics, "webhooks", "BETA"); err != nil {
		return err
	}
	roles, err := authz.NewRBAC(p.reg)
	if err != nil {
		return err
	}
	builder := &authz.Builder{
		RBAC: roles, Node: authz.NewNode(p.reg, p.gates), Metrics: metrics, PolicyFile: p.o.Authorization.PolicyFile,
		Dial: webhookDialer(p.webhookCertificates), Logger: p.o.Logger,
	}
	p.access = &accessControl{roles: roles, metrics: metrics}
	if p.o.Authorization.ConfigFile != "" {
		if p.access.decide, err = builder.BuildFile(p.o.Authorization.ConfigFile); err != nil {
			return fmt.Errorf("--authorization-config: %w", err)
		}
	} else if p.access.decide, err = builder.Build(p.o.Authorization.authorizers()); err != nil {
		return fmt.Errorf("--authorization-mode: %w", err)
	}
	return nil
}

// webhookDial returns a client for the server that a kubeconfig file names, and the URL of
// that server.
type webhookDial = func(file string) (client *http.Client, url string, err error)

// webhookDialer returns a webhookDial whose clients count outdated certificates.
func webhookDialer(certificates *peercert.Counters) webhookDial {
	return func(file string) (*http.Client, string, error) {
		client, url, err := dialWebhook(file)
		if err == nil {
			client.Transport = certificates.InstrumentTransport(client.Transport)
		}
		return client, url, err
	}
}

func dialWebhook(file string) (*http.Client, string, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: file}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, "", err
	}
	if config.Host == "" {
		return nil, "", errors.New(file + " does not name a server")
	}
	config.Timeout = 30 * time.Second
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, "", err
	}
	client.CheckRedirect = outbound.NoRedirect
	return client, config.Host, nil
}
