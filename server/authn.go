package server

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/request"
)

// newAuthenticator decides by what users are known: by the listener they came
// in by, a client certificate, a token; and else they are anonymous.
func newAuthenticator(o *Options, ownCA []byte, adminToken string) (authn.Authenticator, error) {
	cas, err := authn.NewCAFile(ownCA, o.ClientCAFile, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("--client-ca-file: %w", err)
	}
	own := authn.TokenFile{}
	own.Add(adminToken, &request.User{Name: adminName, Groups: []string{request.GroupMasters}})
	tokens := authn.Tokens{own}
	if o.TokenFile != "" {
		file, err := authn.ReadTokenFile(o.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-auth-file: %w", err)
		}
		tokens = append(tokens, file)
	}
	known := authn.Union{authn.Trusted{}, authn.NewX509(cas), authn.Bearer{Tokens: tokens}}
	if o.NoAnonymous {
		return known, nil
	}
	return authn.WithAnonymous(known), nil
}

// newAuthorizer decides what users may do.
func newAuthorizer(roles *authz.RBAC) authz.Authorizer {
	return authz.Union{authz.Privileged(request.GroupMasters), roles}
}

// loadServing returns the pair to serve with, and what clients verify it by: a
// pair that was brought along is not of the server's CA, and its own
// certificates are all that is known about it.
func loadServing(o *Options, own *certificates) (serving *pair, verify []byte, err error) {
	if o.TLSCertFile == "" {
		if own.serving.cert.CheckSignatureFrom(own.ca.cert) != nil {
			return own.serving, own.serving.certPEM, nil
		}
		return own.serving, own.ca.certPEM, nil
	}
	serving, err = readPair(o.TLSCertFile, o.TLSKeyFile)
	if errors.Is(err, errMismatch) {
		return nil, nil, fmt.Errorf("--tls-cert-file, --tls-private-key-file: %w", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--tls-cert-file: %w", err)
	}
	return serving, serving.certPEM, nil
}

// serverNameFor returns the name to look for in a certificate that is not for
// the host by which it is reached; empty where it is.
func serverNameFor(p *pair, host string) string {
	switch {
	case p.cert.VerifyHostname(host) == nil:
		return ""
	case len(p.cert.DNSNames) > 0:
		return p.cert.DNSNames[0]
	case len(p.cert.IPAddresses) > 0:
		return p.cert.IPAddresses[0].String()
	}
	return ""
}

func newToken() string { return rand.Text() + rand.Text() }
