package authn

import (
	"context"
	"errors"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// TestTokenReviewStatus checks that a review keeps the status in the request except for what
// authentication found.
func TestTokenReviewStatus(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer answer
		user   string
		err    string
	}{
		{"unknown token", answer{}, "sent", "sent"},
		{"error", answer{err: errors.New("bad")}, "sent", "bad"},
		{"known token", answer{user: &request.User{Name: "alice"}}, "alice", "sent"},
	} {
		review := &authenticationv1.TokenReview{}
		review.Spec.Token = "t"
		review.Status.User.Username, review.Status.Error = "sent", "sent"
		r := &reviewer{requests: c.answer}
		got, err := r.tokenReview(request.With(context.Background(), &request.Scope{}), registry.Target{}, review)
		if err != nil {
			t.Fatal(err)
		}
		status := got.(*authenticationv1.TokenReview).Status
		if status.User.Username != c.user || status.Error != c.err || status.Authenticated != (c.answer.user != nil) {
			t.Errorf("%s: got %+v", c.name, status)
		}
	}
}
