// Package apiregistration describes APIService, which registers another server for a group
// version. Package aggregation connects to these servers.
package apiregistration

import (
	"time"

	"github.com/miniapiserver/miniapiserver/api"
)

// Kinds returns the kinds of the group. now is the clock.
func Kinds(now func() time.Time) []*api.Resource {
	return []*api.Resource{
		APIService(now),
	}
}
