package authn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// Webhook is the kind of the tokens that another server knows: it is posted a
// TokenReview and says whose the token is. It stands behind Cached.
type Webhook struct {
	Client *http.Client
	URL    string
	// V1beta1 posts reviews of that version, and not of v1.
	V1beta1 bool
	// Audiences are the names of this server: what a review is about that says
	// nothing of the kind, in question or answer.
	Audiences []string
	// Timeout bounds all attempts together; 0 means 10 seconds. Backoff is how
	// long after the first attempt there is a second; 0 means half a second.
	Timeout, Backoff time.Duration
}

// Attempts of one review, and how much of an answer is read.
const (
	webhookAttempts = 5
	webhookGrowth   = 1.5
	webhookTimeout  = 10 * time.Second
	webhookBackoff  = 500 * time.Millisecond
	maxWebhookBody  = 1 << 20
)

// AuthenticateToken asks about the token.
func (w *Webhook) AuthenticateToken(ctx context.Context, token string) (Identity, bool, error) {
	wanted, limited := audiencesIn(ctx)
	if !limited {
		wanted = w.Audiences
	}
	status, err := w.review(ctx, authenticationv1.TokenReviewSpec{Token: token, Audiences: wanted})
	if err != nil {
		return Identity{}, false, err
	}
	meant := status.Audiences
	if len(meant) == 0 {
		meant = w.Audiences
	}
	audiences := intersect(meant, wanted)
	switch {
	case len(wanted) > 0 && len(audiences) == 0:
		return Identity{}, false, nil
	case !status.Authenticated && status.Error != "":
		return Identity{}, false, errors.New(status.Error)
	case !status.Authenticated:
		return Identity{}, false, nil
	case status.User.Username == "":
		return Identity{}, false, errors.New("the webhook knows the token, but not whose it is")
	}
	user := &request.User{Name: status.User.Username, UID: status.User.UID, Groups: status.User.Groups}
	for key, values := range status.User.Extra {
		if user.Extra == nil {
			user.Extra = map[string][]string{}
		}
		user.Extra[key] = values
	}
	return Identity{User: user, Audiences: audiences}, true, nil
}

// review posts a review, again if there is hope that it helps.
func (w *Webhook) review(ctx context.Context, spec authenticationv1.TokenReviewSpec) (*authenticationv1.TokenReviewStatus, error) {
	version := authenticationv1.SchemeGroupVersion
	if w.V1beta1 {
		version = authenticationv1beta1.SchemeGroupVersion
	}
	body, err := json.Marshal(authenticationv1.TokenReview{ // the versions are alike
		TypeMeta: metav1.TypeMeta{APIVersion: version.String(), Kind: "TokenReview"}, Spec: spec,
	})
	if err != nil {
		return nil, err
	}
	timeout, wait := w.Timeout, w.Backoff
	if timeout == 0 {
		timeout = webhookTimeout
	}
	if wait == 0 {
		wait = webhookBackoff
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		status, again, err := w.post(ctx, body, version.String())
		if err == nil || !again || attempt == webhookAttempts {
			return status, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait + time.Duration(rand.Float64()*0.2*float64(wait))):
		}
		wait = time.Duration(float64(wait) * webhookGrowth)
	}
}

// post does one attempt; again tells whether another may help.
func (w *Webhook) post(ctx context.Context, body []byte, version string) (status *authenticationv1.TokenReviewStatus, again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return nil, false, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, */*")
	resp, err := w.Client.Do(r)
	if err != nil {
		return nil, ctx.Err() == nil, fmt.Errorf("token review: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxWebhookBody))
	if err != nil {
		return nil, ctx.Err() == nil, fmt.Errorf("token review: %w", err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		busy := resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests
		return nil, busy, fmt.Errorf("token review: the webhook answered %s", resp.Status)
	}
	var review authenticationv1.TokenReview
	if err := json.Unmarshal(data, &review); err != nil {
		return nil, false, errors.New("token review: the webhook's answer is no TokenReview")
	}
	if review.APIVersion != version || review.Kind != "TokenReview" {
		return nil, false, fmt.Errorf("token review: the webhook answered with a %s of %s, not a TokenReview of %s", review.Kind, review.APIVersion, version)
	}
	return &review.Status, false, nil
}
