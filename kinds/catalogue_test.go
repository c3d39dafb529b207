package kinds

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/kinds/core"
)

// row is a resource in kube-apiserver's discovery.
type row struct {
	Name               string   `json:"name"`
	SingularName       string   `json:"singularName"`
	Namespaced         bool     `json:"namespaced"`
	Kind               string   `json:"kind"`
	Verbs              []string `json:"verbs"`
	ShortNames         []string `json:"shortNames"`
	Categories         []string `json:"categories"`
	StorageVersionHash string   `json:"storageVersionHash"`
}

// reference is testdata/discovery.json, the discovery of kube-apiserver 1.36 without the
// subresources other than status.
type reference struct {
	Groups []struct {
		Name      string   `json:"name"`
		Versions  []string `json:"versions"`
		Preferred string   `json:"preferred"`
	} `json:"groups"`
	Resources map[string][]row `json:"resources"`
}

func readReference(t *testing.T) reference {
	t.Helper()
	data, err := os.ReadFile("testdata/discovery.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref reference
	if err := json.Unmarshal(data, &ref); err != nil {
		t.Fatal(err)
	}
	return ref
}

// kindsIn136 returns the kinds of a server that emulates 1.36, the release of the recorded values. It has the
// versions that config enables, and the chosen feature gates.
func kindsIn136(t testing.TB, config map[string]string, chosen map[string]bool) []*api.Resource {
	t.Helper()
	release := kubeversion.Emulating(kubeversion.MustParse("1.36"))
	gates, err := features.Emulated(release, chosen)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := api.Enable(For(gates), api.VersionOptions{Config: config, Gates: gates, Release: release})
	if err != nil {
		t.Fatal(err)
	}
	return resources
}

func builtIn(t testing.TB) *api.Catalogue {
	t.Helper()
	c, err := api.New(kindsIn136(t, nil, nil)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDiscoveryLists(t *testing.T) {
	c := builtIn(t)
	for name, want := range readReference(t).Resources {
		gv, err := schema.ParseGroupVersion(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []row
		for _, r := range c.In(gv) {
			got = append(got, row{
				Name: r.Name, SingularName: r.Singular, Namespaced: r.Namespaced, Kind: r.Kind, Verbs: r.Verbs,
				ShortNames: r.ShortNames, Categories: r.Categories, StorageVersionHash: api.StorageVersionHash(r),
			})
			if r.Status != nil {
				got = append(got, row{Name: r.Name + "/status", Namespaced: r.Namespaced, Kind: r.Kind, Verbs: []string{"get", "patch", "update"}})
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d rows, want %d", name, len(got), len(want))
			continue
		}
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Errorf("%s:\n got %+v\nwant %+v", name, got[i], want[i])
			}
		}
	}
}

func TestGroups(t *testing.T) {
	c := builtIn(t)
	ref := readReference(t)
	groups := c.Groups()
	if groups[0].Name != "" {
		t.Fatalf("the core group is not the first, but %q", groups[0].Name)
	}
	// There is no reference for the groups of custom kinds.
	groups = slices.DeleteFunc(slices.Clone(groups[1:]), func(g api.Group) bool { return !g.Kubernetes() })
	if len(groups) != len(ref.Groups) {
		t.Fatalf("%d groups, want %d", len(groups), len(ref.Groups))
	}
	for i, want := range ref.Groups {
		got := groups[i]
		var versions []string
		for _, gv := range got.Versions {
			versions = append(versions, gv.Version)
		}
		if got.Name != want.Name || !reflect.DeepEqual(versions, want.Versions) || got.Versions[0].Version != want.Preferred {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestLookup(t *testing.T) {
	c := builtIn(t)
	core := corev1.SchemeGroupVersion
	events := schema.GroupVersion{Group: "events.k8s.io", Version: "v1"}
	if r, v, ok := c.Lookup(core, "pods"); !ok || r.Kind != "Pod" || v.GroupVersion != core {
		t.Errorf("pods: %v %v %v", r, v, ok)
	}
	if _, _, ok := c.Lookup(core, "foos"); ok {
		t.Error("found foos")
	}
	a, _, _ := c.Lookup(core, "events")
	b, v, ok := c.Lookup(events, "events")
	if !ok || a != b || v.GroupVersion != events {
		t.Error("events of the two groups are not the same resource")
	}
	old := schema.GroupVersion{Group: "batch", Version: "v1beta1"}
	if _, _, ok := c.Lookup(old, "cronjobs"); ok {
		t.Error("batch/v1beta1 is served")
	}
	if _, v, ok := c.Kind(old, "CronJob"); !ok || !v.NotServed {
		t.Error("batch/v1beta1 cannot be read")
	}
	if _, ok := c.Group("apps"); !ok {
		t.Error("no group apps")
	}
}

func TestNewRefuses(t *testing.T) {
	plain := func(change func(*api.Resource)) *api.Resource {
		r := core.ConfigMap()
		change(r)
		return r
	}
	for name, c := range map[string]struct {
		resource *api.Resource
		want     string
	}{
		"same name":    {plain(func(r *api.Resource) { r.Kind, r.Storage.Prefix = "Other", "others" }), "is in v1 already"},
		"same kind":    {plain(func(r *api.Resource) { r.Name, r.Storage.Prefix = "others", "others" }), "kind ConfigMap is in v1"},
		"same prefix":  {plain(func(r *api.Resource) { r.Name, r.Kind = "others", "Other" }), "prefix"},
		"no name":      {plain(func(r *api.Resource) { r.Singular = "" }), "required"},
		"no version":   {plain(func(r *api.Resource) { r.Versions = nil }), "version"},
		"no type":      {plain(func(r *api.Resource) { r.New = nil }), "New"},
		"no place":     {plain(func(r *api.Resource) { r.Storage.Prefix = "" }), "prefix"},
		"hub converts": {plain(func(r *api.Resource) { r.Versions[0].New = r.New }), "hub"},
		"half a conversion": {plain(func(r *api.Resource) {
			r.Versions = append(r.Versions, api.Version{GroupVersion: schema.GroupVersion{Version: "v2"}, New: r.New})
		}), "come together"},
	} {
		_, err := api.New(core.ConfigMap(), c.resource)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestReplace(t *testing.T) {
	c := builtIn(t)
	before := len(c.Resources())
	if err := c.Replace(core.ConfigMap(), core.ConfigMap()); err == nil {
		t.Fatal("the same resource twice was accepted")
	}
	if len(c.Resources()) != before {
		t.Fatal("a replacement that failed changed something")
	}
	if err := c.Replace(core.ConfigMap()); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := c.Lookup(corev1.SchemeGroupVersion, "pods"); ok {
		t.Error("pods are still there")
	}
}

func BenchmarkLookup(b *testing.B) {
	c := builtIn(b)
	gv := schema.GroupVersion{Group: "apps", Version: "v1"}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := c.Lookup(gv, "deployments"); !ok {
			b.Fatal("not found")
		}
	}
}
