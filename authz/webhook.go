package authz

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/miniapiserver/miniapiserver/internal/hooks"
	"github.com/miniapiserver/miniapiserver/request"
)

// WebhookConfig configures a Webhook. Client and URL are required.
type WebhookConfig struct {
	Client *http.Client
	URL    string
	// V1beta1 sends SubjectAccessReviews of version v1beta1 rather than v1.
	V1beta1 bool
	// AuthorizedTTL and UnauthorizedTTL are the times for which decisions are cached; 0 disables
	// caching.
	AuthorizedTTL, UnauthorizedTTL time.Duration
	// Timeout limits a request with all its retries; 0 means 30 seconds.
	Timeout time.Duration
	// DenyOnFailure denies requests for which the webhook fails, rather than having no opinion on
	// them.
	DenyOnFailure bool
	// Conditions select the requests for which the webhook is called; nil selects all.
	Conditions *Conditions
	// Backoff is the delay before the first of at most four retries; 0 means half a second.
	Backoff time.Duration
	// Name identifies the webhook in Metrics, which is required.
	Name    string
	Metrics *Metrics
}

// Webhook authorizes requests by posting SubjectAccessReviews to another server.
type Webhook struct {
	WebhookConfig
	decisions *cache.LRUExpireCache
}

// Limits of the cache: the number of decisions, and the size of a request to be cached in bytes.
const (
	maxCachedDecisions = 8192
	maxCachedKeySize   = 10000
)

// newWebhook returns a webhook authorizer with defaults applied.
func newWebhook(c WebhookConfig) *Webhook {
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Backoff == 0 {
		c.Backoff = 500 * time.Millisecond
	}
	return &Webhook{WebhookConfig: c, decisions: cache.NewLRUExpireCache(maxCachedDecisions)}
}

// Authorize implements Authorizer.
func (w *Webhook) Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	spec := reviewSpec(user, info)
	if w.Conditions != nil {
		start := time.Now()
		match, err := w.Conditions.match(spec)
		w.Metrics.webhooks.matched(w.Name, match, time.Since(start), err)
		switch {
		case err != nil:
			return w.onFailure(err)
		case !match:
			return NoOpinion, "", nil
		}
	}
	key, err := json.Marshal(spec)
	if err != nil {
		return w.onFailure(err)
	}
	if cached, ok := w.decisions.Get(string(key)); ok {
		return reviewDecision(cached.(*authorizationv1.SubjectAccessReviewStatus))
	}
	status, err := w.postReview(ctx, spec)
	if err != nil {
		if !w.DenyOnFailure && ctx.Err() == nil {
			w.Metrics.webhooks.failedOpen(w.Name, err)
		}
		return w.onFailure(err)
	}
	ttl := w.UnauthorizedTTL
	if status.Allowed {
		ttl = w.AuthorizedTTL
	}
	if ttl > 0 && len(key) < maxCachedKeySize {
		w.decisions.Add(string(key), status, ttl)
	}
	return reviewDecision(status)
}

// RulesFor implements RuleResolver. A webhook cannot list permissions.
func (*Webhook) RulesFor(context.Context, *request.User, string) (Rules, error) {
	return Rules{Incomplete: true}, errors.New("webhook authorizer does not support user rule resolution")
}

func (w *Webhook) onFailure(err error) (Decision, string, error) {
	if w.DenyOnFailure {
		return Deny, "", err
	}
	return NoOpinion, "", err
}

func reviewDecision(s *authorizationv1.SubjectAccessReviewStatus) (Decision, string, error) {
	switch {
	case s.Denied && s.Allowed:
		return Deny, s.Reason, errors.New("webhook subject access review returned both allow and deny response")
	case s.Denied:
		return Deny, s.Reason, nil
	case s.Allowed:
		return Allow, s.Reason, nil
	}
	return NoOpinion, s.Reason, nil
}

// postReview posts a SubjectAccessReview and returns its status.
func (w *Webhook) postReview(ctx context.Context,
	spec *authorizationv1.SubjectAccessReviewSpec) (*authorizationv1.SubjectAccessReviewStatus, error) {
	body, err := json.Marshal(w.subjectAccessReview(spec))
	if err != nil {
		return nil, err
	}
	server := hooks.Webhook{Client: w.Client, URL: w.URL, Timeout: w.Timeout, Backoff: w.Backoff, Observe: func(took time.Duration, err error) {
		w.Metrics.webhooks.called(ctx, w.Name, took, err)
	}}
	var answer struct {
		APIVersion string                                    `json:"apiVersion"`
		Kind       string                                    `json:"kind"`
		Status     authorizationv1.SubjectAccessReviewStatus `json:"status"`
	}
	if err := server.Review(ctx, body, &answer); err != nil {
		return nil, fmt.Errorf("subject access review: %w", err)
	}
	if answer.Kind != "" && answer.Kind != "SubjectAccessReview" {
		return nil, fmt.Errorf("subject access review: unexpected response of %s %q", answer.APIVersion, answer.Kind)
	}
	return &answer.Status, nil // which may be absent: no opinion
}

// subjectAccessReview returns the object to post.
func (w *Webhook) subjectAccessReview(spec *authorizationv1.SubjectAccessReviewSpec) runtime.Object {
	if !w.V1beta1 {
		q := &authorizationv1.SubjectAccessReview{Spec: *spec}
		q.SetGroupVersionKind(authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"))
		return q
	}
	q := &authorizationv1beta1.SubjectAccessReview{Spec: authorizationv1beta1.SubjectAccessReviewSpec{
		User: spec.User, UID: spec.UID, Groups: spec.Groups,
		ResourceAttributes:    (*authorizationv1beta1.ResourceAttributes)(spec.ResourceAttributes),
		NonResourceAttributes: (*authorizationv1beta1.NonResourceAttributes)(spec.NonResourceAttributes),
	}}
	if spec.Extra != nil {
		q.Spec.Extra = make(map[string]authorizationv1beta1.ExtraValue, len(spec.Extra))
		for k, v := range spec.Extra {
			q.Spec.Extra[k] = authorizationv1beta1.ExtraValue(v)
		}
	}
	q.SetGroupVersionKind(authorizationv1beta1.SchemeGroupVersion.WithKind("SubjectAccessReview"))
	return q
}

// reviewSpec returns the spec of a SubjectAccessReview for a request.
func reviewSpec(user *request.User, info *request.Info) *authorizationv1.SubjectAccessReviewSpec {
	spec := &authorizationv1.SubjectAccessReviewSpec{}
	if user != nil {
		spec.User, spec.UID, spec.Groups = user.Name, user.UID, user.Groups
		if len(user.Extra) > 0 {
			spec.Extra = make(map[string]authorizationv1.ExtraValue, len(user.Extra))
			for k, v := range user.Extra {
				spec.Extra[k] = v
			}
		}
	}
	if !info.IsResource {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: info.Path, Verb: info.Verb}
		return spec
	}
	spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: info.Namespace, Verb: info.Verb, Group: info.Group, Version: info.Version,
		Resource: info.Resource, Subresource: info.Subresource, Name: info.Name,
		FieldSelector: fieldRequirements(info.FieldSelector), LabelSelector: labelRequirements(info.LabelSelector),
	}
	return spec
}
