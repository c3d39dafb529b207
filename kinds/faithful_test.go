package kinds

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/since"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// TestStoredFieldsOfLaterReleases checks that a stored object loses the fields that the release did not
// have, in whichever version it is stored.
func TestStoredFieldsOfLaterReleases(t *testing.T) {
	kinds := All()
	if err := since.Restrict(kinds, kubeversion.MustParse("1.34")); err != nil {
		t.Fatal(err)
	}
	for _, r := range kinds {
		if r.Name != "resourceclaims" {
			continue
		}
		for i := range r.Versions {
			v, request := &r.Versions[i], &resourcev1.ExactDeviceRequest{DerivedAttributes: []resourcev1.DeviceDerivedAttribute{{}}}
			hub := &resourcev1.ResourceClaim{}
			hub.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: request}}
			var stored api.Object = hub
			if v.FromHub != nil {
				var err error
				if stored, err = v.FromHub(hub); err != nil {
					t.Fatal(err)
				}
			}
			read, err := r.Decoded(v, stored)
			if err != nil {
				t.Fatal(err)
			}
			if got := read.(*resourcev1.ResourceClaim).Spec.Devices.Requests[0].Exactly.DerivedAttributes; len(got) > 0 {
				t.Errorf("%s: %v", v.GroupVersion, got)
			}
		}
	}
}
