package authz

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// AlwaysAllow allows every request. AlwaysDeny never allows one, so that only other authorizers
// can. Both are for tests.
type (
	AlwaysAllow struct{}
	AlwaysDeny  struct{}
)

// Authorize implements Authorizer.
func (AlwaysAllow) Authorize(context.Context, *request.User, *request.Info) (Decision, string, error) {
	return Allow, "", nil
}

// RulesFor implements RuleResolver.
func (AlwaysAllow) RulesFor(context.Context, *request.User, string) (Rules, error) {
	star := []string{"*"}
	return Rules{
		Resources: []authorizationv1.ResourceRule{{Verbs: star, APIGroups: star, Resources: star}},
		Paths:     []authorizationv1.NonResourceRule{{Verbs: star, NonResourceURLs: star}},
	}, nil
}

// Authorize implements Authorizer.
func (AlwaysDeny) Authorize(context.Context, *request.User, *request.Info) (Decision, string, error) {
	return NoOpinion, "Everything is forbidden.", nil
}

// RulesFor implements RuleResolver.
func (AlwaysDeny) RulesFor(context.Context, *request.User, string) (Rules, error) {
	return Rules{}, nil
}
