package authn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// A token that is bound to a webhook configuration authenticates an API server to an admission
// webhook. It attests the API group of whose objects the server may send reviews; the service account
// needs the permission to do so, and a webhook of the configuration must match the group and the
// audience.

// maxWebhookLifetime is the maximum lifetime of such a token, in seconds.
const maxWebhookLifetime = int64(10 * time.Minute / time.Second)

var errTokenDenied = errors.New("token request denied")

// webhookResource returns the resource of the webhook configurations of a kind; empty for other kinds.
func webhookResource(kind schema.GroupVersionKind) string {
	if kind.GroupVersion() != admissionv1.SchemeGroupVersion {
		return ""
	}
	switch kind.Kind {
	case validatingKind:
		return "validatingwebhookconfigurations"
	case mutatingKind:
		return "mutatingwebhookconfigurations"
	}
	return ""
}

// Kinds of webhook configurations.
const (
	validatingKind = "ValidatingWebhookConfiguration"
	mutatingKind   = "MutatingWebhookConfiguration"
)

// attestationRules validates the attestations of a request, and the audiences of one that is bound to a
// webhook configuration.
func attestationRules(spec *authenticationv1.TokenRequestSpec) (errs field.ErrorList) {
	at := field.NewPath("spec")
	if ref := spec.BoundObjectRef; ref == nil || webhookResource(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)) == "" {
		if len(spec.Attestations) > 0 {
			errs = append(errs, field.Invalid(at.Child("attestations"), spec.Attestations,
				"attestations may only be specified with a webhook bound object reference"))
		}
		return errs
	}
	if len(spec.Audiences) != 1 {
		errs = append(errs, field.Invalid(at.Child("audiences"), spec.Audiences, "must be length 1 when bound to a webhook config"))
	}
	at = at.Child("attestations")
	if len(spec.Attestations) != 1 {
		return append(errs, field.Invalid(at, spec.Attestations,
			"webhook bound requests require exactly one admissionReviewAPIGroups attestation"))
	}
	const known = authenticationv1.AttestationAdmissionReviewAPIGroups
	for key, values := range spec.Attestations {
		switch at := at.Key(key); {
		case key != known:
			errs = append(errs, field.NotSupported(at, key, []string{known}))
		case len(values) != 1:
			errs = append(errs, field.Invalid(at, values, "must specify a single value"))
		case values[0] == "":
			errs = append(errs, field.Invalid(at.Index(0), values[0], "may not be an empty string"))
		case values[0] != "*":
			for _, fault := range validation.IsDNS1123Subdomain(values[0]) {
				errs = append(errs, field.Invalid(at.Index(0), values[0], "must specify a valid API Group: "+fault))
			}
		}
	}
	return errs
}

// webhookConfiguration returns the configuration to which a token shall be bound, if the service account
// can have such a token. The attestations have been validated.
func (t *TokenRequests) webhookConfiguration(ctx context.Context, account *corev1.ServiceAccount,
	kind schema.GroupVersionKind, spec *authenticationv1.TokenRequestSpec) (api.Object, error) {
	if t.Attests == nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s (feature gate %s is disabled)",
			kind.String(), features.APIServerWebhookAuthenticationToken))
	}
	if len(intersect(t.Audiences, spec.Audiences)) > 0 {
		return nil, apierrors.NewBadRequest("api server audiences are invalid for webhook token requests")
	}
	group := spec.Attestations[authenticationv1.AttestationAdmissionReviewAPIGroups][0]
	lifetime := min(*spec.ExpirationSeconds, maxWebhookLifetime)
	spec.ExpirationSeconds = &lifetime
	user := (&boundClaims{Namespace: account.Namespace, Account: reference{account.Name, string(account.UID)}}).user("")
	if err := t.Attests(ctx, user, &request.Info{
		IsResource: true, Verb: "attest", Group: authenticationv1.GroupName, Version: "*", Resource: authenticationv1.AttestationAdmissionReviewAPIGroups, Name: group,
	}); err != nil {
		return nil, err
	}
	obj, err := t.Objects(ctx, webhookResource(kind), "", spec.BoundObjectRef.Name, true)
	if err != nil || isPastDeletion(obj, t.Issuer.now()) || !hasWebhook(obj, group, spec.Audiences[0]) {
		return nil, apierrors.NewForbidden(corev1.Resource("serviceaccounts/token"), account.Name, errTokenDenied)
	}
	return obj, nil
}

