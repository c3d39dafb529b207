// Package authentication describes the kinds of the group authentication.k8s.io: TokenReview,
// SelfSubjectReview and, for the subresource serviceaccounts/token, TokenRequest. They are
// not stored; package server connects them with package authn.
package authentication

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		SelfSubjectReview(),
		TokenReview(),
	}
}
