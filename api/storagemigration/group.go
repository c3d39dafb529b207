// Package storagemigration describes StorageVersionMigration, a request to write the
// objects of a kind anew in its storage version.
package storagemigration

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group, made for the feature gates.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		StorageVersionMigration(),
	}
}
