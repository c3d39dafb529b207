package authn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/review"
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

const (
	webhookTimeout = 10 * time.Second
	webhookBackoff = 500 * time.Millisecond
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
	server := review.Server{Client: w.Client, URL: w.URL, Timeout: cmp.Or(w.Timeout, webhookTimeout), Backoff: cmp.Or(w.Backoff, webhookBackoff)}
	var answer authenticationv1.TokenReview
	if err := server.Ask(ctx, body, &answer); err != nil {
		return nil, fmt.Errorf("token review: %w", err)
	}
	if answer.APIVersion != version.String() || answer.Kind != "TokenReview" {
		return nil, fmt.Errorf("token review: the webhook answered with a %s of %s, not a TokenReview of %s", answer.Kind, answer.APIVersion, version)
	}
	return &answer.Status, nil
}
