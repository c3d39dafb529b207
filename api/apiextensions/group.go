// Package apiextensions describes the kind CustomResourceDefinition. It validates names,
// versions, schemas and conversion webhooks of definitions. Package custom compiles an
// accepted definition to a kind.
package apiextensions

import (
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		CustomResourceDefinition(time.Now),
	}
}
