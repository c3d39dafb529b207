package handlers

import (
	"maps"
	"net/http/httptest"
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
	r := httptest.NewRequest("GET", "/", nil)
	r = r.WithContext(request.With(r.Context(), scope))
	h.reportDeprecated(r, res, v, &scope.Info)
	h.reportDeprecated(r, res, v, &scope.Info)
	if w := scope.Warnings(); len(w) != 1 {
		t.Errorf("warnings: %q", w)
	}
	if a := scope.Annotations(); !maps.Equal(a, map[string]string{"k8s.io/deprecated": "true", "k8s.io/removed-release": "1.25"}) {
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
	other := &request.Scope{}
	r = r.WithContext(request.With(r.Context(), other))
	h.reportDeprecated(r, res, &res.Versions[0], &other.Info)
	if len(other.Warnings()) != 0 || len(other.Annotations()) != 0 {
		t.Error("policy/v1 is deprecated")
	}
}
