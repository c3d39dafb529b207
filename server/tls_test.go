package server

import (
	"crypto/tls"
	"strings"
	"testing"
)

// TestValidateTLS checks the errors for invalid TLS options.
func TestValidateTLS(t *testing.T) {
	for _, c := range []struct {
		version string
		suites  []string
		want    string
	}{
		{"", nil, ""},
		{"VersionTLS13", []string{"TLS_AES_128_GCM_SHA256"}, ""},
		{"VersionTLS12", []string{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305"}, ""},
		{"VersionTLS11", nil, "--tls-min-version: VersionTLS11 is not safe"},
		{"1.2", nil, `--tls-min-version: unknown tls version "1.2"`},
		{"", []string{"NOPE"}, "--tls-cipher-suites: cipher suite NOPE is not supported or doesn't exist"},
		{"", []string{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}, "--tls-cipher-suites: HTTP/2 needs"},
	} {
		err := Options{TLSMinVersion: c.version, TLSCipherSuites: c.suites}.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

// handshake connects with a version of TLS, and returns the result.
func handshake(s *Server, version uint16) (tls.ConnectionState, error) {
	c, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: version})
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer c.Close()
	return c.ConnectionState(), nil
}

// TestTLSOptions checks the accepted versions and cipher suites.
func TestTLSOptions(t *testing.T) {
	s := run(t, Options{TLSCipherSuites: []string{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}})
	if state, err := handshake(s, tls.VersionTLS12); err != nil || state.CipherSuite != tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 {
		t.Errorf("TLS 1.2: got %s, %v", tls.CipherSuiteName(state.CipherSuite), err)
	}
	if _, err := handshake(s, tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 is served")
	}
	s = run(t, Options{TLSMinVersion: "VersionTLS13"})
	if _, err := handshake(s, tls.VersionTLS12); err == nil {
		t.Error("TLS 1.2 is served")
	}
	if _, err := handshake(s, tls.VersionTLS13); err != nil {
		t.Errorf("TLS 1.3: %v", err)
	}
}
