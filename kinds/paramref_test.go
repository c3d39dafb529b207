package kinds

import (
	"encoding/json"
	"github.com/miniapiserver/miniapiserver/api"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// TestMissingParameterAction checks that v1alpha1 has a default where later versions require a
// value.
func TestMissingParameterAction(t *testing.T) {
	for version, want := range map[string]string{"v1alpha1": "Deny", "v1beta1": "", "v1": ""} {
		r, v := kindInVersion(t, features.Default(), "mutatingadmissionpolicybindings", version)
		obj := r.NewOf(v)
		if err := json.Unmarshal([]byte(`{"metadata":{"name":"x"},"spec":{"policyName":"p","paramRef":{"name":"n"}}}`), obj); err != nil {
			t.Fatal(err)
		}
		hub, err := r.Decoded(v, obj)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if a := hub.(*admissionv1.MutatingAdmissionPolicyBinding).Spec.ParamRef.ParameterNotFoundAction; a != nil {
			got = string(*a)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

// kindInVersion returns a kind with some feature gates, and one of its versions.
func kindInVersion(t *testing.T, gates features.Gates, resource, version string) (*api.Resource, *api.Version) {
	t.Helper()
	for _, r := range For(gates) {
		for i := range r.Versions {
			if r.Name == resource && r.Versions[i].GroupVersion.Version == version {
				return r, &r.Versions[i]
			}
		}
	}
	t.Fatalf("no %s in %s", resource, version)
	return nil, nil
}
