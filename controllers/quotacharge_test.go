package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/api"
)

// TestIsChargeStored checks when a charge of a write in progress is counted with the stored
// objects, so that it must not be counted twice.
func TestIsChargeStored(t *testing.T) {
	stored := map[string]string{"x": "7"}
	old := api.Object(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}})
	for name, tt := range map[string]struct {
		charge quota.Charge
		want   bool
	}{
		"a creation that is not stored": {quota.Charge{Name: "y"}, false},
		"a stored creation":             {quota.Charge{Name: "x"}, true},
		"an update that is not stored":  {quota.Charge{Name: "x", Old: old, Replaces: "7"}, false},
		"a stored update":               {quota.Charge{Name: "x", Old: old, Replaces: "6"}, true},
		"an update of a deleted object": {quota.Charge{Name: "y", Old: old, Replaces: "7"}, true},
	} {
		if got := isChargeStored(&tt.charge, stored); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
