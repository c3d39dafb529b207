package kinds

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestFieldLabel(t *testing.T) {
	core := corev1.SchemeGroupVersion
	gv := func(g, v string) schema.GroupVersion { return schema.GroupVersion{Group: g, Version: v} }
	c := builtIn(t)
	for _, tt := range []struct {
		gv             schema.GroupVersion
		resource       string
		label          string
		want, wantFail string
	}{
		{core, "configmaps", "metadata.name", "metadata.name", ""},
		{core, "configmaps", "metadata.namespace", "metadata.namespace", ""},
		{core, "configmaps", "spec.foo", "", `"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{core, "configmaps", "", "", `"" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{core, "pods", "spec.host", "spec.nodeName", ""},
		{core, "pods", "status.podIPs", "status.podIPs", ""},
		{core, "pods", "spec.containers", "", "field label not supported: spec.containers"},
		{core, "namespaces", "metadata.namespace", "", "field label not supported: metadata.namespace"},
		{core, "nodes", "spec.providerID", "", "field label not supported: spec.providerID"},
		{core, "persistentvolumes", "name", "", `"name" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{core, "events", "involvedObject.name", "involvedObject.name", ""},
		{core, "events", "message", "", "field label not supported: message"},
		{gv("events.k8s.io", "v1"), "events", "regarding.name", "involvedObject.name", ""},
		{gv("events.k8s.io", "v1"), "events", "reportingController", "reportingComponent", ""},
		{gv("events.k8s.io", "v1"), "events", "involvedObject.name", "", "field label not supported: involvedObject.name"},
		{gv("apps", "v1"), "replicasets", "status.replicas", "", `"status.replicas" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{gv("batch", "v1"), "jobs", "status.successful", "status.successful", ""},
		{gv("batch", "v1"), "jobs", "status.failed", "", `field label "status.failed" not supported for Job`},
		{gv("certificates.k8s.io", "v1"), "certificatesigningrequests", "spec.username", "", "field label not supported: spec.username"},
		{gv("resource.k8s.io", "v1"), "resourceslices", "spec.pool", "", "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.pool"},
	} {
		r, v, ok := c.Lookup(tt.gv, tt.resource)
		if !ok {
			t.Fatalf("no %s", tt.resource)
		}
		got, err := r.FieldLabel(v, tt.label)
		if got != tt.want || (err == nil) != (tt.wantFail == "") || err != nil && err.Error() != tt.wantFail {
			t.Errorf("%s %q: got %q, %v", tt.resource, tt.label, got, err)
		}
	}
}

// TestFieldsAreComplete checks that Selectable has a value for every label that clients may
// use.
func TestFieldsAreComplete(t *testing.T) {
	for _, r := range All() {
		fields := map[string]string{"metadata.name": "", "metadata.namespace": ""}
		if r.Selectable != nil {
			for k, v := range r.Selectable(r.New()) {
				fields[k] = v
			}
		}
		for _, v := range r.Versions {
			for label, hub := range v.FieldLabels {
				if _, ok := fields[hub]; !ok {
					t.Errorf("%s: %q selects by %q, which has no value", r.Name, label, hub)
				}
			}
		}
	}
}
