package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestEquivalent checks that a hook for another version than the client's gets the object in the
// hook's version, and that its patch applies to that version.
func TestEquivalent(t *testing.T) {
	f := start(t, server.Options{})
	var got []string
	s := f.serveReviews(func(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		var obj metav1.TypeMeta
		if err := json.Unmarshal(q.Object.Raw, &obj); err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprint(q.Kind.Version, q.Resource.Version, q.RequestKind.Version, q.RequestResource.Version, " ", obj.APIVersion))
		return patch(`[{"op":"add","path":"/spec/metrics/0/resource/target/averageUtilization","value":42}]`)
	})
	about := func(policy admissionregistrationv1.MatchPolicyType) mutator {
		return func(w *admissionregistrationv1.MutatingWebhook) {
			w.MatchPolicy = &policy
			w.Rules[0].APIGroups, w.Rules[0].APIVersions, w.Rules[0].Resources = []string{"autoscaling"}, []string{"v2"}, []string{"horizontalpodautoscalers"}
		}
	}
	f.mutating("equivalent.example.com", s, about(admissionregistrationv1.Equivalent))
	f.mutating("exact.example.com", s, about(admissionregistrationv1.Exact))
	hpa, err := f.client.AutoscalingV1().HorizontalPodAutoscalers(f.ns).Create(t.Context(), &autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{MaxReplicas: 3, TargetCPUUtilizationPercentage: ptrTo(int32(80)),
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "a"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *hpa.Spec.TargetCPUUtilizationPercentage != 42 {
		t.Errorf("the patch did not take: %+v", hpa.Spec)
	}
	if text := fmt.Sprint(got); text != "[v2v2v1v1 autoscaling/v2]" {
		t.Error(text)
	}
}

// TestMatching checks which writes match by the labels of the old and the new object and by match
// conditions.
func TestMatching(t *testing.T) {
	f := start(t, server.Options{})
	var asked []string
	s := f.serveReviews(func(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		asked = append(asked, string(q.Operation)+" "+q.Name)
		return allow()
	})
	f.validating("h.example.com", s, func(w *admissionregistrationv1.ValidatingWebhook) {
		w.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
		w.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "c", Expression: "request.name != 'spared'"}}
	})
	maps := f.client.CoreV1().ConfigMaps(f.ns)
	for _, name := range []string{"a", "spared"} {
		cm, err := f.create(name, metav1.CreateOptions{}) // not selected
		if err != nil {
			t.Fatal(err)
		}
		for _, labels := range []map[string]string{{"app": "x"}, nil, {"app": "x"}} { // new, old, new
			cm.Labels = labels
			if cm, err = maps.Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil { // old
			t.Fatal(err)
		}
	}
	if got := strings.Join(asked, ", "); got != "UPDATE a, UPDATE a, UPDATE a, DELETE a" {
		t.Error(got)
	}
}

// TestBeta checks hooks that support only v1beta1, whose responses are checked less strictly.
func TestBeta(t *testing.T) {
	f := start(t, server.Options{})
	f.mutating("h.example.com", f.serve(func(w http.ResponseWriter, r *http.Request) {
		var newReview metav1.TypeMeta
		if err := json.NewDecoder(r.Body).Decode(&newReview); err != nil || newReview.APIVersion != "admission.k8s.io/v1beta1" {
			t.Error(newReview, err)
		}
		fmt.Fprint(w, `{"response":{"allowed":true,"patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEiLCJ2YWx1ZSI6eyJrIjoidiJ9fV0="}}`)
	}), func(w *admissionregistrationv1.MutatingWebhook) {
		w.AdmissionReviewVersions = []string{"v1beta1", "v1"}
	})
	cm, err := f.create("a", metav1.CreateOptions{})
	if err != nil || cm.Data["k"] != "v" {
		t.Error(cm, err)
	}
}

// TestConfigurationTakesEffectAtOnce checks that a configuration applies to every write after its
// creation and to none after its deletion, and its metrics.
func TestConfigurationTakesEffectAtOnce(t *testing.T) {
	f := start(t, server.Options{})
	s := f.serveReviews(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{}
	})
	for range 20 {
		t.Run("", func(t *testing.T) {
			f := *f
			f.T = t
			f.validating("h.example.com", s)
			if got := f.dryCreate(); !strings.HasPrefix(got, "400 ") {
				t.Error(got)
			}
		})
		if got := f.dryCreate(); got != "ok" {
			t.Error(got)
		}
	}
	text, err := f.client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`apiserver_admission_webhook_rejection_count{error_type="no_error",name="h.example.com",operation="CREATE",rejection_code="400",type="validating"} 20`,
		`apiserver_admission_webhook_request_total{code="400",name="h.example.com",operation="CREATE",rejected="true",type="validating"} 20`,
		`apiserver_admission_webhook_admission_duration_seconds_count{name="h.example.com",operation="CREATE",rejected="true",type="validating"} 20`,
	} {
		if !strings.Contains(string(text), line) {
			t.Errorf("metrics lack %s", line)
		}
	}
}
