package authn

import (
	"context"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// Reviews answer the questions that clients ask of authentication: who am I,
// whose is this token, and may I have a token of this account. The keys are the
// sources of these kinds in the catalogue. Tokens are looked up as they would be
// in a request, audiences being the names that this server goes by.
func Reviews(requests Authenticator, audiences []string, tokens *TokenRequests) map[string]registry.Review {
	r := &reviewer{requests: requests, audiences: audiences, tokens: tokens}
	return map[string]registry.Review{
		"selfsubjectreviews": r.self,
		"tokenreviews":       r.token,
		"tokenrequests":      r.issue,
	}
}

type reviewer struct {
	requests  Authenticator
	audiences []string
	tokens    *TokenRequests
}

func (r *reviewer) self(ctx context.Context, _ registry.Target, _ api.Object) (api.Object, error) {
	user := request.From(ctx).User
	if user == nil {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	return &authenticationv1.SelfSubjectReview{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Now())},
		Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: userInfo(user)},
	}, nil
}

func (r *reviewer) token(ctx context.Context, _ registry.Target, asked api.Object) (api.Object, error) {
	review, ok := asked.(*authenticationv1.TokenReview)
	if !ok {
		return nil, fmt.Errorf("%T is no TokenReview", asked)
	}
	if review.Spec.Token == "" {
		return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	audiences := review.Spec.Audiences
	if len(audiences) == 0 {
		audiences = r.audiences
	}
	// A request that has nothing but the token: nothing of the one who asks
	// must make an impression.
	sent, err := http.NewRequestWithContext(WithAudiences(request.With(untrusted(ctx), &request.Scope{}), audiences), http.MethodGet, "/", nil)
	if err != nil {
		return nil, err
	}
	sent.Header.Set("Authorization", "Bearer "+review.Spec.Token)
	id, ok, err := r.requests.Authenticate(sent)
	review.Status = authenticationv1.TokenReviewStatus{Authenticated: ok}
	if err != nil {
		review.Status.Error = err.Error()
	}
	if !ok {
		return review, nil
	}
	if len(audiences) > 0 && len(intersect(audiences, id.Audiences)) == 0 {
		return nil, apierrors.NewInternalError(fmt.Errorf("error validating audience. want=%q got=%q", audiences, id.Audiences))
	}
	review.Status.User, review.Status.Audiences = userInfo(id.User), id.Audiences
	return review, nil
}

func (r *reviewer) issue(ctx context.Context, t registry.Target, asked api.Object) (api.Object, error) {
	wanted, ok := asked.(*authenticationv1.TokenRequest)
	if !ok {
		return nil, fmt.Errorf("%T is no TokenRequest", asked)
	}
	return r.tokens.Answer(ctx, t.Namespace, t.Name, wanted)
}

func userInfo(u *request.User) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: u.Name, UID: u.UID, Groups: u.Groups}
	for key, values := range u.Extra {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[key] = values
	}
	return info
}
