// Package apiextensions describes the kind CustomResourceDefinition. It validates names,
// versions, schemas and conversion webhooks of definitions. Package custom compiles an
// accepted definition to a kind.
package apiextensions

import (
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/api/expression"
)

// Kinds returns the kinds of the group, in which new expressions may call some functions, and schemas are
// treated as in a release. now is the clock.
func Kinds(functions expression.Library, r structural.Release, now func() time.Time) []*api.Resource {
	return []*api.Resource{
		CustomResourceDefinition(now, functions, r),
	}
}
