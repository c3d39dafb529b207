package sandbox

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
)

// TestRegisterMetricsAgain checks that a sandbox that has run before writes its new certificate, also when
// the server writes the status of the APIService in the meantime.
func TestRegisterMetricsAgain(t *testing.T) {
	client, services := fake.NewClientset(), aggregator.NewSimpleClientset()
	apis := services.ApiregistrationV1()
	if _, err := (&metricsAPI{memoryServer: &memoryServer{ca: []byte("first")}}).register(t.Context(), client, apis); err != nil {
		t.Fatal(err)
	}
	conflicts := 0
	services.PrependReactor("update", "apiservices", func(clienttesting.Action) (bool, runtime.Object, error) {
		conflicts++
		return conflicts == 1, nil, apierrors.NewConflict(apiregistrationv1.Resource("apiservices"), "v1beta1.metrics.k8s.io", nil)
	})
	if _, err := (&metricsAPI{memoryServer: &memoryServer{ca: []byte("second")}}).register(t.Context(), client, apis); err != nil {
		t.Fatal(err)
	}
	got, err := apis.APIServices().Get(t.Context(), "v1beta1.metrics.k8s.io", metav1.GetOptions{})
	if err != nil || string(got.Spec.CABundle) != "second" {
		t.Errorf("got %q, %v", got.Spec.CABundle, err)
	}
}
