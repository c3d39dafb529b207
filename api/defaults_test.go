package api

import (
	"encoding/json"
	"testing"
)

// What is stored of an object that says next to nothing, and again of that.
func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		resource *Resource
		in, want string
	}{
		{priorityClass(), `{}`, `{"metadata":{},"value":0,"preemptionPolicy":"PreemptLowerPriority"}`},
		{storageClass(), `{"provisioner":"a"}`, `{"metadata":{},"provisioner":"a","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"}`},
		{endpointSlice(), `{"ports":[{"port":1}]}`, `{"metadata":{},"endpoints":null,"addressType":"","ports":[{"name":"","protocol":"TCP","port":1}]}`},
		{endpoints(), `{"subsets":[{"ports":[{"port":1}]}]}`, `{"metadata":{},"subsets":[{"ports":[{"port":1,"protocol":"TCP"}]}]}`},
		{replicationController(), `{"spec":{}}`, `{"metadata":{},"spec":{"replicas":1},"status":{"replicas":0}}`},
		{service(), `{"spec":{"ports":[{"port":1}]}}`, `{"metadata":{},"spec":{"ports":[{"protocol":"TCP","port":1,"targetPort":1}],` +
			`"type":"ClusterIP","sessionAffinity":"None","internalTrafficPolicy":"Cluster"},"status":{"loadBalancer":{}}}`},
		{persistentVolumeClaim(), `{}`, `{"metadata":{},"spec":{"resources":{},"volumeMode":"Filesystem"},"status":{"phase":"Pending"}}`},
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
