package handlers

import (
	"net/http"
	"strings"
	"testing"
)

// TestAnnotationsOfFields checks that annotations that hold fields of other versions are shown
// with the object, but not with its metadata alone.
func TestAnnotationsOfFields(t *testing.T) {
	h := newHandler(t, nil)
	const template = `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	for path, body := range map[string]string{
		"/apis/apps/v1/namespaces/ns/daemonsets": `{"metadata":{"name":"x"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":` + template + `}}`,
		"/apis/apps/v1/namespaces/ns/deployments": `{"metadata":{"name":"x","annotations":{"deprecated.deployment.rollback.to":"1"}},
			"spec":{"selector":{"matchLabels":{"a":"b"}},"template":` + template + `}}`,
		"/apis/autoscaling/v1/namespaces/ns/horizontalpodautoscalers": `{"metadata":{"name":"x","annotations":{"autoscaling.alpha.kubernetes.io/metrics":
			"[{\"type\":\"Resource\",\"resource\":{\"name\":\"memory\",\"targetAverageUtilization\":1}}]"}},
			"spec":{"maxReplicas":1,"scaleTargetRef":{"kind":"Deployment","name":"x","apiVersion":"apps/v1"}}}`,
	} {
		if w := sendText(t, h, http.MethodPost, path, body); w.Code != http.StatusCreated {
			t.Fatalf("%s: %s", path, w.Body)
		}
		if w := sendText(t, h, http.MethodGet, path+"/x", ""); !strings.Contains(w.Body.String(), `"annotations":`) {
			t.Errorf("%s: %s", path, w.Body)
		}
		for _, as := range []string{"PartialObjectMetadata", "Table"} {
			w := sendText(t, h, http.MethodGet, path+"/x", "", "Accept", "application/json;as="+as+";v=v1;g=meta.k8s.io")
			if !strings.Contains(w.Body.String(), `"name":"x"`) || strings.Contains(w.Body.String(), `"annotations":`) {
				t.Errorf("%s as %s: %s", path, as, w.Body)
			}
		}
		w := sendText(t, h, http.MethodGet, path+"/x", "", "Accept", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
		if strings.Contains(w.Body.String(), "kubernetes.io/metrics") || strings.Contains(w.Body.String(), "deprecated") {
			t.Errorf("%s: %q", path, w.Body)
		}
	}
}
