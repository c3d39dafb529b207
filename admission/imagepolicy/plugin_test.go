package imagepolicy

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"

	"github.com/miniapiserver/miniapiserver/admission/admissiontest"
	"github.com/miniapiserver/miniapiserver/api"
)

// TestImagePolicyWebhook checks a backend that allows, denies and fails, and the cache of its
// responses.
func TestImagePolicyWebhook(t *testing.T) {
	asked := map[string]int{}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review imagepolicyv1alpha1.ImageReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || len(review.Spec.Containers) != 1 || review.Spec.Namespace != "ns" {
			t.Errorf("%+v, %v", review, err)
		}
		image := review.Spec.Containers[0].Image
		asked[image]++
		switch image {
		case "broken":
			w.WriteHeader(http.StatusBadRequest)
			return
		case "reason":
			review.Status.Reason = "too old"
		case "bad":
		default:
			review.Status.Allowed = true
		}
		_ = json.NewEncoder(w).Encode(review)
	}))
	defer backend.Close()
	for _, tt := range []struct{ config, image, want string }{
		{"", "good", ""},
		{"", "bad", "one or more images rejected by webhook backend"},
		{"", "reason", "image policy webhook backend denied one or more images: too old"},
		{"", "broken", "error contacting webhook: 400"},
		{"defaultAllow: true", "broken", ""},
	} {
		clear(asked)
		dial := func(string) (*http.Client, string, error) { return backend.Client(), backend.URL, nil }
		p, err := New(dial, []byte("imagePolicy:\n  kubeConfigFile: x\n  "+tt.config))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got := admissiontest.Run(t, p, admissiontest.Write(t, api.VerbCreate, "pods", admissiontest.Pod(func(p *corev1.Pod) { p.Spec.Containers[0].Image = tt.image }), nil))
			if (got == "") != (tt.want == "") || !strings.HasSuffix(got, tt.want) {
				t.Errorf("%s: %q, want %q", tt.image, got, tt.want)
			}
		}
		if n := asked[tt.image]; tt.image != "broken" && n != 1 {
			t.Errorf("%s: asked %d times", tt.image, n)
		}
	}
	for _, file := range []string{"", "imagePolicy: {kubeConfigFile: x, allowTTL: 9999}", "imagePolicy: {nonsense: 1}"} {
		if _, err := readImagePolicy([]byte(file)); err == nil {
			t.Errorf("%q is taken for a configuration", file)
		}
	}
}
