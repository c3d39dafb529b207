package credentials

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/safefile"
	"github.com/miniapiserver/miniapiserver/request"
)

// Lifetimes of certificates, and the time before their expiry from which a start renews
// them.
const (
	caLifetime   = 10 * 365 * 24 * time.Hour
	leafLifetime = 365 * 24 * time.Hour
	renewBefore  = 30 * 24 * time.Hour
)

// AdminName is the user name in admin.kubeconfig.
const AdminName = "kubernetes-admin"

// The user and the group in the server's client certificate for kubelets. Users who may
// write the status of nodes choose the addresses to which the server presents it. The group
// therefore has only the permissions of system:kubelet-api-admin, which kubelets check, and marks
// certificates that no API server accepts.
const (
	KubeletClientName  = "kube-apiserver-kubelet-client"
	KubeletClientGroup = "miniapiserver:kubelet-clients"
)

// KubeletClientFile is the name of the files of that certificate and its key.
const KubeletClientFile = "apiserver-kubelet-client"

// Certificates are the certificates that the server generates, each in two files of a
// directory: ca, apiserver (serving), admin (a client), apiserver-kubelet-client (the
// client of kubelets) and front-proxy-client (the client of other API servers). The last
// one has a CA of its own, front-proxy-ca, because other API servers let its holder act as
// any user.
type Certificates struct {
	CA, Serving, Admin, Kubelets *KeyPair
	ProxyCA, Proxy               *KeyPair
	// IsNew reports whether the CA has a new key, which signed no certificate before.
	IsNew bool
}

// Load reads the certificates in dir. It generates a certificate that is missing, about to
// expire or for other names than wanted, but leaves a certificate of another CA alone, which
// an administrator has put there.
func Load(dir string, names Names, now time.Time, durable bool) (*Certificates, error) {
	if err := safefile.MakeDir(dir, 0o700); err != nil {
		return nil, err
	}
	return pki{dir: dir, now: now, durable: durable}.load(names)
}

// Generate makes all certificates in memory, except that it reads the serving certificate
// from dir, or writes it there with its CA if it is missing. If dir is empty, it makes that
// in memory too. Like kube-apiserver it does not sync the files, since no stored data depends
// on them and a start would wait for the disk.
func Generate(dir string, names Names, now time.Time) (*Certificates, error) {
	c, err := pki{now: now}.load(names)
	if err != nil || dir == "" {
		return c, err
	}
	p := pki{dir: dir, now: now}
	have, err := p.read(ServingName)
	switch {
	case err != nil:
		return nil, err
	case have != nil:
		c.Serving = have
		return c, nil
	}
	for _, file := range p.files(ServingName) {
		if _, err := os.Stat(file); err == nil {
			return nil, fmt.Errorf("%s: certificate and key must be supplied as a pair", file)
		}
	}
	if err := safefile.MakeDir(dir, 0o755); err != nil {
		return nil, err
	}
	c.Serving.CertPEM = slices.Concat(c.Serving.CertPEM, c.CA.CertPEM)
	return c, p.write(ServingName, c.Serving)
}

