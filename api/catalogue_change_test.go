package api

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// plainKind returns a resource without any behaviour.
func plainKind(group, name string, versions ...string) *Resource {
	r := &Resource{
		AnyKind: AnyKind{
			Names:   Names{Name: name, Singular: name, Kind: "K" + name, Namespaced: true},
			Storage: Storage{Prefix: group + "/" + name},
		},
		New: func() Object { return &corev1.ConfigMap{} },
	}
	for _, v := range versions {
		r.Versions = append(r.Versions, Version{GroupVersion: schema.GroupVersion{Group: group, Version: v}})
	}
	return r
}

// firstKinds returns a catalogue of some kinds.
func firstKinds(t testing.TB) *Catalogue {
	t.Helper()
	c, err := New(plainKind("", "core", "v1"), plainKind("apps", "app", "v1", "v1beta1"), plainKind("apps", "other", "v1"), plainKind("batch", "job", "v1"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// shown returns all content of a catalogue as text.
func shown(c *Catalogue) (out []string) {
	for _, g := range c.Groups() {
		again, ok := c.Group(g.Name)
		out = append(out, fmt.Sprint(g.Name, g.Versions, reflect.DeepEqual(again, g), ok))
		for _, gv := range g.Versions {
			for _, r := range c.In(gv) {
				byName, version, _ := c.Lookup(gv, r.Name)
				byKind, _, _ := c.Kind(gv, r.Kind)
				out = append(out, fmt.Sprint(gv, r.Name, byName == r, byKind == r, version.GroupVersion == gv))
			}
		}
	}
	return out
}

// TestCustomKindAmongBuiltIn checks that a custom kind in a version of built-in ones is served, but not
// listed there.
func TestCustomKindAmongBuiltIn(t *testing.T) {
	custom := plainKind("apps", "bars", "v1", "vfake")
	custom.Custom = &Custom{}
	c, err := New(plainKind("apps", "app", "v1"), custom)
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{"v1": "app", "vfake": "bars"} {
		gv := schema.GroupVersion{Group: "apps", Version: version}
		if list := c.In(gv); len(list) != 1 || list[0].Name != want {
			t.Errorf("%s lists %v, want %s", gv, list, want)
		}
		if r, _, ok := c.Lookup(gv, "bars"); !ok || r != custom {
			t.Errorf("%s does not serve bars", gv)
		}
	}
}

// TestChanges checks with random changes that a catalogue equals a new one with the same
// resources, that published indexes don't change, and that a Follower sees all changes.
func TestChanges(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		c := firstKinds(t)
		first, others := slices.Clone(c.Resources()), []*Resource{}
		follower, followed := c.Follow(), map[*Resource]bool{}
		for range 60 {
			var out, in []*Resource
			for range r.IntN(3) {
				if n := len(others); n > 0 {
					n = r.IntN(n)
					out = append(out, others[n])
					others = slices.Delete(others, n, n+1)
				}
			}
			if len(out) > 0 && r.IntN(3) == 0 { // discovery computes its documents again
				in = append(in, out[0])
			}
			created := plainKind(fmt.Sprintf("g%d.example.com", r.IntN(4)), fmt.Sprintf("k%d", r.IntN(4)), []string{"v1", "v2", "v1beta1"}[:1+r.IntN(3)]...)
			free := func(list []*Resource) bool {
				return !slices.ContainsFunc(list, func(r *Resource) bool { return r.Storage.Prefix == created.Storage.Prefix })
			}
			if free(others) && free(in) {
				in = append(in, created)
			} else if before := shown(c); c.Change(nil, []*Resource{plainKind("new.example.com", "new", "v1"), created}) == nil || !reflect.DeepEqual(before, shown(c)) {
				t.Fatal("an existing resource was added again")
			}
			old := c.current.Load()
			stored := shown(asOf(old))
			if err := c.Change(out, in); err != nil {
				t.Fatal(err)
			}
			others = append(others, in...)
			fresh, err := New(slices.Concat(first, others)...)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := shown(c), shown(fresh); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d:\n got %v\nwant %v", seed, got, want)
			}
			if got := shown(asOf(old)); !reflect.DeepEqual(got, stored) {
				t.Fatalf("seed %d: a state changed:\n got %v\nwant %v", seed, got, stored)
			}
			if !sameSet(c.Resources(), slices.Concat(first, others)) {
				t.Fatalf("seed %d: the resources differ", seed)
			}
			if r.IntN(3) > 0 {
				continue
			}
			removed, added := follower.Next()
			for _, r := range removed {
				if !followed[r] {
					t.Fatalf("%s was removed and did not exist", r.Storage.Prefix)
				}
				delete(followed, r)
			}
			for _, r := range added {
				if followed[r] {
					t.Fatalf("%s was added and existed", r.Storage.Prefix)
				}
				followed[r] = true
			}
			if len(followed) != len(c.Resources()) || slices.ContainsFunc(c.Resources(), func(r *Resource) bool { return !followed[r] }) {
				t.Fatalf("seed %d: the follower has other resources", seed)
			}
		}
	}
}

// asOf returns a catalogue with index i.
func asOf(i *index) *Catalogue {
	c := &Catalogue{}
	c.current.Store(i)
	return c
}

func sameSet(a, b []*Resource) bool {
	in := map[*Resource]bool{}
	for _, r := range a {
		in[r] = true
	}
	return len(a) == len(b) && !slices.ContainsFunc(b, func(r *Resource) bool { return !in[r] })
}

// BenchmarkChange adds a kind to a catalogue of many and removes it again.
func BenchmarkChange(b *testing.B) {
	for _, others := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			c := firstKinds(b)
			for i := range others {
				if err := c.Change(nil, []*Resource{plainKind(fmt.Sprintf("g%d.example.com", i/10), fmt.Sprintf("k%d", i), "v1")}); err != nil {
					b.Fatal(err)
				}
			}
			one := []*Resource{plainKind("g0.example.com", "one", "v1")}
			b.ReportAllocs()
			for b.Loop() {
				if c.Change(nil, one) != nil || c.Change(one, nil) != nil {
					b.Fatal("it cannot be changed")
				}
			}
		})
	}
}
