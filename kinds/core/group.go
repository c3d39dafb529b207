// Package core describes the kinds of the core group, whose apiVersion is "v1":
// ConfigMap, Secret, Namespace, Node, PersistentVolume and others. Pod, Service and
// PersistentVolumeClaim have packages of their own below it, because other groups use
// their rules: pod templates, addresses, claims of a template.
//
// A file is named for its kind and has the kind's description first, then its
// defaults, rules, warnings and columns. Larger kinds have a second file, such as
// node_connect.go for the paths below a node.
package core

import (
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/claim"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
)

// Kinds returns the kinds of the group. now is the clock.
func Kinds(gates features.Gates, now func() time.Time) []*api.Resource {
	return []*api.Resource{
		pod.Binding(),
		ComponentStatus(),
		ConfigMap(),
		Endpoints(gates),
		Event(),
		LimitRange(),
		Namespace(),
		Node(gates),
		PersistentVolume(gates, now),
		claim.PersistentVolumeClaim(gates),
		pod.Pod(gates, now),
		PodTemplate(gates),
		ReplicationController(gates),
		ResourceQuota(),
		Secret(),
		service.Service(gates),
		ServiceAccount(gates),
	}
}
