package handlers

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/proto"
)

// TestCostlyQuantities checks that every write refuses a quantity that takes forever to parse.
func TestCostlyQuantities(t *testing.T) {
	h := newHandlerWith(t, nil, true)
	const (
		quotas = "/api/v1/namespaces/ns/resourcequotas"
		costly = `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":{"pods":"1e-2147483648"}}}`
		change = `{"spec":{"hard":{"pods":"1e\u002d2147483648"}}}`
	)
	if w := sendText(t, h, http.MethodPost, quotas, strings.Replace(costly, "1e-2147483648", "1e2", 1)); w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := sendText(t, h, http.MethodPatch, quotas+"/q", `{"metadata":{"annotations":{"a":"1e-2147483648"}}}`, "Content-Type", "application/merge-patch+json"); w.Code != http.StatusOK {
		t.Fatalf("an annotation: %d %s", w.Code, w.Body)
	}
	quota := corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("1111111111111")}}}
	raw, err := quota.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	message := strings.Replace(string(proto.AppendRaw(nil, "v1", "ResourceQuota", raw)), "1111111111111", "1e-2147483648", 1)
	hpa := `{"metadata":{"name":"h","annotations":{"autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"targetAverageValue\":\"1e-2147483648\"}}]"}},
		"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},"maxReplicas":1}}`
	pod := `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"hugepages-1e-2147483648":"1"}}}]}}`
	for _, tt := range []struct {
		method, path, contentType, body string
		want                            int
	}{
		{http.MethodPost, quotas, representation.MediaJSON, costly, 400},
		{http.MethodPost, quotas + "?fieldValidation=Ignore", representation.MediaJSON, costly, 400},
		{http.MethodPost, quotas, representation.MediaYAML, "metadata: {name: q}\nspec: {hard: {pods: '1e+2147483648'}}", 400},
		{http.MethodPost, quotas, representation.MediaProtobuf, message, 400},
		{http.MethodPut, quotas + "/q", representation.MediaJSON, costly, 400},
		{http.MethodPatch, quotas + "/q", "application/merge-patch+json", change, 422},
		{http.MethodPatch, quotas + "/q", "application/json-patch+json", `[{"op":"copy","from":"/metadata/annotations/a","path":"/spec/hard/pods"}]`, 422},
		{http.MethodPatch, quotas + "/q", "application/strategic-merge-patch+json", change, 422},
		{http.MethodPatch, quotas + "/q?fieldManager=m&force=true", "application/apply-patch+yaml", costly, 400},
		{http.MethodPatch, quotas + "/q?fieldManager=m&force=true", "application/apply-patch+yaml", "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {pods: \"1\\x65-2147483648\"}}", 400},
		{http.MethodPost, "/apis/autoscaling/v1/namespaces/ns/horizontalpodautoscalers", representation.MediaJSON, hpa, 201},
		{http.MethodPost, "/api/v1/namespaces/ns/pods", representation.MediaJSON, pod, 422},
	} {
		if w := sendText(t, h, tt.method, tt.path, tt.body, "Content-Type", tt.contentType); w.Code != tt.want {
			t.Errorf("%s %s, %s, %.60q: %d %.300s, want %d", tt.method, tt.path, tt.contentType, tt.body, w.Code, w.Body, tt.want)
		}
	}
}
