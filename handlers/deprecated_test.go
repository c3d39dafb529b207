package handlers

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/request"
)

// TestReportDeprecated checks the warning, the annotations and the metric of a deprecated version.
func TestReportDeprecated(t *testing.T) {
	h := newHandler(t, func(*Config) {})
	res, v, ok := h.Catalogue.Kind(schema.GroupVersion{Group: "policy", Version: "v1beta1"}, "PodDisruptionBudget")
	if !ok {
		t.Fatal("policy/v1beta1 is not known")
	}
	scope := &request.Scope{Info: request.Info{Group: "policy", Version: "v1beta1", Resource: res.Name}}
	h.reportDeprecated(scope, v.Deprecated)
	h.reportDeprecated(scope, v.Deprecated)
	if w := scope.Warnings(); len(w) != 1 {
		t.Errorf("warnings: %q", w)
	}
	if a := scope.Annotations(); !slices.Equal(a, []request.Annotation{{Key: "k8s.io/deprecated", Value: "true"}, {Key: "k8s.io/removed-release", Value: "1.25"}}) {
		t.Errorf("annotations: %v", a)
	}
	families, err := h.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range families {
		found = found || f.GetName() == "apiserver_requested_deprecated_apis" && f.GetMetric()[0].GetGauge().GetValue() == 1
	}
	if !found {
		t.Error("no metric")
	}
	if res.Versions[0].Deprecated != nil {
		t.Error("policy/v1 is deprecated")
	}
}
