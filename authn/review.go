package authn

import (
	"context"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// Reviews returns the implementations of SelfSubjectReview, TokenReview and TokenRequest, by the
// names of their sources in the catalogue. TokenReviews authenticate tokens like requests do;
// audiences are the ones of this server.
func Reviews(requests Authenticator, audiences []string, tokens *TokenRequests) map[string]registry.Review {
	r := &reviewer{requests: requests, audiences: audiences, tokens: tokens}
	return map[string]registry.Review{
		"selfsubjectreviews": {Answer: r.selfSubjectReview},
		"tokenreviews":       {Answer: r.tokenReview},
		"tokenrequests":      {Answer: r.tokenRequest, Complete: tokens.complete},
	}
}

type reviewer struct {
	requests  Authenticator
	audiences []string
	tokens    *TokenRequests
}

func (r *reviewer) selfSubjectReview(ctx context.Context, _ registry.Target, _ api.Object) (api.Object, error) {
	user := request.From(ctx).User
	if user == nil {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	return &authenticationv1.SelfSubjectReview{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(r.tokens.Issuer.now())},
		Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: userInfo(user)},
	}, nil
}

func (r *reviewer) tokenReview(ctx context.Context, _ registry.Target, obj api.Object) (api.Object, error) {
	review, ok := obj.(*authenticationv1.TokenReview)
	if !ok {
		return nil, fmt.Errorf("%T is no TokenReview", obj)
	}
	if review.Spec.Token == "" {
		return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	audiences := review.Spec.Audiences
	if len(audiences) == 0 {
		audiences = r.audiences
	}
	// The synthetic request contains only the token, so that no credential of the client is used in
	// its place.
	sent, err := http.NewRequestWithContext(withAudiences(request.With(withoutTrusted(ctx), &request.Scope{}),
		audiences), http.MethodGet, "/", nil)
	if err != nil {
		return nil, err
	}
	sent.Header.Set("Authorization", "Bearer "+review.Spec.Token)
	id, ok, err := r.requests.Authenticate(sent)
	// As in kube-apiserver, the status in the request remains where the result has nothing to say.
	review.Status.Authenticated = ok
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

func (r *reviewer) tokenRequest(ctx context.Context, t registry.Target, obj api.Object) (api.Object, error) {
	tokenRequest, ok := obj.(*authenticationv1.TokenRequest)
	if !ok {
		return nil, fmt.Errorf("%T is no TokenRequest", obj)
	}
	return r.tokens.Issue(ctx, t.Namespace, t.Name, tokenRequest)
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
