package kinds

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// notResources returns the published kinds that have no path of their own, with the reason.
func notResources() map[string]string {
	return map[string]string{
		"/v1 RangeAllocation":                   "how addresses of services were stored once; it was never served",
		"authentication.k8s.io/v1 TokenRequest": "goes to serviceaccounts/token",
		"autoscaling/v1 Scale":                  "goes to the scale of workloads",
		"policy/v1 Eviction":                    "goes to pods/eviction",
	}
}

// TestEveryPublishedKind checks that every kind and version of k8s.io/api that Kubernetes 1.37
// has not removed can be served.
func TestEveryPublishedKind(t *testing.T) {
	known := map[schema.GroupVersionKind]bool{}
	for _, r := range All() {
		for _, v := range r.Versions {
			known[v.WithKind(r.Kind)] = !v.StoredOnly && !v.Lifecycle.RemovedIn(kubeversion.Binary())
		}
	}
	unused := notResources()
	for gvk, goType := range scheme.Scheme.AllKnownTypes() {
		obj, ok := reflect.New(goType).Interface().(runtime.Object).(api.Object)
		if !ok || gvk.Version == runtime.APIVersionInternal || removedFrom(obj) {
			continue // lists, options and removed versions
		}
		name := gvk.GroupVersion().String() + " " + gvk.Kind
		if gvk.Group == "" {
			name = "/" + name
		}
		_, excepted := notResources()[name]
		delete(unused, name)
		if known[gvk] == excepted && !gone136(gvk) {
			t.Errorf("%s: it can be served: %t; it is an exception: %t", name, known[gvk], excepted)
		}
	}
	if len(unused) > 0 {
		t.Errorf("exceptions that are none: %q", slices.Sorted(maps.Keys(unused)))
	}
}

// gone136 reports whether Kubernetes 1.36 has removed a version although its type does not say
// so.
func gone136(gvk schema.GroupVersionKind) bool {
	switch gvk.GroupVersion().String() {
	case "node.k8s.io/v1alpha1", "rbac.authorization.k8s.io/v1alpha1":
		return true
	}
	return false
}

// removedFrom reports whether Kubernetes 1.37 no longer serves the type of obj.
func removedFrom(obj api.Object) bool {
	t, ok := obj.(interface{ APILifecycleRemoved() (major, minor int) })
	if !ok {
		return false
	}
	major, minor := t.APILifecycleRemoved()
	return major == 1 && minor <= kubeversion.Binary().Minor
}
