package kinds

import (
	"encoding/json"
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core"
	"github.com/miniapiserver/miniapiserver/kinds/core/claim"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
	"github.com/miniapiserver/miniapiserver/kinds/discovery"
	"github.com/miniapiserver/miniapiserver/kinds/scheduling"
	"github.com/miniapiserver/miniapiserver/kinds/storage"
)

// TestDefaults checks the defaults of almost empty objects, and that setting them twice
// changes nothing.
func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		resource *api.Resource
		in, want string
	}{
		{scheduling.PriorityClass(), `{}`, `{"metadata":{},"value":0,"preemptionPolicy":"PreemptLowerPriority"}`},
		{storage.StorageClass(), `{"provisioner":"a"}`, `{"metadata":{},"provisioner":"a","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"}`},
		{discovery.EndpointSlice(features.Default()), `{"ports":[{"port":1}]}`, `{"metadata":{},"endpoints":null,"addressType":"","ports":[{"name":"","protocol":"TCP","port":1}]}`},
		{core.Endpoints(features.Default()), `{"subsets":[{"ports":[{"port":1}]}]}`, `{"metadata":{},"subsets":[{"ports":[{"port":1,"protocol":"TCP"}]}]}`},
		{core.ReplicationController(features.Default()), `{"spec":{}}`, `{"metadata":{},"spec":{"replicas":1},"status":{"replicas":0}}`},
		{service.Service(features.Default()), `{"spec":{"ports":[{"port":1}]}}`, `{"metadata":{},"spec":{"ports":[{"protocol":"TCP","port":1,"targetPort":1}],` +
			`"type":"ClusterIP","sessionAffinity":"None","internalTrafficPolicy":"Cluster"},"status":{"loadBalancer":{}}}`},
		{claim.PersistentVolumeClaim(features.Default()), `{}`, `{"metadata":{},"spec":{"resources":{},"volumeMode":"Filesystem"},"status":{"phase":"Pending"}}`},
	} {
		obj := c.resource.New()
		if err := json.Unmarshal([]byte(c.in), obj); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			c.resource.Default(obj)
			sameJSON(t, c.resource.Name, obj, []byte(c.want))
		}
	}
}