// isPastDeletion reports whether the deletion time of an object has passed.
func isPastDeletion(obj api.Object, now time.Time) bool {
	deleted := obj.GetDeletionTimestamp()
	return deleted != nil && now.After(deleted.Time)
}

// hasWebhook reports whether a configuration has a webhook for an API group at the URL that is the
// audience. The group "*" is that of tokens of this server for any webhook.
func hasWebhook(obj api.Object, group, audience string) bool {
	if group == "*" {
		return true
	}
	matches := func(c *admissionv1.WebhookClientConfig, rules []admissionv1.RuleWithOperations) bool {
		return slices.ContainsFunc(rules, func(r admissionv1.RuleWithOperations) bool {
			return slices.Contains(r.APIGroups, "*") || slices.Contains(r.APIGroups, group)
		}) && slices.Contains(webhookURLs(c), audience)
	}
	switch o := obj.(type) {
	case *admissionv1.ValidatingWebhookConfiguration:
		return slices.ContainsFunc(o.Webhooks, func(w admissionv1.ValidatingWebhook) bool { return matches(&w.ClientConfig, w.Rules) })
	case *admissionv1.MutatingWebhookConfiguration:
		return slices.ContainsFunc(o.Webhooks, func(w admissionv1.MutatingWebhook) bool { return matches(&w.ClientConfig, w.Rules) })
	}
	return false
}

// webhookURLs returns the URLs of a webhook as audiences.
func webhookURLs(c *admissionv1.WebhookClientConfig) (urls []string) {
	if c.URL != nil {
		urls = append(urls, *c.URL)
	}
	if s := c.Service; s != nil {
		port, path := int32(443), "/"
		if s.Port != nil {
			port = *s.Port
		}
		if s.Path != nil {
			path = "/" + strings.TrimPrefix(*s.Path, "/")
		}
		urls = append(urls, fmt.Sprintf("https://%s.%s.svc:%d%s", s.Name, s.Namespace, port, path))
	}
	return urls
}

// checkWebhook checks that the webhook configuration of a token, if it has one, still exists.
func (s *ServiceAccounts) checkWebhook(ctx context.Context, k *boundClaims, now time.Time) error {
	if k.Validating == nil && k.Mutating == nil {
		return nil
	}
	if !s.WebhookTokens {
		return fmt.Errorf("feature gate %q is disabled, but token is webhook bound", features.APIServerWebhookAuthenticationToken)
	}
	if len(k.Attestations[authenticationv1.AttestationAdmissionReviewAPIGroups]) == 0 {
		return fmt.Errorf("bound object was a webhook config, but %q attestation is missing",
			authenticationv1.AttestationAdmissionReviewAPIGroups)
	}
	for _, b := range []struct {
		kind string
		to   *reference
	}{{validatingKind, k.Validating}, {mutatingKind, k.Mutating}} {
		if b.to == nil {
			continue
		}
		obj, err := s.find(ctx, webhookResource(admissionv1.SchemeGroupVersion.WithKind(b.kind)), "", *b.to)
		if err != nil {
			return errInvalidated
		}
		if uid := string(obj.GetUID()); uid != b.to.UID {
			return fmt.Errorf("%s UID (%s) does not match service account validating ref claim (%s)", b.kind, uid, b.to.UID)
		}
		if isDeleted(obj, now) {
			return errInvalidated
		}
	}
	return nil
}
