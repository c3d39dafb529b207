package authz

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// AlwaysAllow allows everything, and AlwaysDeny lets nothing be done that no
// other authorizer allows. Both are for tests.
type (
	AlwaysAllow struct{}
	AlwaysDeny  struct{}
)

// Authorize allows.
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

// Authorize has no opinion, and says why nobody else has one.
func (AlwaysDeny) Authorize(context.Context, *request.User, *request.Info) (Decision, string, error) {
	return NoOpinion, "Everything is forbidden.", nil
}

// RulesFor implements RuleResolver.
func (AlwaysDeny) RulesFor(context.Context, *request.User, string) (Rules, error) {
	return Rules{}, nil
}
