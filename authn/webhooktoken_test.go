package authn

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapiserver/miniapiserver/request"
)

const webhookURL = "https://hook.ns.svc:443/review"

// newWebhookAccounts returns accounts with webhook configurations, whose account robot may attest all API
// groups but "denied".
func newWebhookAccounts(t *testing.T) *accounts {
	t.Helper()
	a := newAccounts(t)
	service := admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Name: "hook", Namespace: "ns", Path: ptr.To("review")}}
	rules := []admissionv1.RuleWithOperations{{Rule: admissionv1.Rule{APIGroups: []string{"apps", "denied"}}}}
	a.add("validatingwebhookconfigurations", &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: meta("", "v"), Webhooks: []admissionv1.ValidatingWebhook{{ClientConfig: service, Rules: rules}},
	})
	a.add("mutatingwebhookconfigurations", &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: meta("", "m"), Webhooks: []admissionv1.MutatingWebhook{{ClientConfig: admissionv1.WebhookClientConfig{URL: ptr.To("https://x/")}, Rules: rules}},
	})
	a.known.WebhookTokens = true
	a.Attests = func(_ context.Context, user *request.User, info *request.Info) error {
		if user.Name != "system:serviceaccount:ns:robot" || info.Verb != "attest" || info.Resource != "admissionReviewAPIGroups" || info.Name == "denied" {
			return errors.New(user.Name + " cannot " + info.Verb + " " + info.Name)
		}
		return nil
	}
	return a
}

// webhookSpec returns a request for a token that is bound to a webhook configuration.
func webhookSpec(kind, name, audience string, groups ...string) authenticationv1.TokenRequestSpec {
	return authenticationv1.TokenRequestSpec{
		Audiences: []string{audience}, ExpirationSeconds: ptr.To[int64](3600),
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "admissionregistration.k8s.io/v1", Kind: kind, Name: name},
		Attestations:   map[string]authenticationv1.AttestationValue{"admissionReviewAPIGroups": groups},
	}
}

// TestWebhookTokenRequests checks which tokens are bound to webhook configurations.
func TestWebhookTokenRequests(t *testing.T) {
	const denied = `serviceaccounts/token "robot" is forbidden: token request denied`
	noAttestation, audiences := webhookSpec(validatingKind, "v", webhookURL), webhookSpec(validatingKind, "v", webhookURL, "apps")
	noAttestation.Attestations = nil
	audiences.Audiences = []string{webhookURL, "b"}
	attesting, other, unknown := bindTo("Pod", "p"), webhookSpec(validatingKind, "v", webhookURL, "apps"), webhookSpec(validatingKind, "v", webhookURL, "apps")
	attesting.Attestations = audiences.Attestations
	other.BoundObjectRef.APIVersion, other.Attestations = "admissionregistration.k8s.io/v1beta1", nil
	unknown.Attestations = map[string]authenticationv1.AttestationValue{"other": {"apps"}}
	for _, c := range []struct {
		name string
		spec authenticationv1.TokenRequestSpec
		want string
	}{
		{"validating", webhookSpec(validatingKind, "v", webhookURL, "apps"), ""},
		{"mutating", webhookSpec(mutatingKind, "m", "https://x/", "apps"), ""},
		{"all groups", webhookSpec(mutatingKind, "m", "https://y/", "*"), ""},
		{"another group", webhookSpec(validatingKind, "v", webhookURL, "batch"), denied},
		{"another URL", webhookSpec(validatingKind, "v", "https://hook.ns.svc:443/", "apps"), denied},
		{"no configuration", webhookSpec(validatingKind, "w", webhookURL, "apps"), denied},
		{"not authorized", webhookSpec(validatingKind, "v", webhookURL, "denied"), "system:serviceaccount:ns:robot cannot attest denied"},
		{"own audience", webhookSpec(validatingKind, "v", "api", "apps"), "api server audiences are invalid for webhook token requests"},
		{"no attestation", noAttestation, "webhook bound requests require exactly one admissionReviewAPIGroups attestation"},
		{"unknown attestation", unknown, `spec.attestations[other]: Unsupported value: "other": supported values: "admissionReviewAPIGroups"`},
		{"two groups", webhookSpec(validatingKind, "v", webhookURL, "apps", "batch"), "must specify a single value"},
		{"empty group", webhookSpec(validatingKind, "v", webhookURL, ""), "may not be an empty string"},
		{"invalid group", webhookSpec(validatingKind, "v", webhookURL, "A"), "must specify a valid API Group: "},
		{"two audiences", audiences, "must be length 1 when bound to a webhook config"},
		{"attestation of a pod", attesting, "attestations may only be specified with a webhook bound object reference"},
		{"another version", other, "cannot bind token to object of type admissionregistration.k8s.io/v1beta1, Kind=ValidatingWebhookConfiguration"},
	} {
		if c.spec.ExpirationSeconds == nil {
			c.spec.ExpirationSeconds = ptr.To[int64](3600)
		}
		r, err := newWebhookAccounts(t).Issue(t.Context(), "ns", "robot", &authenticationv1.TokenRequest{Spec: c.spec})
		switch {
		case c.want == "" && (err != nil || *r.Spec.ExpirationSeconds != 600):
			t.Errorf("%s: %v, %+v", c.name, err, r)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	a := newWebhookAccounts(t)
	a.Attests = nil
	want := "cannot bind token to object of type admissionregistration.k8s.io/v1, Kind=ValidatingWebhookConfiguration (feature gate APIServerWebhookAuthenticationToken is disabled)"
	spec := webhookSpec(validatingKind, "v", webhookURL, "apps")
	if _, err := a.Issue(t.Context(), "ns", "robot", &authenticationv1.TokenRequest{Spec: spec}); err == nil || err.Error() != want {
		t.Errorf("disabled: got %v, want %s", err, want)
	}
}

// TestWebhookTokens checks the user of a token that is bound to a webhook configuration, which is valid
// as long as the configuration exists.
func TestWebhookTokens(t *testing.T) {
	for _, c := range []struct{ kind, resource, name, url, extra string }{
		{validatingKind, "validatingwebhookconfigurations", "v", webhookURL, extraValidating},
		{mutatingKind, "mutatingwebhookconfigurations", "m", "https://x/", extraMutating},
	} {
		a := newWebhookAccounts(t)
		token := a.request(t, webhookSpec(c.kind, c.name, c.url, "apps"))
		authenticate := func() (Identity, error) {
			id, ok, err := a.known.AuthenticateToken(withAudiences(t.Context(), []string{c.url}), token)
			if ok == (err != nil) {
				t.Fatalf("got %t, %v", ok, err)
			}
			return id, err
		}
		id, err := authenticate()
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]string{
			c.extra + "-name": c.name, c.extra + "-uid": c.name + "-uid", "attestation.authentication.kubernetes.io/admissionReviewAPIGroups": "apps",
		} {
			if got := strings.Join(id.User.Extra[key], ","); got != want {
				t.Errorf("%s: %q, want %q", key, got, want)
			}
		}
		a.known.WebhookTokens = false
		if _, err := authenticate(); err == nil || err.Error() != `feature gate "APIServerWebhookAuthenticationToken" is disabled, but token is webhook bound` {
			t.Errorf("disabled: %v", err)
		}
		a.known.WebhookTokens = true
		delete(a.cluster, c.resource+"//"+c.name)
		if _, err := authenticate(); !errors.Is(err, errInvalidated) {
			t.Errorf("without the configuration: %v", err)
		}
	}
}
