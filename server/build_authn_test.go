package server

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestAuthenticationOptions checks that the options determine which credentials are
// accepted.
func TestAuthenticationOptions(t *testing.T) {
	for _, c := range []struct {
		name string
		a    Authentication
		want string
	}{
		{"nothing", Authentication{}, ""},
		{"UID headers", Authentication{ProxyCAFile: "x", ProxyUserHeaders: []string{"X"}, ProxyUIDHeaders: []string{"X-Uid", "x-remote-uid"}}, ""},
		{"UID headers of others", Authentication{ProxyCAFile: "x", ProxyUserHeaders: []string{"X"}, ProxyUIDHeaders: []string{"X-Uid"}},
			"--requestheader-uid-headers: is set without specifying the standard X-Remote-Uid header - API aggregation will not work"},
		{"issuer empty", Authentication{Issuers: []string{""}}, "--service-account-issuer: must not be empty"},
		{"issuer twice", Authentication{Issuers: []string{"a", "a"}}, `--service-account-issuer: "a" is given twice`},
		{"issuer no URL", Authentication{Issuers: []string{"http://[x"}}, "--service-account-issuer: contained a ':' but was not a valid URL"},
		{"expiration", Authentication{MaxTokenExpiration: time.Minute}, "--service-account-max-token-expiration: 1m0s is not between 1 hour and 2^32 seconds"},
		{"jwks", Authentication{JWKSURI: "http://x"}, "--service-account-jwks-uri: \"http://x\" is no https URL"},
		{"headers without CA", Authentication{ProxyUserHeaders: []string{"X-User"}}, "--requestheader-client-ca-file: must be given"},
		{"CA without headers", Authentication{ProxyCAFile: "x"}, "--requestheader-username-headers: must be given"},
		{"header empty", Authentication{ProxyCAFile: "x", ProxyUserHeaders: []string{" "}}, "--requestheader-username-headers: empty value in"},
		{"oidc half", Authentication{OIDC: OIDC{ClientID: "a"}}, "--oidc-issuer-url: must be given together with --oidc-client-id"},
		{"oidc algorithm", Authentication{OIDC: OIDC{Algorithms: []string{"HS256"}}}, `--oidc-signing-algs: "HS256" is none of`},
		{"oidc and config", Authentication{ConfigFile: "x", OIDC: OIDC{IssuerURL: "https://x", ClientID: "a"}}, "--authentication-config: cannot be together with --oidc-* flags"},
		{"webhook version", Authentication{WebhookVersion: "v2"}, `--authentication-token-webhook-version: "v2" is neither v1 nor v1beta1`},
		{"webhook ttl", Authentication{WebhookTTL: -1}, "--authentication-token-webhook-cache-ttl: -1ns is below 0"},
	} {
		err := Options{Authentication: c.a}.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

// TestAuthenticationFiles checks that an invalid file fails the start with the name of its
// flag.
func TestAuthenticationFiles(t *testing.T) {
	junk := filepath.Join(t.TempDir(), "junk")
	if err := os.WriteFile(junk, []byte("junk: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a    Authentication
		want string
	}{
		{Authentication{KeyFiles: []string{junk}}, "--service-account-key-file: " + junk + ": no PEM public key found"},
		{Authentication{SigningKeyFile: junk}, "--service-account-signing-key-file: " + junk + ": no PEM private key found"},
		{Authentication{ProxyCAFile: junk, ProxyUserHeaders: []string{"X"}}, "--requestheader-client-ca-file: " + junk + ": no PEM certificate found"},
		{Authentication{ConfigFile: junk}, "--authentication-config: " + junk + ": expected AuthenticationConfiguration"},
		{Authentication{WebhookFile: junk}, "--authentication-token-webhook-config-file: "},
		{Authentication{OIDC: OIDC{IssuerURL: "http://x", ClientID: "a"}}, `--oidc-issuer-url: jwt[0].issuer.url: Invalid value: "http://x": URL scheme must be https`},
		{Authentication{OIDC: OIDC{IssuerURL: "https://x", ClientID: "a", CAFile: junk + "x"}}, "--oidc-ca-file: open "},
		{Authentication{OIDC: OIDC{IssuerURL: defaultIssuer, ClientID: "a"}}, `--oidc-issuer-url: jwt[0].issuer.url: Invalid value: "` + defaultIssuer + `": URL must not overlap with disallowed issuers`},
	} {
		s, err := Start(t.Context(), Options{Authentication: c.a})
		if err == nil {
			_ = s.Stop(t.Context())
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

// TestOIDCFlags checks the authenticator that the --oidc-* flags describe.
func TestOIDCFlags(t *testing.T) {
	for _, c := range []struct {
		o            OIDC
		claim, named string
	}{
		{OIDC{IssuerURL: "https://i", ClientID: "a"}, "sub", "https://i#"},
		{OIDC{IssuerURL: "https://i", ClientID: "a", UsernameClaim: "email"}, "email", ""},
		{OIDC{IssuerURL: "https://i", ClientID: "a", UsernameClaim: "email", UsernamePrefix: "x:"}, "email", "x:"},
		{OIDC{IssuerURL: "https://i", ClientID: "a", UsernamePrefix: "-"}, "sub", ""},
	} {
		j, err := withOptions(Options{Authentication: Authentication{OIDC: c.o}}).Options.Authentication.OIDC.jwt()
		name := j.ClaimMappings.Username
		if err != nil || name.Claim != c.claim || *name.Prefix != c.named || !reflect.DeepEqual(j.Issuer.Audiences, []string{"a"}) {
			t.Errorf("%+v: got %+v, %v", c.o, name, err)
		}
	}
	j, err := OIDC{IssuerURL: "https://i", ClientID: "a", GroupsClaim: "g", GroupsPrefix: "p:", RequiredClaims: map[string]string{"b": "2", "a": "1"}}.jwt()
	if err != nil || j.ClaimMappings.Groups.Claim != "g" || *j.ClaimMappings.Groups.Prefix != "p:" || len(j.ClaimRules) != 2 || j.ClaimRules[0].Claim != "a" || j.ClaimRules[1].RequiredValue != "2" {
		t.Errorf("got %+v, %v", j, err)
	}
}
