package server

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/miniapiserver/miniapiserver/authn"
)

// tlsConfig returns the configuration of the listener. It requests client
// certificates but leaves their verification to authn, which rejects a bad one with
// a Status instead of a failed handshake. The options are valid.
func tlsConfig(o *Options, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	version, _ := tlsVersion(o.TLS.MinVersion)
	suites, _ := cipherSuites(o.TLS.CipherSuites)
	protocols := []string{"h2", "http/1.1"}
	if o.Serving.NoHTTP2 {
		protocols = protocols[1:]
	}
	return &tls.Config{
		GetCertificate:   certificate,
		MinVersion:       version,
		CipherSuites:     suites,
		CurvePreferences: o.TLS.Curves,
		ClientAuth:       tls.RequestClientCert,
		NextProtos:       protocols,
	}
}

// withAcceptableCAs returns a function that returns base with the names of the CAs whose certificates
// the server accepts. Clients choose a certificate by them, as browsers do and those that have several.
// proxies may be nil.
func withAcceptableCAs(base *tls.Config, clients, proxies *authn.CAFile) func(*tls.ClientHelloInfo) (*tls.Config, error) {
	type state struct {
		clients, proxies int // generations
		config           *tls.Config
	}
	var current atomic.Pointer[state]
	return func(*tls.ClientHelloInfo) (*tls.Config, error) {
		var now state
		var all, more []*x509.Certificate
		all, now.clients = clients.Certificates()
		if proxies != nil {
			more, now.proxies = proxies.Certificates()
		}
		if made := current.Load(); made != nil && made.clients == now.clients && made.proxies == now.proxies {
			return made.config, nil
		}
		now.config = base.Clone()
		now.config.GetConfigForClient, now.config.ClientCAs = nil, x509.NewCertPool()
		for _, ca := range slices.Concat(all, more) {
			now.config.ClientCAs.AddCert(ca)
		}
		current.Store(&now)
		return now.config, nil
	}
}

// tlsVersion parses the name of a TLS version. Versions before 1.2 are refused.
func tlsVersion(name string) (uint16, error) {
	switch name {
	case "", "VersionTLS12":
		return tls.VersionTLS12, nil
	case "VersionTLS13":
		return tls.VersionTLS13, nil
	case "VersionTLS10", "VersionTLS11":
		return 0, fmt.Errorf("%s is not safe, must be VersionTLS12 or VersionTLS13", name)
	}
	return 0, fmt.Errorf("unknown tls version %q, must be VersionTLS12 or VersionTLS13", name)
}

// cipherSuites parses the names of suites; no names mean the default suites of Go.
func cipherSuites(names []string) ([]uint16, error) {
	known := map[string]uint16{
		"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305":   tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		known[suite.Name] = suite.ID
	}
	var ids []uint16
	for _, name := range names {
		id, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("cipher suite %s is not supported or doesn't exist", name)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// forHTTP2 reports whether the suites include one that HTTP/2 requires.
func forHTTP2(suites []uint16) bool {
	return slices.Contains(suites, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256) ||
		slices.Contains(suites, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)
}
