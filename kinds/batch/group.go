// Package batch describes Job and CronJob. schedule.go parses the schedule of a CronJob.
package batch

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(gates features.Gates) []*api.Resource {
	return []*api.Resource{
		CronJob(gates),
		Job(gates),
	}
}
