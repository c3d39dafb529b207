package handlers

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
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

// TestManyItems checks that every write refuses a list of many short items that become large when
// they are decoded.
func TestManyItems(t *testing.T) {
	h := newHandlerWith(t, nil, true)
	const (
		many = 300_000
		pods = "/api/v1/namespaces/ns/pods"
	)
	if w := sendText(t, h, http.MethodPost, pods, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`); w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	items := "[" + strings.Repeat("{},", many) + "{}]"
	body := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":` + items + `}}`
	// Field 2 of a pod is spec, whose field 2 is containers.
	containers := strings.Repeat("\x12\x00", many)
	raw := append(protowire.AppendVarint([]byte{0x12}, uint64(len(containers))), containers...)
	for _, tt := range []struct {
		method, path, contentType, body string
		want                            int
	}{
		{http.MethodPost, pods, representation.MediaJSON, body, 400},
		{http.MethodPost, pods + "?fieldValidation=Ignore", representation.MediaJSON, body, 400},
		{http.MethodPost, pods, representation.MediaYAML, "spec:\n  containers: " + items, 400},
		{http.MethodPost, pods, representation.MediaProtobuf, string(proto.AppendRaw(nil, "v1", "Pod", raw)), 400},
		{http.MethodPut, pods + "/p", representation.MediaJSON, body, 400},
		{http.MethodPatch, pods + "/p", "application/merge-patch+json", body, 422},
		{http.MethodPatch, pods + "/p", "application/json-patch+json", `[{"op":"add","path":"/spec/containers","value":` + items + `}]`, 422},
		{http.MethodPatch, pods + "/p", "application/strategic-merge-patch+json", `{"spec":{"volumes":[{"$patch":"replace"},` + items[1:] + `}}`, 422},
		{http.MethodPatch, pods + "/p?fieldManager=m&force=true", "application/apply-patch+yaml", body, 400},
	} {
		if w := sendText(t, h, tt.method, tt.path, tt.body, "Content-Type", tt.contentType); w.Code != tt.want || !strings.Contains(w.Body.String(), "exceeded max decoded size") {
			t.Errorf("%s %s, %s: %d %.300s, want %d", tt.method, tt.path, tt.contentType, w.Code, w.Body, tt.want)
		}
	}
}
