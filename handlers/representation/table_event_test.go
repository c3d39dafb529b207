package representation

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// TestColumnsOfEvents checks that the first Table of a watch has the definitions of the columns; for
// APIServices, all have.
func TestColumnsOfEvents(t *testing.T) {
	for _, c := range []struct {
		gv       schema.GroupVersion
		resource string
		always   bool
	}{
		{corev1.SchemeGroupVersion, "configmaps", false},
		{apiregistrationv1.SchemeGroupVersion, "apiservices", true},
	} {
		codec := newCodecOf(t, c.gv, c.resource)
		r := withScope(httptest.NewRequest(http.MethodGet, "/?watch=1", nil))
		r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		v, err := codec.View(r, codec.resource, OfferWatch)
		if err != nil {
			t.Fatal(err)
		}
		for _, first := range []bool{true, false} {
			data, err := v.appendJSON(nil, Unstored{codec.resource.New()}, "1", first)
			if err != nil {
				t.Fatal(err)
			}
			if got := !bytes.Contains(data, []byte(`"columnDefinitions":null`)); got != (first || c.always) {
				t.Errorf("%s, first %t: the Table is %s", c.resource, first, data)
			}
		}
	}
}