// load reads or makes the certificates.
func (p pki) load(names Names) (*Certificates, error) {
	authority := p
	ca, isNew, err := p.loadCA("ca", "miniapiserver-ca")
	if err != nil {
		return nil, err
	}
	p.ca, p.isNew = ca, isNew
	serving, err := p.loadLeaf(ServingName, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    names.DNS,
		IPAddresses: names.IPs,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return nil, err
	}
	admin, err := p.loadLeaf("admin", &x509.Certificate{
		Subject:     pkix.Name{CommonName: AdminName, Organization: []string{request.GroupMasters}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return nil, err
	}
	kubelets, err := p.loadLeaf(KubeletClientFile, &x509.Certificate{
		Subject:     pkix.Name{CommonName: KubeletClientName, Organization: []string{KubeletClientGroup}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return nil, err
	}
	c := &Certificates{CA: ca, Serving: serving, Admin: admin, Kubelets: kubelets, IsNew: p.isNew}
	return c, c.loadProxy(authority)
}

// FrontProxyName is the server's user name at other API servers. FrontProxyGroup marks the certificate,
// so that servers with the same CA do not take it for that of an authenticating proxy.
const (
	FrontProxyName  = "front-proxy-client"
	FrontProxyGroup = "miniapiserver:front-proxy-clients"
)

func (c *Certificates) loadProxy(p pki) (err error) {
	if c.ProxyCA, _, err = p.loadCA("front-proxy-ca", "front-proxy-ca"); err != nil {
		return err
	}
	p.ca = c.ProxyCA
	c.Proxy, err = p.loadLeaf(FrontProxyName, &x509.Certificate{
		Subject:     pkix.Name{CommonName: FrontProxyName, Organization: []string{FrontProxyGroup}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// ServingName is the name of the certificate that the server serves with.
const ServingName = "apiserver"

// pki is a directory of certificates and the CA that signs them. Without a directory,
// certificates are kept in memory.
type pki struct {
	dir     string
	now     time.Time
	durable bool
	ca      *KeyPair
	isNew   bool // ca has a new key
}

// loadCA returns the CA called name, and reports whether its key is new. A CA that is about to expire gets
// a new certificate for the same key, so that certificates that it signed remain valid.
func (p *pki) loadCA(name, subject string) (ca *KeyPair, isNew bool, err error) {
	ca, err = p.read(name)
	if errors.Is(err, ErrMismatch) {
		return nil, false, fmt.Errorf("%s: %w", filepath.Join(p.dir, name+".crt"), err)
	}
	if err != nil {
		return nil, false, err
	}
	if ca != nil && p.now.Before(ca.Cert.NotAfter.Add(-renewBefore)) {
		return ca, false, nil
	}
	key := []byte(nil)
	if ca != nil {
		key = ca.KeyPEM
	} else if key, err = p.halfOfCA(name); err != nil {
		return nil, false, err
	}
	ca, err = p.issue(name, &x509.Certificate{
		Subject:               pkix.Name{CommonName: subject},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		NotAfter:              p.now.Add(caLifetime),
	}, key)
	return ca, key == nil, err
}

// IssueClient issues a certificate with which a client is a user in groups. The CA is the one that a
// server generated in dir. The certificate is valid until the given time, and cannot be revoked.
func IssueClient(dir, user string, groups []string, now, until time.Time) (*KeyPair, error) {
	p := pki{dir: dir, now: now}
	ca, err := p.read("ca")
	if err != nil {
		return nil, err
	}
	if ca == nil {
		return nil, fmt.Errorf("%s has no certificate authority: no server started there", dir)
	}
	if ca.Cert.NotAfter.Before(until) {
		return nil, fmt.Errorf("the certificate authority in %s ends before that, at %s", dir, ca.Cert.NotAfter.Format(time.RFC3339))
	}
	issuer := pki{now: now, ca: ca} // without a directory, since the pair is the client's
	return issuer.issue(user, &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotAfter:    until,
	}, nil)
}

// halfOfCA returns the key of a CA whose certificate is missing, to issue it again, or nil if there is no
// file. A key that is missing is an error: the certificates of clients would be worth nothing.
func (p *pki) halfOfCA(name string) (key []byte, err error) {
	if p.dir == "" {
		return nil, nil
	}
	files := p.files(name)
	if _, err := os.Stat(files[0]); err == nil {
		return nil, fmt.Errorf("%s is missing: put it back, or remove %s to begin with a new certificate authority",
			files[1], filepath.Base(files[0]))
	}
	key, err = configfile.Read(files[1])
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return key, err
}

// loadLeaf returns the certificate called name, generated anew if it does not match want.
func (p *pki) loadLeaf(name string, want *x509.Certificate) (*KeyPair, error) {
	have, err := p.read(name)
	// A crash between the two writes leaves a new key with the old certificate.
	if err != nil && !errors.Is(err, ErrMismatch) {
		return nil, err
	}
	if have != nil {
		ours := have.Cert.CheckSignatureFrom(p.ca.Cert) == nil
		if !ours || (p.now.Before(have.Cert.NotAfter.Add(-renewBefore)) && sameNames(have.Cert, want)) {
			return have, nil
		}
	}
	want.NotAfter = p.now.Add(leafLifetime)
	return p.issue(name, want, nil)
}

// sameNames reports whether two certificates have the same subject, hosts and addresses.
func sameNames(a, b *x509.Certificate) bool {
	return a.Subject.CommonName == b.Subject.CommonName &&
		slices.Equal(a.Subject.Organization, b.Subject.Organization) &&
		slices.Equal(namesOf(a), namesOf(b))
}

func namesOf(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Names are the names in the serving certificate.
type Names struct {
	DNS []string
	IPs []net.IP
}

// Add adds an IP address or a host name, unless it is empty or one of the names already.
func (s *Names) Add(host string) {
	if ip := net.ParseIP(host); ip != nil {
		s.addIP(ip)
	} else if name := strings.ToLower(host); isHostname(name) && !slices.Contains(s.DNS, name) {
		s.DNS = append(s.DNS, name)
	}
}

func (s *Names) addIP(ip net.IP) {
	if !slices.ContainsFunc(s.IPs, ip.Equal) {
		s.IPs = append(s.IPs, ip)
	}
}

// NamesFor returns the names of a server that listens on bind: those of
// kube-apiserver within a cluster, the service addresses, and the names of this machine.
func NamesFor(bind net.IP, service []net.IP) Names {
	s := Names{
		DNS: []string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local", "localhost",
		},
		IPs: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, ip := range service {
		s.addIP(ip)
	}
	if host, err := os.Hostname(); err == nil {
		s.Add(host)
	}
	if !bind.IsUnspecified() {
		s.addIP(bind)
	} else if addrs, err := net.InterfaceAddrs(); err == nil {
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
				s.addIP(n.IP)
			}
		}
	}
	return s
}

// IsName reports whether a certificate can have a host name or an IP address.
func IsName(host string) bool { return net.ParseIP(host) != nil || isHostname(host) }

// isHostname reports whether the name of a machine is valid in a certificate.
func isHostname(host string) bool {
	return host != "" && len(host) <= 253 && !strings.ContainsFunc(host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.'
	})
}
