package authn

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

const configHead = "apiVersion: apiserver.config.k8s.io/v1beta1\nkind: AuthenticationConfiguration\n"

func TestParseConfig(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{configHead, ""},
		{strings.Replace(configHead, "v1beta1", "v1", 1), ""},
		{strings.Replace(configHead, "v1beta1", "v1alpha1", 1), ""},
		{"", "empty config data"},
		{strings.Replace(configHead, "v1beta1", "v2", 1), `no kind "AuthenticationConfiguration" is registered for version "apiserver.config.k8s.io/v2"`},
		{"apiVersion: v1\nkind: Secret\n", "expected AuthenticationConfiguration of apiserver.config.k8s.io"},
		{configHead + "jwt: []\nsurprise: 1\n", `strict decoding error: unknown field "surprise"`},
		{configHead + "jwt: []\njwt: []\n", "already set in map"},
		{configHead + "jwt: 1\n", "cannot unmarshal number"},
	} {
		_, err := parseConfig([]byte(c.text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// TestConfigKept checks that an invalid configuration file leaves the issuers as they are.
func TestConfigKept(t *testing.T) {
	path := writeFile(t, configHead+"jwt: [{issuer: {url: 'http://x'}}]")
	o := &JWTIssuers{path: path, logger: slog.New(slog.DiscardHandler)}
	for range 2 {
		if o.changed() != nil {
			t.Error("it was taken")
		}
	}
}

func TestConfigValidation(t *testing.T) {
	const (
		good    = `{url: "https://i", audiences: [a]}`
		mapping = `{username: {claim: sub, prefix: ""}}`
	)
	one := func(issuer, rest string) string { return "- issuer: " + issuer + "\n" + rest }
	mapped := func(m string) string { return one(good, "  claimMappings: "+m+"\n") }
	for _, c := range []struct{ jwt, want string }{
		{mapped(mapping), ""},
		{one(`{url: "http://i", audiences: [a]}`, "  claimMappings: "+mapping), `jwt[0].issuer.url: Invalid value: "http://i": URL scheme must be https`},
		{one(`{url: "https://u:p@i?q#f", audiences: [a]}`, "  claimMappings: "+mapping), "URL must not contain a username or password, jwt[0].issuer.url: Invalid value: \"https://u:p@i?q#f\": URL must not contain a query"},
		{one(`{audiences: [a]}`, "  claimMappings: "+mapping), "jwt[0].issuer.url: Required value"},
		{one(`{url: "https://issuer.example", audiences: [a]}`, "  claimMappings: "+mapping), "URL must not overlap with disallowed issuers: [https://issuer.example]"},
		{one(`{url: "https://i"}`, "  claimMappings: "+mapping), "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required"},
		{one(`{url: "https://i", audiences: [a, b]}`, "  claimMappings: "+mapping), `jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences`},
		{one(`{url: "https://i", audiences: [a, a], audienceMatchPolicy: MatchAny}`, "  claimMappings: "+mapping), `jwt[0].issuer.audiences[1]: Duplicate value: "a"`},
		{one(`{url: "https://i", audiences: [a], certificateAuthority: x}`, "  claimMappings: "+mapping), `jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>"`},
		{one(`{url: "https://i", discoveryURL: "https://i/", audiences: [a]}`, "  claimMappings: "+mapping), "discoveryURL must be different from URL"},
		{mapped(mapping) + mapped(mapping), `jwt[1].issuer.url: Duplicate value: "https://i"`},
		{mapped(`{}`), "jwt[0].claimMappings.username: Required value: claim or expression is required"},
		{mapped(`{username: {claim: sub}}`), "prefix is required when claim is set. It can be set to an empty string to disable prefixing"},
		{mapped(`{username: {claim: sub, expression: claims.sub}}`), "claim and expression can't both be set"},
		{mapped(`{username: {expression: claims.sub, prefix: x}}`), "may not be specified when expression is set"},
		{mapped(`{username: {expression: nope.sub}}`), "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope'"},
		{mapped(`{username: {expression: claims.email}}`), "claims.email_verified must be used in"},
		{mapped(`{username: {expression: "claims.email_verified ? claims.email : ''"}}`), ""},
		{mapped(`{username: {expression: "claims.?email_verified.orValue(true) ? claims.email : ''"}}`), ""},
		{mapped(`{username: {claim: sub, prefix: ""}, extra: [{key: foo, valueExpression: "'x'"}]}`), "must be a domain-prefixed path"},
		{mapped(`{username: {claim: sub, prefix: ""}, extra: [{key: a.k8s.io/b, valueExpression: "'x'"}]}`), "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"},
		{mapped(`{username: {claim: sub, prefix: ""}, extra: [{key: A.io/b, valueExpression: "'x'"}]}`), "must be lowercase"},
		{mapped(mapping) + "  claimValidationRules: [{claim: a, expression: 'true'}]\n", "jwt[0].claimValidationRules[0]: Invalid value: \"a\": claim and expression can't both be set"},
		{mapped(mapping) + "  claimValidationRules: [{expression: claims.x}]\n", "must evaluate to bool"},
		{mapped(mapping) + "  claimValidationRules: [{claim: a}, {claim: a}]\n", `jwt[0].claimValidationRules[1].claim: Duplicate value: "a"`},
		{mapped(mapping) + "  claimValidationRules: [{claim: a, message: m}]\n", "may not be specified when claim is set"},
		{mapped(mapping) + "  userValidationRules: [{expression: user.nope == ''}]\n", "undefined field 'nope'"},
		{mapped(mapping) + "  userValidationRules: [{message: m}]\n", "jwt[0].userValidationRules[0].expression: Required value"},
	} {
		config, err := parseConfig([]byte(configHead + "jwt:\n" + c.jwt))
		if err != nil {
			t.Errorf("%s: %v", c.jwt, err)
			continue
		}
		_, errs := config.validate(newExpressions(), Restrictions{Issuers: []string{testIssuer}})
		got := ""
		if err := errs.ToAggregate(); err != nil {
			got = err.Error()
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s\ngot %s\nwant %s", c.jwt, got, c.want)
		}
	}
	config, err := parseConfig([]byte(configHead + "anonymous: {enabled: false, conditions: [{path: /livez}]}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, errs := config.validate(newExpressions(), Restrictions{}); !strings.Contains(errs.ToAggregate().Error(), "enabled should be set to true when conditions are defined") {
		t.Errorf("got %v", errs)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add(configHead + "jwt: [{issuer: {url: 'https://x', audiences: [a]}, claimMappings: {username: {expression: claims.sub}}}]")
	f.Fuzz(func(_ *testing.T, text string) {
		if config, err := parseConfig([]byte(text)); err == nil {
			_, _ = config.validate(newExpressions(), Restrictions{})
		}
	})
}

// TestEgressSelectors checks the errors for egressSelectorType, whose feature can be disabled.
func TestEgressSelectors(t *testing.T) {
	const off = ": egress selector is not supported when StructuredAuthenticationConfigurationEgressSelector feature gate is disabled"
	for _, c := range []struct {
		selector string
		disabled bool
		want     []string
	}{
		{"", true, nil},
		{"cluster", false, []string{": the server has no egress selectors"}},
		{"cluster", true, []string{off}},
		{"etcd", false, []string{": egress selector must be either controlplane or cluster"}},
		{"etcd", true, []string{off, ": egress selector must be either controlplane or cluster"}},
	} {
		config := Config{JWT: []JWT{{
			Issuer:        JWTIssuer{URL: "https://x", Audiences: []string{"a"}, EgressSelectorType: c.selector},
			ClaimMappings: ClaimMappings{Username: PrefixedMapping{Expression: "claims.sub"}},
		}}}
		_, errs := config.validate(newExpressions(), Restrictions{NoEgressSelectors: c.disabled})
		var got []string
		for _, err := range errs {
			got = append(got, strings.TrimPrefix(err.Error(), fmt.Sprintf("jwt[0].issuer.egressSelectorType: Invalid value: %q", c.selector)))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, disabled %t: got %q, want %q", c.selector, c.disabled, got, c.want)
		}
	}
}
