// Package apiserverinternal describes StorageVersion, in which API servers record the
// versions that they store.
package apiserverinternal

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(_ features.Gates) []*api.Resource {
	return []*api.Resource{
		StorageVersion(),
	}
}
