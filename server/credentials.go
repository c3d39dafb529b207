package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/internal/safefile"
	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// loadCredentials reads or makes the certificates that the server presents, and the
// credentials of its administrator.
func (p *builder) loadCredentials() (err error) {
	bind := net.ParseIP(p.o.Serving.BindAddress)
	names, err := p.o.certificateNames()
	if err != nil {
		return err
	}
	p.names = names
	switch {
	case !p.o.NoDataDir:
		p.own, err = credentials.Load(p.o.Serving.CertDir, names, p.clock.Now(), !p.ephemeral)
	case p.o.TLS.CertFile != "":
		p.own, err = credentials.Generate("", names, p.clock.Now())
	default:
		p.own, err = credentials.Generate(p.o.Serving.CertDir, names, p.clock.Now())
	}
	if err != nil {
		return fmt.Errorf("--cert-dir: %w", err)
	}
	p.current.Store(p.own)
	generated := generatedFiles{p.own.Serving, p.o.Serving.CertDir, credentials.ServingName}
	certificate, err := presentedPair("serving certificate", [2]string{"tls-cert-file", "tls-private-key-file"},
		p.o.TLS.CertFile, p.o.TLS.KeyFile, generated, p.logger)
	if err != nil {
		return err
	}
	serving, verify := p.own.Serving, p.own.CA.CertPEM
	if p.o.TLS.CertFile != "" {
		serving = certificate.Pair()
	}
	if p.o.TLS.CertFile != "" || serving.Cert.CheckSignatureFrom(p.own.CA.Cert) != nil {
		verify = serving.CertPEM // clients verify a certificate that is not of the server's CA by itself
	}
	named, err := credentials.LoadSNI(p.o.TLS.SNICertificates, p.logger)
	if err != nil {
		return err
	}
	p.tls = tlsConfig(&p.o, credentials.ChooseCertificate(named, certificate))
	if err := p.loadCAs(); err != nil {
		return err
	}
	p.tls.GetConfigForClient = withAcceptableCAs(p.tls, p.clientCAs, p.proxyCAs)
	if p.kubeletClient, err = kubeletCertificate(&p.o, p.own); err != nil {
		return err
	}
	if p.proxyClient, err = proxyCertificate(&p.o, p.own); err != nil {
		return err
	}
	p.presented = append(p.presented, certificate, p.kubeletClient, p.proxyClient)
	for _, c := range named {
		p.presented = append(p.presented, c.ReloadedPair)
	}
	host, port := localHost(bind), p.secure.Addr().(*net.TCPAddr).Port
	p.admin = credentials.Access{
		URL:        "https://" + net.JoinHostPort(host, strconv.Itoa(port)),
		CA:         verify,
		ServerName: serverNameFor(serving, host),
		User:       credentials.AdminName,
		CertPEM:    p.own.Admin.CertPEM,
		KeyPEM:     p.own.Admin.KeyPEM,
	}
	p.URL, p.CA, p.Token = p.admin.URL, verify, newToken()
	if p.second != nil {
		p.SecondURL = "https://" + net.JoinHostPort(host, strconv.Itoa(p.second.Addr().(*net.TCPAddr).Port))
	}
	if p.kubeconfig, err = p.admin.Kubeconfig(); err != nil {
		return err
	}
	if p.o.NoDataDir {
		return nil
	}
	p.KubeconfigFile = filepath.Join(p.o.Dir, "admin.kubeconfig")
	return safefile.Write(p.KubeconfigFile, p.kubeconfig, 0o600, !p.ephemeral)
}

// certificateNames returns the names in the serving certificate.
func (o *Options) certificateNames() (credentials.Names, error) {
	service, err := serviceIPs(o.Services.ClusterIPRange)
	if err != nil {
		return credentials.Names{}, fmt.Errorf("--service-cluster-ip-range: %w", err)
	}
	names := credentials.NamesFor(net.ParseIP(o.Serving.BindAddress), service)
	names.Add(o.Serving.AdvertiseAddress)
	names.Add(o.Serving.ExternalHostname)
	for _, name := range o.TLS.SANs {
		names.Add(name)
	}
	return names, nil
}

// ownCertificates recognizes the client certificates that servers with the same certificate directory
// generate.
func (p *builder) ownCertificates() *authn.OwnCertificates {
	return &authn.OwnCertificates{
		Clients: credentials.KubeletClientGroup,
		Proxies: credentials.FrontProxyGroup, ProxyCA: p.own.ProxyCA.Cert,
	}
}

