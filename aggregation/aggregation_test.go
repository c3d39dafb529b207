package aggregation

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// TestGroupsInOrder checks the order of discovery: groups by the APIService of the highest
// priority, or else by the first name, versions by priority and age.
func TestGroupsInOrder(t *testing.T) {
	var all []*apiServiceEntry
	for _, e := range []struct {
		name           string
		group, version int32
	}{
		{"v1.b.example", 1000, 100}, {"v1alpha1.a.example", 1000, 100}, {"v2.c.example", 10, 5}, {"v1.c.example", 2000, 5},
		{"v1beta1.c.example", 10, 9}, {"v1.", 18000, 1},
	} {
		all = append(all, &apiServiceEntry{e.name, groupVersionOf(e.name), api.Priority{Group: e.group, Version: e.version}})
	}
	var got []string
	for _, g := range groupsInOrder(all) {
		for _, gv := range g.Versions {
			got = append(got, gv.String())
		}
	}
	want := []string{"v1", "c.example/v1beta1", "c.example/v2", "c.example/v1", "b.example/v1", "a.example/v1alpha1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSortGroups checks that aggregated discovery sorts groups of equal priority by name.
func TestSortGroups(t *testing.T) {
	var groups []v2.APIGroupDiscovery
	for _, g := range []struct {
		name     string
		versions []string
	}{{"b.example", []string{"v1", "v2"}}, {"a.example", []string{"v1"}}, {"batch", []string{"v1"}}} {
		group := v2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
		for _, v := range g.versions {
			group.Versions = append(group.Versions, v2.APIVersionDiscovery{Version: v})
		}
		groups = append(groups, group)
	}
	sortGroups(groups, api.PriorityOf)
	var got []string
	for _, g := range groups {
		for _, v := range g.Versions {
			got = append(got, g.Name+"/"+v.Version)
		}
	}
	if want := "batch/v1 a.example/v1 b.example/v2 b.example/v1"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSetUserHeaders checks that user headers of the client are not forwarded, and that keys are
// escaped.
func TestSetUserHeaders(t *testing.T) {
	for _, c := range []struct {
		name, uid string
		noUIDs    bool
		want      []string
	}{{"no UID", "", false, nil}, {"UID", "7", false, []string{"7"}}, {"UIDs are off", "7", true, nil}} {
		h := http.Header{"X-Remote-User": {"root"}, "X-Remote-Group": {"system:masters"}, "X-Remote-Uid": {"0"}, "x-remote-extra-a": {"b"}, "Accept": {"*/*"}}
		r := &Remote{noUserUIDs: c.noUIDs}
		r.SetUserHeaders(h, &request.User{Name: "alice", UID: c.uid, Groups: []string{"g", "h"}, Extra: map[string][]string{"example.com/k%": {"1", "2"}}})
		want := http.Header{"X-Remote-User": {"alice"}, "X-Remote-Group": {"g", "h"}, "X-Remote-Extra-Example.com%2fk%25": {"1", "2"}, "Accept": {"*/*"}}
		if c.want != nil {
			want["X-Remote-Uid"] = c.want
		}
		if !reflect.DeepEqual(h, want) {
			t.Errorf("%s: got %v, want %v", c.name, h, want)
		}
	}
}

func TestAt(t *testing.T) {
	for path, want := range map[string]string{
		"/apis/g.example/v1": "g.example/v1", "/apis/g.example/v1/": "g.example/v1", "/apis/g.example/v1/namespaces/n/things": "g.example/v1",
		"/apis/g.example": "", "/apis/g.example/v10": "", "/apis": "", "/api": "v1", "/api/v1/pods": "v1", "/apix": "", "/openapi/v2": "",
	} {
		remotes := map[schema.GroupVersion]*Remote{}
		for _, gv := range []schema.GroupVersion{{Group: "g.example", Version: "v1"}, {Version: "v1"}} {
			remotes[gv] = &Remote{GroupVersion: gv}
		}
		got := ""
		if r := remoteForPath(remotes, path); r != nil {
			got = r.GroupVersion.String()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// TestConvertAPIResourceList checks that both forms of discovery yield the same document.
func TestConvertAPIResourceList(t *testing.T) {
	r := &Remote{GroupVersion: schema.GroupVersion{Group: "g.example", Version: "v1"}}
	older, err := r.convertAPIResourceList([]byte(`{"kind":"APIResourceList","resources":[
		{"name":"a","singularName":"one","namespaced":true,"kind":"A","verbs":["get"]},
		{"name":"a/scale","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["update"]},
		{"name":"b/status","kind":"B","verbs":["get"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	newer, err := r.findVersion([]byte(`{"items":[{"metadata":{"name":"other"},"versions":[{"version":"v1"}]},{"metadata":{"name":"g.example"},"versions":[{"version":"v1","freshness":"Stale","resources":[
		{"resource":"a","singularResource":"one","scope":"Namespaced","responseKind":{"kind":"A"},"verbs":["get"],"subresources":[
			{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"verbs":["update"]}]},
		{"resource":"b","scope":"Cluster","verbs":null,"subresources":[{"subresource":"status","responseKind":{"kind":"B"},"verbs":["get"]}]}]}]}]}`), "")
	if err != nil {
		t.Fatal(err)
	}
	if !sameDocument(older, newer) {
		t.Errorf("older %+v\nnewer %+v", older, newer)
	}
	for _, body := range []string{"", "[]", `{"kind":"Status"}`} {
		if _, err := r.convertAPIResourceList([]byte(body)); err == nil {
			t.Errorf("%q is discovery", body)
		}
	}
}

func TestAggregatedType(t *testing.T) {
	for of, want := range map[string]bool{
		"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList":         true,
		"application/json; v=v2beta1; g=apidiscovery.k8s.io; as=APIGroupDiscoveryList": true,
		"application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList":         false,
		"application/json": false, "": false, "text/html": false,
	} {
		if isAggregated(of) != want {
			t.Errorf("%q", of)
		}
	}
}
