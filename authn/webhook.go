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

	"github.com/miniapiserver/miniapiserver/internal/hooks"
	"github.com/miniapiserver/miniapiserver/request"
)

// Webhook authenticates tokens by posting a TokenReview to another server. NewTokenCache caches its
// results.
type Webhook struct {
	Client *http.Client
	URL    string
	// V1beta1 selects the version v1beta1 of TokenReview rather than v1.
	V1beta1 bool
	// Audiences are the audiences of this server. They apply if neither the request nor the
	// response names audiences.
	Audiences []string
	// Timeout limits all attempts together; 0 means 10 seconds. Backoff is the delay between
	// attempts; 0 means half a second.
	Timeout, Backoff time.Duration
}

const (
	webhookTimeout = 10 * time.Second
	webhookBackoff = 500 * time.Millisecond
)

// AuthenticateToken implements Token.
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
		return Identity{}, false, errors.New("the webhook authenticated the token without a user name")
	}
	user := &request.User{Name: status.User.Username, UID: status.User.UID, Groups: status.User.Groups}
	for key, values := range status.User.Extra {
		if user.Extra == nil {
			user.Extra = map[string][]string{}
		}
		user.Extra[key] = values
	}
	return Identity{Method: "webhook", User: user, Audiences: audiences}, true, nil
}

func (w *Webhook) review(ctx context.Context, spec authenticationv1.TokenReviewSpec) (*authenticationv1.TokenReviewStatus, error) {
	version := authenticationv1.SchemeGroupVersion
	if w.V1beta1 {
		version = authenticationv1beta1.SchemeGroupVersion
	}
	body, err := json.Marshal(authenticationv1.TokenReview{ // both versions have the same fields
		TypeMeta: metav1.TypeMeta{APIVersion: version.String(), Kind: "TokenReview"}, Spec: spec,
	})
	if err != nil {
		return nil, err
	}
	server := hooks.Webhook{Client: w.Client, URL: w.URL, Timeout: cmp.Or(w.Timeout, webhookTimeout),
		Backoff: cmp.Or(w.Backoff, webhookBackoff)}
	var answer authenticationv1.TokenReview
	if err := server.Review(ctx, body, &answer); err != nil {
		return nil, fmt.Errorf("token review: %w", err)
	}
	if answer.APIVersion != version.String() || answer.Kind != "TokenReview" {
		return nil, fmt.Errorf("token review: the webhook answered with a %s of %s, not a TokenReview of %s",
			answer.Kind, answer.APIVersion, version)
	}
	return &answer.Status, nil
}
