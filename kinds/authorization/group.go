// Package authorization describes the reviews by which clients ask whether a user may do
// something. Nothing is stored; package authz answers.
package authorization

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		LocalSubjectAccessReview(),
		SelfSubjectAccessReview(),
		SelfSubjectRulesReview(),
		SubjectAccessReview(),
	}
}
