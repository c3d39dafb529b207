package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/internal/peercert"
	"github.com/miniapiserver/miniapiserver/internal/reload"
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
	if p.clientMetrics, err = outbound.NewMetrics(p.metrics); err != nil {
		return err
	}
	reloads, err := configmetrics.New(p.metrics, configmetrics.Options{Name: "authorization", ServerID: p.serverID, Stability: "BETA"})
	if err != nil {
		return err
	}
	roles, err := authz.NewRBAC(p.reg)
	if err != nil {
		return err
	}
	builder := &authz.Builder{
		RBAC: roles, Node: authz.NewNode(p.reg, p.gates), Metrics: metrics, Reloads: reloads, PolicyFile: p.o.Authorization.PolicyFile,
		Dial: p.webhookDialer(), Logger: p.o.Logger,
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

// webhookTimeout is the maximum time of a request to a webhook, including its response.
const webhookTimeout = 30 * time.Second

// webhookDialer returns a webhookDial whose clients are measured, and count outdated certificates.
func (p *parts) webhookDialer() webhookDial {
	return newWebhookDialer(func(t http.RoundTripper) http.RoundTripper {
		return p.clientMetrics.InstrumentTransport(p.webhookCertificates.InstrumentTransport(t))
	}, p.guard(), p.o.Logger)
}

// newWebhookDialer returns a webhookDial whose clients follow changes of the kubeconfig file and of
// the files that it names.
func newWebhookDialer(instrument func(http.RoundTripper) http.RoundTripper, guard outbound.Guard, logger *slog.Logger) webhookDial {
	return func(file string) (*http.Client, string, error) {
		target, err := reload.New("kubeconfig of a webhook", logger, func(files *reload.Files) (*webhookTarget, error) {
			t, err := readWebhookTarget(file, files, guard)
			if err == nil {
				t.transport = instrument(t.transport)
			}
			return t, err
		})
		if err != nil {
			return nil, "", err
		}
		client := outbound.Client(reloadingTransport{target})
		client.Timeout = webhookTimeout
		return client, target.Get().url.String(), nil
	}
}

// webhookTarget is the server that a kubeconfig file names, and a transport with its credentials.
type webhookTarget struct {
	url       *url.URL
	transport http.RoundTripper
}

func readWebhookTarget(file string, files *reload.Files, guard outbound.Guard) (*webhookTarget, error) {
	if _, err := files.Read(file); err != nil {
		return nil, err
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: file}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, err
	}
	if config.Host == "" {
		return nil, errors.New(file + " does not name a server")
	}
	t := &webhookTarget{}
	for _, in := range []struct {
		path *string
		data *[]byte
	}{{&config.CAFile, &config.CAData}, {&config.CertFile, &config.CertData}, {&config.KeyFile, &config.KeyData}} {
		if *in.path == "" || len(*in.data) > 0 {
			continue
		}
		if *in.data, err = files.Read(*in.path); err != nil {
			return nil, err
		}
		*in.path = "" // otherwise client-go starts a goroutine that polls the file
	}
	if t.url, _, err = rest.DefaultServerUrlFor(config); err != nil {
		return nil, err
	}
	config.Dial = guard.Dialer(net.Dialer{Timeout: webhookTimeout, KeepAlive: webhookTimeout})
	t.transport, err = rest.TransportFor(config)
	return t, err
}

// reloadingTransport sends requests to the server that a kubeconfig file names at the time of the request.
type reloadingTransport struct {
	target *reload.Value[*webhookTarget]
}

// RoundTrip implements http.RoundTripper.
func (t reloadingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	target := t.target.Get()
	r = r.Clone(r.Context())
	r.URL, r.Host = target.url, ""
	return target.transport.RoundTrip(r)
}
