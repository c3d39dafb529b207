package kinds

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

func TestEnable(t *testing.T) {
	const (
		slices1, slices2 = "resource.k8s.io/v1beta1 resourceslices", "resource.k8s.io/v1beta2 resourceslices"
		candidates       = "coordination.k8s.io/v1alpha2 leasecandidates"
		bundles          = "certificates.k8s.io/v1beta1 clustertrustbundles"
	)
	for name, c := range map[string]struct {
		config  map[string]string
		gates   map[string]bool
		on, off []string
	}{
		"nothing":       {nil, nil, []string{"v1 pods", "resource.k8s.io/v1 resourceslices"}, []string{slices2, candidates, bundles}},
		"betas":         {map[string]string{"api/beta": "true"}, nil, []string{slices1, slices2, "v1 pods"}, []string{candidates, bundles, "policy/v1beta1 poddisruptionbudgets"}},
		"a bare key":    {map[string]string{"api/alpha": ""}, nil, []string{candidates}, []string{slices1}},
		"all":           {map[string]string{"api/all": "true"}, nil, []string{candidates, slices1, "internal.apiserver.k8s.io/v1alpha1 storageversions"}, []string{bundles, "batch/v1beta1 cronjobs", "rbac.authorization.k8s.io/v1alpha1 roles"}},
		"all but one":   {map[string]string{"api/all": "true", "resource.k8s.io/v1beta1": "false"}, nil, []string{slices2}, []string{slices1}},
		"only core":     {map[string]string{"api/all": "false", "api/v1": "true"}, nil, []string{"v1 pods"}, []string{"apps/v1 deployments"}},
		"core, by v1":   {map[string]string{"api/ga": "false", "v1": "true"}, nil, []string{"v1 pods"}, []string{"apps/v1 deployments"}},
		"one version":   {map[string]string{"resource.k8s.io/v1beta1": "true"}, nil, []string{slices1}, []string{slices2}},
		"one resource":  {map[string]string{"apps/v1/deployments": "false"}, nil, []string{"apps/v1 daemonsets"}, []string{"apps/v1 deployments"}},
		"of a version":  {map[string]string{"resource.k8s.io/v1beta1": "false", "resource.k8s.io/v1beta1/resourceslices": "true"}, nil, []string{slices1}, []string{"resource.k8s.io/v1beta1 deviceclasses"}},
		"core resource": {map[string]string{"api/v1/secrets": "0"}, nil, []string{"v1 pods"}, []string{"v1 secrets"}},
		"no resource":   {map[string]string{"apps/v1/pods": "true"}, nil, []string{"v1 pods"}, []string{"apps/v1 pods"}},
		"a gate":        {map[string]string{"certificates.k8s.io/v1beta1": "true"}, map[string]bool{"ClusterTrustBundle": true}, []string{bundles}, []string{"certificates.k8s.io/v1alpha1 clustertrustbundles", "certificates.k8s.io/v1beta1 podcertificaterequests"}},
		"only a gate":   {nil, map[string]bool{"ClusterTrustBundle": true}, nil, []string{bundles}},
		"removed":       {map[string]string{"batch/v1beta1": "true", "policy/v1beta1/poddisruptionbudgets": "true", "apps/v1beta2": "true"}, nil, []string{"v1 pods"}, []string{"batch/v1beta1 cronjobs", "policy/v1beta1 poddisruptionbudgets"}},
	} {
		catalogue, err := api.New(kindsIn136(t, c.config, c.gates)...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, list := range []struct {
			names []string
			want  bool
		}{{c.on, true}, {c.off, false}} {
			for _, text := range list.names {
				version, resource, _ := strings.Cut(text, " ")
				gv, err := schema.ParseGroupVersion(version)
				if err != nil {
					t.Fatal(err)
				}
				if _, _, ok := catalogue.Lookup(gv, resource); ok != list.want {
					t.Errorf("%s: %s is served: %t", name, text, ok)
				}
			}
		}
	}
}

func TestEnableChangesNothing(t *testing.T) {
	all := All()
	if _, err := api.Enable(all, api.VersionOptions{Config: map[string]string{"api/all": "true"}, Gates: features.Default()}); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if v := r.Version(schema.GroupVersion{Group: "resource.k8s.io", Version: "v1beta1"}); v != nil && !v.NotServed {
			t.Errorf("%s was changed", r.Name)
		}
	}
}

func TestEnableRefuses(t *testing.T) {
	for key, want := range map[string]string{
		"foo/v1":           "unknown api groups foo",
		"foo/v1/bars":      "unknown api groups foo",
		"apps/v7":          "group version apps/v7 that has not been registered",
		"apps/v1/":         "is none of",
		"a/b/c/d":          "is none of",
		"v1beta7":          "group version v1beta7 that has not been registered",
		"batch/v1=perhaps": `"perhaps" is neither true nor false`,
		"api/all=false":    "invalid key with only api/all=false",
	} {
		key, value, _ := strings.Cut(key, "=")
		_, err := api.Enable(All(), api.VersionOptions{Config: map[string]string{key: value}, Gates: features.Default()})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", key, err, want)
		}
	}
}

// TestPreferredIsStable checks that stable versions come first, and newer ones before older
// ones.
func TestPreferredIsStable(t *testing.T) {
	resources, err := api.Enable(All(), api.VersionOptions{Config: map[string]string{"api/all": "true"}, Gates: features.Default()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := api.New(resources...)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := c.Group("resource.k8s.io")
	var got []string
	for _, gv := range g.Versions {
		got = append(got, gv.Version)
	}
	if want := []string{"v1", "v1beta2", "v1beta1", "v1alpha3"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, g := range c.Groups() {
		if strings.Contains(g.Versions[0].Version, "a") && len(g.Versions) > 1 {
			t.Errorf("%s is preferred", g.Versions[0])
		}
	}
}

// TestStorageVersionOverrides checks the kinds that kube-apiserver stores in an older version whatever
// --min-compatibility-version says.
func TestStorageVersionOverrides(t *testing.T) {
	newest := kubeversion.Binary()
	resources, err := api.Enable(All(), api.VersionOptions{Config: map[string]string{"api/all": "true"}, Gates: features.Default(),
		Release: kubeversion.Effective{Emulated: newest, MinCompatibility: newest}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"clustertrustbundles": "v1beta1", "devicetaintrules": "v1beta2", "leasecandidates": "v1beta1", "podcertificaterequests": "v1beta1",
		"storageversionmigrations": "v1beta1", "workloads": "v1beta1"}
	for _, r := range resources {
		if version, ok := want[r.Name]; ok && r.StoredVersion().Version != version {
			t.Errorf("%s is stored in %s, not in %s", r.Name, r.StoredVersion().Version, version)
		}
		delete(want, r.Name)
	}
	if len(want) > 0 {
		t.Errorf("not served: %v", want)
	}
}