// loadCAs loads the CAs of clients and of authenticating proxies.
func (p *builder) loadCAs() (err error) {
	if p.clientCAs, err = authn.NewCAFile("client CAs", p.own.CA.CertPEM, p.o.Authentication.ClientCAFile,
		p.o.Logger); err != nil {
		return fmt.Errorf("--client-ca-file: %w", err)
	}
	if p.o.Authentication.ProxyCAFile == "" {
		return nil
	}
	if p.proxyCAs, err = authn.NewCAFile("CAs of proxies", nil, p.o.Authentication.ProxyCAFile, p.o.Logger); err != nil {
		return fmt.Errorf("--requestheader-client-ca-file: %w", err)
	}
	return nil
}

// serverNameFor returns the name that clients must expect in a certificate that is
// not valid for host; empty if it is valid.
func serverNameFor(p *credentials.KeyPair, host string) string {
	switch {
	case p.Cert.VerifyHostname(host) == nil:
		return ""
	case len(p.Cert.DNSNames) > 0:
		return p.Cert.DNSNames[0]
	case len(p.Cert.IPAddresses) > 0:
		return p.Cert.IPAddresses[0].String()
	}
	return ""
}

// generatedFiles is a pair that the server generates, and the directory and name of its files.
type generatedFiles struct {
	pair      *credentials.KeyPair
	dir, name string
}

// presentedPair returns the certificate in the files of two flags or, if there is none, a generated one.
func presentedPair(name string, flags [2]string, certFile, keyFile string, generated generatedFiles,
	logger *slog.Logger) (credentials.ReloadedPair, error) {
	if certFile == "" {
		return credentials.GeneratedPair(name, generated.pair, generated.dir, generated.name, logger)
	}
	pair, err := credentials.NewReloadedPair(name, certFile, keyFile, logger)
	return pair, pairError(err, flags)
}

// pairError adds to an error about the files of a certificate and its key the flags of the files.
func pairError(err error, flags [2]string) error {
	var ofKey *credentials.KeyError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, credentials.ErrMismatch):
		return fmt.Errorf("--%s, --%s: %w", flags[0], flags[1], err)
	case errors.As(err, &ofKey):
		return fmt.Errorf("--%s: %w", flags[1], err)
	}
	return fmt.Errorf("--%s: %w", flags[0], err)
}

// ownCertDir returns the directory of the client certificates that the server generates, or "" if
// they are only in memory.
func (o *Options) ownCertDir() string {
	if o.NoDataDir {
		return ""
	}
	return o.Serving.CertDir
}

// expiryCheck is the interval of the checks of the expiry of certificates.
const expiryCheck = time.Hour

// renewCertificates renews, once an hour, the certificates that the server issued and that expire soon, and warns
// in the log, now and then, of others that have expired or expire soon. The server and its clients in this process
// read certificates again when their files change.
func (p *builder) renewCertificates(context.Context) error {
	pairs := slices.Clone(p.presented)
	credentials.WarnOfExpiry(p.logger, pairs, p.clock.Now())
	var mu sync.Mutex
	renew := func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		return p.renew(p.clock.Now())
	}
	p.runEvery("expiry of certificates", expiryCheck, func(ctx context.Context) error {
		err := renew(ctx)
		credentials.WarnOfExpiry(p.logger, pairs, p.clock.Now())
		return err
	})
	p.keepWhenMoved("expiry of certificates", expiryCheck, renew)
	return nil
}

// renew issues certificates again that expire soon, and writes the administrator's kubeconfig file with a new
// certificate. Those that clients have in memory, and those by another CA, stay.
func (p *builder) renew(now time.Time) error {
	if p.o.NoDataDir {
		return nil
	}
	own, err := credentials.Load(p.o.Serving.CertDir, p.names, now, !p.ephemeral)
	if err != nil {
		return fmt.Errorf("--cert-dir: %w", err)
	}
	before := p.current.Swap(own)
	if own.Admin.Cert.Equal(before.Admin.Cert) {
		return nil
	}
	p.logger.Info("renewed the administrator's certificate", "file", p.KubeconfigFile, "notAfter", own.Admin.Cert.NotAfter)
	access := p.admin
	access.CertPEM, access.KeyPEM = own.Admin.CertPEM, own.Admin.KeyPEM
	file, err := access.Kubeconfig()
	if err != nil {
		return err
	}
	p.renewed.Store(&renewedAccess{access, file})
	return safefile.Write(p.KubeconfigFile, file, 0o600, !p.ephemeral)
}

// newToken returns a random bearer token.
func newToken() string { return rand.Text() + rand.Text() }

// localHost returns the host at which this machine reaches a listener that is bound
// to an address.
func localHost(bind net.IP) string {
	switch {
	case !bind.IsUnspecified():
		return bind.String()
	case bind.To4() != nil:
		return "127.0.0.1"
	}
	return "::1"
}
