package kinds

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// allGates returns the feature gates of a release with all enabled that a version needs.
func allGates(t *testing.T, release string) map[string]bool {
	t.Helper()
	chosen, known := map[string]bool{}, features.Known(kubeversion.Emulating(kubeversion.MustParse(release)))
	for _, r := range All() {
		for _, v := range r.Versions {
			if known[v.Gate].Stage != "" {
				chosen[v.Gate] = true
			}
		}
	}
	return chosen
}

// TestPreviews checks the alpha and beta kinds against the storage test of Kubernetes 1.36:
// the key, the version of values, the gate, and whether there is a status.
func TestPreviews(t *testing.T) {
	want := map[string]string{
		"admissionregistration.k8s.io/v1alpha1 mutatingadmissionpolicies":       "mutatingadmissionpolicies v1beta1",
		"admissionregistration.k8s.io/v1alpha1 mutatingadmissionpolicybindings": "mutatingadmissionpolicybindings v1beta1",
		"admissionregistration.k8s.io/v1beta1 mutatingadmissionpolicies":        "mutatingadmissionpolicies v1beta1",
		"admissionregistration.k8s.io/v1beta1 mutatingadmissionpolicybindings":  "mutatingadmissionpolicybindings v1beta1",
		"certificates.k8s.io/v1alpha1 clustertrustbundles":                      "clustertrustbundles v1beta1 ClusterTrustBundle",
		"certificates.k8s.io/v1beta1 clustertrustbundles":                       "clustertrustbundles v1beta1 ClusterTrustBundle",
		"certificates.k8s.io/v1beta1 podcertificaterequests":                    "podcertificaterequests v1beta1 PodCertificateRequest namespaced status",
		"coordination.k8s.io/v1alpha2 leasecandidates":                          "leasecandidates v1beta1 namespaced",
		"coordination.k8s.io/v1beta1 leasecandidates":                           "leasecandidates v1beta1 namespaced",
		"internal.apiserver.k8s.io/v1alpha1 storageversions":                    "storageversions v1alpha1 status",
		"networking.k8s.io/v1beta1 ipaddresses":                                 "ipaddresses v1",
		"networking.k8s.io/v1beta1 servicecidrs":                                "servicecidrs v1 status",
		"resource.k8s.io/v1alpha3 devicetaintrules":                             "devicetaintrules v1beta2 status",
		"resource.k8s.io/v1alpha3 resourcepoolstatusrequests":                   "resourcepoolstatusrequests v1alpha3 status",
		"resource.k8s.io/v1beta1 deviceclasses":                                 "deviceclasses v1",
		"resource.k8s.io/v1beta1 resourceclaims":                                "resourceclaims v1 namespaced status",
		"resource.k8s.io/v1beta1 resourceclaimtemplates":                        "resourceclaimtemplates v1 namespaced",
		"resource.k8s.io/v1beta1 resourceslices":                                "resourceslices v1",
		"resource.k8s.io/v1beta2 deviceclasses":                                 "deviceclasses v1",
		"resource.k8s.io/v1beta2 devicetaintrules":                              "devicetaintrules v1beta2 status",
		"resource.k8s.io/v1beta2 resourceclaims":                                "resourceclaims v1 namespaced status",
		"resource.k8s.io/v1beta2 resourceclaimtemplates":                        "resourceclaimtemplates v1 namespaced",
		"resource.k8s.io/v1beta2 resourceslices":                                "resourceslices v1",
		"scheduling.k8s.io/v1alpha3 podgroups":                                  "podgroups v1alpha3 GenericWorkload namespaced status",
		"scheduling.k8s.io/v1alpha3 workloads":                                  "workloads v1alpha3 GenericWorkload namespaced",
		"storage.k8s.io/v1beta1 volumeattributesclasses":                        "volumeattributesclasses v1",
		"storagemigration.k8s.io/v1beta1 storageversionmigrations":              "storageversionmigrations v1beta1 StorageVersionMigrator status",
	}
	got := map[string]string{}
	for _, r := range kindsIn136(t, map[string]string{"api/all": "true"}, allGates(t, "1.36")) {
		for _, v := range r.Versions {
			if v.NotServed || !strings.ContainsAny(v.Version, "ab") {
				continue
			}
			says := []string{r.Storage.Prefix, r.StoredVersion().Version}
			for text, holds := range map[string]bool{v.Gate: v.Gate != "", "namespaced": r.Namespaced, "status": r.Status != nil} {
				if holds {
					says = append(says, text)
				}
			}
			slices.Sort(says[2:])
			got[v.GroupVersion.String()+" "+r.Name] = strings.Join(says, " ")
			if r.Virtual != nil || len(r.ShortNames)+len(r.Categories) > 0 && r.Hub().Version != "v1" || r.Verbs != nil {
				t.Errorf("%s: %+v", r.Name, r)
			}
		}
	}
	if !maps.Equal(got, want) {
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if got[name] != want[name] {
				t.Errorf("%s: %q, want %q", name, got[name], want[name])
			}
			delete(want, name)
		}
		t.Errorf("missing: %v", want)
	}
}

// TestPreviewBytes checks kinds that the recorded cluster does not have against the values
// that k8s.io/api publishes: each stored and as clients see it, with all fields.
func TestPreviewBytes(t *testing.T) {
	values := map[string]struct {
		Stored []byte
		Shown  json.RawMessage
	}{}
	readData(t, "previews.json.gz", &values)
	tested := map[*api.Resource]bool{}
	resources := All()
	for name, value := range values {
		version, kind, _ := strings.Cut(name, " ")
		gv, err := schema.ParseGroupVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range resources {
			v := r.Version(gv)
			if v == nil || r.Kind != kind {
				continue
			}
			tested[r] = true
			hub, err := r.DecodeStored(value.Stored)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			obj, err := r.As(v, hub)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			obj.GetObjectKind().SetGroupVersionKind(gv.WithKind(kind))
			sameJSON(t, name, obj, value.Shown)
			if r.StoredVersion() != gv {
				continue
			}
			if again, err := r.EncodeStored(hub); err != nil || !bytes.Equal(again, value.Stored) {
				t.Errorf("%s: %v\n got %x\nwant %x", name, err, again, value.Stored)
			}
		}
	}
	for _, r := range resources {
		if r.Virtual == nil && r.Versions[0].NotServed && !tested[r] {
			t.Errorf("no value of %s", r.Name)
		}
	}
}
