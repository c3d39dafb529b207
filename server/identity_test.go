package server

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/controllers"
)

// TestIdentity checks the Lease of a server, and that a later server on the same host takes
// it over.
func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	holder := func() string {
		s, err := Start(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		client := kubernetes.NewForConfigOrDie(s.RESTConfig())
		leases, err := client.CoordinationV1().Leases(metav1.NamespaceSystem).List(t.Context(), metav1.ListOptions{LabelSelector: controllers.IdentityLabel + "=kube-apiserver"})
		if err != nil || len(leases.Items) != 1 {
			t.Fatalf("%v %v", leases, err)
		}
		lease := leases.Items[0]
		if lease.Spec.LeaseDurationSeconds == nil || *lease.Spec.LeaseDurationSeconds != 3600 || lease.Spec.RenewTime == nil || lease.Labels["kubernetes.io/hostname"] == "" {
			t.Errorf("%+v", lease)
		}
		name, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
		if name != lease.Name {
			t.Errorf("%s holds %s", *lease.Spec.HolderIdentity, lease.Name)
		}
		return *lease.Spec.HolderIdentity
	}
	if first, second := holder(), holder(); first == second {
		t.Errorf("two servers are both %s", first)
	}
}
