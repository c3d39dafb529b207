package api

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestEnable(t *testing.T) {
	for name, c := range map[string]struct {
		config  map[string]string
		on, off []string
	}{
		"nothing":       {nil, []string{"v1 pods", "policy/v1 poddisruptionbudgets"}, []string{"policy/v1beta1 poddisruptionbudgets", "rbac.authorization.k8s.io/v1alpha1 roles"}},
		"betas":         {map[string]string{"api/beta": "true"}, []string{"policy/v1beta1 poddisruptionbudgets", "policy/v1 poddisruptionbudgets"}, []string{"rbac.authorization.k8s.io/v1alpha1 roles"}},
		"a bare key":    {map[string]string{"api/alpha": ""}, []string{"rbac.authorization.k8s.io/v1alpha1 roles"}, []string{"policy/v1beta1 poddisruptionbudgets"}},
		"all":           {map[string]string{"api/all": "true"}, []string{"rbac.authorization.k8s.io/v1alpha1 roles", "batch/v1beta1 cronjobs"}, nil},
		"all but one":   {map[string]string{"api/all": "true", "batch/v1beta1": "false"}, []string{"policy/v1beta1 poddisruptionbudgets"}, []string{"batch/v1beta1 cronjobs"}},
		"only core":     {map[string]string{"api/all": "false", "api/v1": "true"}, []string{"v1 pods"}, []string{"apps/v1 deployments"}},
		"core, by v1":   {map[string]string{"api/ga": "false", "v1": "true"}, []string{"v1 pods"}, []string{"apps/v1 deployments"}},
		"one version":   {map[string]string{"batch/v1beta1": "true"}, []string{"batch/v1beta1 cronjobs"}, []string{"policy/v1beta1 poddisruptionbudgets"}},
		"one resource":  {map[string]string{"apps/v1/deployments": "false"}, []string{"apps/v1 daemonsets"}, []string{"apps/v1 deployments"}},
		"of a version":  {map[string]string{"storage.k8s.io/v1beta1": "false", "storage.k8s.io/v1beta1/csinodes": "true"}, []string{"storage.k8s.io/v1beta1 csinodes"}, []string{"storage.k8s.io/v1beta1 csidrivers"}},
		"core resource": {map[string]string{"api/v1/secrets": "0"}, []string{"v1 pods"}, []string{"v1 secrets"}},
	} {
		resources, err := Enable(BuiltIn(), c.config)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		catalogue, err := New(resources...)
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
	all := BuiltIn()
	if _, err := Enable(all, map[string]string{"api/all": "true"}); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if v := r.Version(schema.GroupVersion{Group: "policy", Version: "v1beta1"}); v != nil && !v.NotServed {
			t.Errorf("%s was changed", r.Name)
		}
	}
}

func TestEnableRefuses(t *testing.T) {
	for key, want := range map[string]string{
		"foo/v1":           "there is no group version foo/v1",
		"apps/v7":          "there is no group version apps/v7",
		"apps/v1/pods":     "there is no resource apps/v1/pods",
		"apps/v1/":         "is none of",
		"a/b/c/d":          "is none of",
		"v1beta7":          "there is no group version v1beta7",
		"batch/v1=perhaps": `"perhaps" is neither true nor false`,
	} {
		key, value, _ := strings.Cut(key, "=")
		_, err := Enable(BuiltIn(), map[string]string{key: value})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", key, err, want)
		}
	}
}

// Versions are offered with the stable ones first, and the newest of them first.
func TestPreferredIsStable(t *testing.T) {
	resources, err := Enable(BuiltIn(), map[string]string{"api/all": "true"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(resources...)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := c.Group("flowcontrol.apiserver.k8s.io")
	var got []string
	for _, gv := range g.Versions {
		got = append(got, gv.Version)
	}
	if want := []string{"v1", "v1beta3", "v1beta2", "v1beta1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, g := range c.Groups() {
		if strings.Contains(g.Preferred().Version, "a") {
			t.Errorf("%s is preferred", g.Preferred())
		}
	}
}
