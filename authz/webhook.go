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

	"github.com/miniapiserver/miniapiserver/internal/review"
	"github.com/miniapiserver/miniapiserver/request"
)

// WebhookConfig says whom to ask, and how. Client and URL must be set.
type WebhookConfig struct {
	Client *http.Client
	URL    string
	// V1beta1 asks in that version instead of v1.
	V1beta1 bool
	// AuthorizedTTL and UnauthorizedTTL are how long answers are kept; 0 means
	// not at all.
	AuthorizedTTL, UnauthorizedTTL time.Duration
	// Timeout bounds a question with all its tries; 0 means 30 seconds.
	Timeout time.Duration
	// DenyOnFailure denies what could not be asked; else there is no opinion.
	DenyOnFailure bool
	// Conditions choose what is asked about; nil means everything.
	Conditions *Conditions
	// Backoff is how long after the first failure another try is made, of which
	// there are five in all; 0 means half a second.
	Backoff time.Duration
}

// Webhook asks another server, by posting it SubjectAccessReviews.
type Webhook struct {
	WebhookConfig
	answers *cache.LRUExpireCache
}

// Bounds of what is kept of answers: how many, and for how long a question.
const (
	webhookAnswers  = 8192
	webhookQuestion = 10000
)

// NewWebhook makes a Webhook.
func NewWebhook(c WebhookConfig) *Webhook {
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Backoff == 0 {
		c.Backoff = 500 * time.Millisecond
	}
	return &Webhook{WebhookConfig: c, answers: cache.NewLRUExpireCache(webhookAnswers)}
}

// Authorize implements Authorizer.
func (w *Webhook) Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	spec := specOf(user, info)
	if w.Conditions != nil {
		switch match, err := w.Conditions.match(spec); {
		case err != nil && w.DenyOnFailure:
			return Deny, "", err
		case err != nil, !match:
			return NoOpinion, "", nil
		}
	}
	key, err := json.Marshal(spec)
	if err != nil {
		return w.onFailure(err)
	}
	if kept, ok := w.answers.Get(string(key)); ok {
		return decided(kept.(*authorizationv1.SubjectAccessReviewStatus))
	}
	status, err := w.ask(ctx, spec)
	if err != nil {
		return w.onFailure(err)
	}
	ttl := w.UnauthorizedTTL
	if status.Allowed {
		ttl = w.AuthorizedTTL
	}
	if ttl > 0 && len(key) < webhookQuestion {
		w.answers.Add(string(key), status, ttl)
	}
	return decided(status)
}

// RulesFor implements RuleResolver: a webhook does not tell.
func (*Webhook) RulesFor(context.Context, *request.User, string) (Rules, error) {
	return Rules{Incomplete: true}, errors.New("webhook authorizer does not support user rule resolution")
}

func (w *Webhook) onFailure(err error) (Decision, string, error) {
	if w.DenyOnFailure {
		return Deny, "", err
	}
	return NoOpinion, "", err
}

func decided(s *authorizationv1.SubjectAccessReviewStatus) (Decision, string, error) {
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

// ask puts a question to the other server.
func (w *Webhook) ask(ctx context.Context, spec *authorizationv1.SubjectAccessReviewSpec) (*authorizationv1.SubjectAccessReviewStatus, error) {
	body, err := json.Marshal(w.question(spec))
	if err != nil {
		return nil, err
	}
	server := review.Server{Client: w.Client, URL: w.URL, Timeout: w.Timeout, Backoff: w.Backoff}
	var answer struct {
		APIVersion string                                     `json:"apiVersion"`
		Kind       string                                     `json:"kind"`
		Status     *authorizationv1.SubjectAccessReviewStatus `json:"status"`
	}
	if err := server.Ask(ctx, body, &answer); err != nil {
		return nil, fmt.Errorf("subject access review: %w", err)
	}
	if answer.Kind != "" && answer.Kind != "SubjectAccessReview" || answer.Status == nil {
		return nil, fmt.Errorf("the authorization webhook answered no SubjectAccessReview but %s %q", answer.APIVersion, answer.Kind)
	}
	return answer.Status, nil
}

// question is the object to send.
func (w *Webhook) question(spec *authorizationv1.SubjectAccessReviewSpec) runtime.Object {
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

// specOf is a request as a question about it.
func specOf(user *request.User, info *request.Info) *authorizationv1.SubjectAccessReviewSpec {
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
