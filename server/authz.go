package server

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
	"github.com/miniapiserver/miniapiserver/registry"
)

// accessControl is the access control of a server: who decides, and the roles that some decide by.
type accessControl struct {
	decide  authz.Authorizer
	roles   *authz.RBAC
	metrics *authz.Metrics
}

// newAccessControl puts the authorizers together that the options choose.
func newAccessControl(o *Options, gates features.Gates, reg *registry.Registry, registerer prometheus.Registerer, dial webhookDial) (*accessControl, error) {
	metrics, err := authz.NewMetrics(registerer)
	if err != nil {
		return nil, err
	}
	roles, err := authz.NewRBAC(reg)
	if err != nil {
		return nil, err
	}
	builder := &authz.Builder{
		RBAC: roles, Node: authz.NewNode(reg, gates), Metrics: metrics, PolicyFile: o.Authorization.PolicyFile,
		Dial: dial, Logger: o.Logger,
	}
	c := &accessControl{roles: roles, metrics: metrics}
	if o.Authorization.ConfigFile != "" {
		if c.decide, err = builder.BuildFile(o.Authorization.ConfigFile); err != nil {
			return nil, fmt.Errorf("--authorization-config: %w", err)
		}
	} else if c.decide, err = builder.Build(o.Authorization.authorizers()); err != nil {
		return nil, fmt.Errorf("--authorization-mode: %w", err)
	}
	return c, nil
}

// webhookDial makes a client of a file in the form of a kubeconfig, which says
// where it leads.
type webhookDial = func(file string) (client *http.Client, url string, err error)

// webhookDialer makes clients that count the certificates that they are shown.
func webhookDialer(shown *peercert.Counters) webhookDial {
	return func(file string) (*http.Client, string, error) {
		client, url, err := dialWebhook(file)
		if err == nil {
			client.Transport = shown.Watch(client.Transport)
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
		return nil, "", errors.New(file + " names no server")
	}
	config.Timeout = 30 * time.Second
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, "", err
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client, config.Host, nil
}
