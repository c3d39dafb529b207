package server

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/miniapiserver/miniapiserver/authn"
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
func (p *builder) buildAuthorization() error {
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
			return fileError("authorization-config", p.o.Authorization.ConfigFile, err)
		}
	} else if p.access.decide, err = builder.Build(p.o.Authorization.authorizers()); err != nil {
		return p.o.Authorization.fault(err)
	}
	return nil
}

// fault returns an error about the authorization modes with the name of the wrong flag.
func (a *Authorization) fault(err error) error {
	var policies *authz.PolicyFileError
	var kubeconfig *authz.KubeconfigError
	switch {
	case errors.As(err, &policies):
		return fileError("authorization-policy-file", a.PolicyFile, policies)
	case errors.As(err, &kubeconfig):
		return fileError("authorization-webhook-config-file", a.WebhookConfigFile, kubeconfig)
	}
	return fmt.Errorf("--authorization-mode: %w", err)
}

// webhookDial returns a client for the server that a kubeconfig file names, and the URL of
// that server.
type webhookDial = func(file string) (client *http.Client, url string, err error)

// webhookTimeout is the maximum time of a request to a webhook, including its response.
const webhookTimeout = 30 * time.Second

// webhookDialer returns a webhookDial whose clients are measured, and count outdated certificates.
func (p *builder) webhookDialer() webhookDial {
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
	data, err := files.Read(file)
	if err != nil {
		return nil, err
	}
	config, err := restConfig(data, file, files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	t := &webhookTarget{}
	if t.url, _, err = rest.DefaultServerUrlFor(config); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	config.Dial = guard.Dialer(net.Dialer{Timeout: webhookTimeout, KeepAlive: webhookTimeout})
	if t.transport, err = rest.TransportFor(config); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

// restConfig returns the configuration of the current context of a kubeconfig file.
func restConfig(data []byte, file string, files *reload.Files) (*rest.Config, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("is empty, and not a kubeconfig file")
	}
	kubeconfig, err := clientcmd.Load(data)
	if err != nil {
		return nil, fmt.Errorf("is not a kubeconfig file: %w", err)
	}
	for _, cluster := range kubeconfig.Clusters {
		cluster.LocationOfOrigin = file
	}
	for _, user := range kubeconfig.AuthInfos {
		user.LocationOfOrigin = file
	}
	if err := clientcmd.ResolveLocalPaths(kubeconfig); err != nil {
		return nil, err
	}
	if err := inlineFiles(kubeconfig, files); err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*kubeconfig, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, err
	}
	if config.Host == "" {
		return nil, errors.New("does not name a server")
	}
	return config, nil
}

// inlineFiles replaces the files that the current context names by their contents. Otherwise client-go would
// read them, without a bound, and start goroutines that poll them.
func inlineFiles(kubeconfig *clientcmdapi.Config, files *reload.Files) error {
	current := kubeconfig.Contexts[kubeconfig.CurrentContext]
	if current == nil {
		return nil // client-go reports it
	}
	inline := func(path *string, data *[]byte, check func([]byte) error) error {
		if *path == "" || len(*data) > 0 {
			*path = ""
			return nil
		}
		content, err := files.Read(*path)
		if err != nil {
			return err
		}
		if err := check(content); err != nil {
			return fmt.Errorf("%s: %w", *path, err)
		}
		*path, *data = "", content
		return nil
	}
	certificates := func(data []byte) error {
		_, err := authn.ParseCertificates(data)
		return err
	}
	if cluster := kubeconfig.Clusters[current.Cluster]; cluster != nil {
		if err := inline(&cluster.CertificateAuthority, &cluster.CertificateAuthorityData, certificates); err != nil {
			return fmt.Errorf("cluster %q: certificate-authority: %w", current.Cluster, err)
		}
	}
	user := kubeconfig.AuthInfos[current.AuthInfo]
	if user == nil {
		return nil
	}
	var token []byte // takes precedence over that in the kubeconfig file, as in client-go
	key := func(data []byte) error {
		_, err := authn.ParsePrivateKey(data)
		return err
	}
	anything := func([]byte) error { return nil }
	for _, f := range []struct {
		field string
		path  *string
		data  *[]byte
		check func([]byte) error
	}{
		{"client-certificate", &user.ClientCertificate, &user.ClientCertificateData, certificates},
		{"client-key", &user.ClientKey, &user.ClientKeyData, key},
		{"tokenFile", &user.TokenFile, &token, anything},
	} {
		if err := inline(f.path, f.data, f.check); err != nil {
			return fmt.Errorf("user %q: %s: %w", current.AuthInfo, f.field, err)
		}
	}
	user.Token = cmp.Or(string(bytes.TrimSpace(token)), user.Token)
	return nil
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
