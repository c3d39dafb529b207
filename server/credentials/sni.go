package credentials

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// sniFiles is a value of --tls-sni-cert-key: the files of a certificate, and the names
// for which it is presented. Without names, the names of the certificate count.
type sniFiles struct {
	certFile, keyFile string
	names             []string
}

// ParseSNI parses "cert,key" and "cert,key:name,...".
func ParseSNI(text string) (f sniFiles, err error) {
	files, names, _ := strings.Cut(text, ":")
	var ok bool
	if f.certFile, f.keyFile, ok = strings.Cut(files, ","); !ok || f.certFile == "" || f.keyFile == "" {
		return f, errors.New("expected comma separated certificate and key file paths")
	}
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
			f.names = append(f.names, name)
		}
	}
	return f, nil
}

// SNICertificate is a certificate that is presented for certain names.
type SNICertificate struct {
	names []string
	ReloadedPair
}

// LoadSNI reads the certificates of --tls-sni-cert-key.
func LoadSNI(values []string, logger *slog.Logger) ([]SNICertificate, error) {
	var all []SNICertificate
	for _, v := range values {
		f, err := ParseSNI(v)
		if err != nil {
			return nil, fmt.Errorf("--tls-sni-cert-key: %w", err)
		}
		certificate, err := NewReloadedPair("certificate for server names", f.certFile, f.keyFile, logger)
		if err != nil {
			return nil, fmt.Errorf("--tls-sni-cert-key: %w", err)
		}
		names := f.names
		if len(names) == 0 {
			names = namesOf(certificate.current.Get().Cert)
		}
		if len(names) == 0 {
			names = []string{certificate.current.Get().Cert.Subject.CommonName}
		}
		all = append(all, SNICertificate{names, certificate})
	}
	return all, nil
}

// ChooseCertificate returns the function that presents the certificate which has the
// requested name, an exact name before a wildcard, or else the default one.
func ChooseCertificate(named []SNICertificate, otherwise ReloadedPair) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if len(named) == 0 {
		return otherwise.Serve
	}
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
		_, domain, _ := strings.Cut(name, ".")
		for _, wanted := range []string{name, "*." + domain} {
			for _, c := range named {
				if slices.Contains(c.names, wanted) {
					return c.Serve(hello)
				}
			}
		}
		return otherwise.Serve(hello)
	}
}
