// Package apps describes the workload kinds Deployment, ReplicaSet, StatefulSet and
// DaemonSet, and ControllerRevision, which records the history of the last two. Package
// workload has their shared rules; package pod validates their pod templates.
package apps

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group for the feature gates.
func Kinds(gates features.Gates) []*api.Resource {
	return []*api.Resource{
		ControllerRevision(),
		DaemonSet(gates),
		Deployment(gates),
		ReplicaSet(gates),
		StatefulSet(gates),
	}
}
