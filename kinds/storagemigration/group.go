// Package storagemigration describes StorageVersionMigration, a request to rewrite the objects
// of a resource in its storage version.
package storagemigration

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		StorageVersionMigration(),
	}
}
