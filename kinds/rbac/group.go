// Package rbac describes roles and their bindings. Package authz evaluates them.
package rbac

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		ClusterRole(),
		ClusterRoleBinding(),
		Role(),
		RoleBinding(),
	}
}
