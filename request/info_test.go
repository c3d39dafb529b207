package request

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func parseInfo(method, target string) Info {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		u = &url.URL{Path: target}
	}
	return Parse(&http.Request{Method: method, URL: u})
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		request string
		want    Info // without Path, IsResource and Parts, which follow from the request
	}{
		// Non-resource paths.
		{"GET /", Info{Verb: "get"}},
		{"GET ", Info{Verb: "get"}},
		{"POST /healthz", Info{Verb: "post"}},
		{"GET /api", Info{Verb: "get"}},
		{"GET /api/v1", Info{Verb: "get"}},
		{"GET /apis/apps", Info{Verb: "get"}},
		{"GET /apis/apps/v1/", Info{Verb: "get"}},
		{"GET /openapi/v3/apis/apps/v1", Info{Verb: "get"}},

		// Collections and objects.
		{"GET /api/v1/nodes", Info{Verb: "list", APIPrefix: "api", Version: "v1", Resource: "nodes"}},
		{"HEAD /api/v1/nodes", Info{Verb: "list", APIPrefix: "api", Version: "v1", Resource: "nodes"}},
		{"POST /api/v1/nodes", Info{Verb: "create", APIPrefix: "api", Version: "v1", Resource: "nodes"}},
		{"DELETE /api/v1/nodes", Info{Verb: "deletecollection", APIPrefix: "api", Version: "v1", Resource: "nodes"}},
		{"GET /api/v1/nodes/n", Info{Verb: "get", APIPrefix: "api", Version: "v1", Resource: "nodes", Name: "n"}},
		{"PUT /api/v1/nodes/n/status", Info{Verb: "update", APIPrefix: "api", Version: "v1", Resource: "nodes", Name: "n", Subresource: "status"}},
		{"PATCH /apis/apps/v1/namespaces/ns/deployments/d", Info{Verb: "patch", APIPrefix: "apis", Group: "apps", Version: "v1", Namespace: "ns", Resource: "deployments", Name: "d"}},
		{"DELETE /apis/apps/v1/namespaces/ns/deployments/d/", Info{Verb: "delete", APIPrefix: "apis", Group: "apps", Version: "v1", Namespace: "ns", Resource: "deployments", Name: "d"}},
		{"FETCH /api/v1/nodes/n", Info{APIPrefix: "api", Version: "v1", Resource: "nodes", Name: "n"}},
		{"GET /api/v1/namespaces/ns/pods/p/log/more", Info{Verb: "get", APIPrefix: "api", Version: "v1", Namespace: "ns", Resource: "pods", Name: "p", Subresource: "log"}},

		// Namespaces and objects in namespaces.
		{"GET /api/v1/namespaces", Info{Verb: "list", APIPrefix: "api", Version: "v1", Resource: "namespaces"}},
		{"GET /api/v1/namespaces/ns", Info{Verb: "get", APIPrefix: "api", Version: "v1", Namespace: "ns", Resource: "namespaces", Name: "ns", IsNamespace: true}},
		{"PUT /api/v1/namespaces/ns/status", Info{Verb: "update", APIPrefix: "api", Version: "v1", Namespace: "ns", Resource: "namespaces", Name: "ns", Subresource: "status", IsNamespace: true}},
		{"PUT /api/v1/namespaces/ns/finalize", Info{Verb: "update", APIPrefix: "api", Version: "v1", Namespace: "ns", Resource: "namespaces", Name: "ns", Subresource: "finalize", IsNamespace: true}},
		{"GET /api/v1/namespaces/ns/other", Info{Verb: "list", APIPrefix: "api", Version: "v1", Namespace: "ns", Resource: "other"}},

		// Watches, by parameter and by the deprecated paths.
		{"GET /api/v1/pods?watch=1", Info{Verb: "watch", APIPrefix: "api", Version: "v1", Resource: "pods", Watch: true}},
		{"GET /api/v1/pods?watch=TRUE", Info{Verb: "watch", APIPrefix: "api", Version: "v1", Resource: "pods", Watch: true}},
		{"GET /api/v1/pods?watch", Info{Verb: "watch", APIPrefix: "api", Version: "v1", Resource: "pods", Watch: true}},
		{"GET /api/v1/pods?watch=yes", Info{Verb: "watch", APIPrefix: "api", Version: "v1", Resource: "pods", Watch: true}},
		{"GET /api/v1/pods?watch=0", Info{Verb: "list", APIPrefix: "api", Version: "v1", Resource: "pods"}},
		{"GET /api/v1/pods?watch=False&watch=1", Info{Verb: "list", APIPrefix: "api", Version: "v1", Resource: "pods"}},
		{"POST /api/v1/pods?watch=1", Info{Verb: "create", APIPrefix: "api", Version: "v1", Resource: "pods"}},
		{"GET /api/v1/namespaces/ns/pods/p?watch=1", Info{Verb: "get", APIPrefix: "api", Version: "v1", Namespace: "ns", Resource: "pods", Name: "p"}},
		{"GET /api/v1/watch/pods", Info{Verb: "watch", APIPrefix: "api", Version: "v1", Resource: "pods", Watch: true, WatchPath: true}},
		{"GET /api/v1/watch/namespaces/ns/pods/p", Info{Verb: "watch", APIPrefix: "api", Version: "v1", Namespace: "ns", Resource: "pods", Name: "p", Watch: true, WatchPath: true}},
		{"GET /api/v1/watch/namespaces/ns", Info{Verb: "watch", APIPrefix: "api", Version: "v1", Namespace: "ns", Resource: "namespaces", Name: "ns", IsNamespace: true, Watch: true, WatchPath: true}},
		{"DELETE /apis/apps/v1/watch/deployments", Info{Verb: "watch", APIPrefix: "apis", Group: "apps", Version: "v1", Resource: "deployments", Watch: true, WatchPath: true}},
		{"GET /api/v1/proxy/namespaces/ns/pods/p", Info{Verb: "proxy", APIPrefix: "api", Version: "v1", Namespace: "ns", Resource: "pods", Name: "p"}},

		// Selectors; a field selector for a name sets Name, which authorization uses.
		{"GET /api/v1/pods?labelSelector=a%3Db&fieldSelector=metadata.name%3Dp", Info{Verb: "list", APIPrefix: "api", Version: "v1", Resource: "pods", Name: "p", FieldSelector: "metadata.name=p", LabelSelector: "a=b"}},
		{"GET /api/v1/pods?watch=1&fieldSelector=metadata.name%3Dp,spec.nodeName%3Dn", Info{Verb: "watch", APIPrefix: "api", Version: "v1", Resource: "pods", Name: "p", Watch: true, FieldSelector: "metadata.name=p,spec.nodeName=n"}},
		{"GET /api/v1/pods?fieldSelector=metadata.name!%3Dp", Info{Verb: "list", APIPrefix: "api", Version: "v1", Resource: "pods", FieldSelector: "metadata.name!=p"}},
		{"GET /api/v1/pods?fieldSelector=metadata.name%3Da/b", Info{Verb: "list", APIPrefix: "api", Version: "v1", Resource: "pods", FieldSelector: "metadata.name=a/b"}},
		{"DELETE /api/v1/pods?fieldSelector=metadata.name%3Dp", Info{Verb: "deletecollection", APIPrefix: "api", Version: "v1", Resource: "pods", FieldSelector: "metadata.name=p"}},
		{"GET /api/v1/watch/pods?fieldSelector=metadata.name%3Dp", Info{Verb: "watch", APIPrefix: "api", Version: "v1", Resource: "pods", Watch: true, WatchPath: true}},
		{"GET /api/v1/nodes/n?fieldSelector=metadata.name%3Dp", Info{Verb: "get", APIPrefix: "api", Version: "v1", Resource: "nodes", Name: "n"}},

		// Redundant slashes.
		{"GET //api/v1/nodes//", Info{Verb: "list", APIPrefix: "api", Version: "v1", Resource: "nodes"}},
		{"GET /api//v1/nodes", Info{Verb: "get", APIPrefix: "api", Resource: "v1", Name: "nodes"}},
		{"GET /api/v1/namespaces//pods", Info{Verb: "list", APIPrefix: "api", Version: "v1", Resource: "pods"}},
		{"GET /api/v1/namespaces/ns/pods//status", Info{Verb: "list", APIPrefix: "api", Version: "v1", Namespace: "ns", Resource: "pods", Subresource: "status"}},
		{"GET /api/v1/namespaces/a%2Fb/pods", Info{Verb: "get", APIPrefix: "api", Version: "v1", Namespace: "a", Resource: "b", Name: "pods"}},
	} {
		method, target, _ := strings.Cut(c.request, " ")
		got := parseInfo(method, target)
		if got.IsResource != (c.want.APIPrefix != "") {
			t.Errorf("%s: IsResource is %t", c.request, got.IsResource)
		}
		if got.IsResource && (len(got.Parts) == 0 || got.Parts[0] != got.Resource) {
			t.Errorf("%s: Parts is %q", c.request, got.Parts)
		}
		got.Path, got.IsResource, got.Parts = "", false, nil
		if !equalInfo(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.request, got, c.want)
		}
	}
}

// TestQuery verifies that the parameters are parsed for every form of path, and that a
// URL without any costs nothing.
func TestQuery(t *testing.T) {
	for _, path := range []string{"/healthz", "/api/v1/nodes", "/api/v1/nodes/n", "/api/v1/watch"} {
		if got := parseInfo("GET", path).Query; got != nil {
			t.Errorf("%s: got %v", path, got)
		}
		if got := parseInfo("GET", path+"?a=1&bad=%zz&a=2").Query; got.Encode() != "a=1&a=2" {
			t.Errorf("%s: got %v", path, got)
		}
	}
}

// TestParseWatchOfNothing checks that a watch path without a resource is an error.
func TestParseWatchOfNothing(t *testing.T) {
	got := parseInfo("GET", "/api/v1/watch")
	if got.IsResource || got.Watch || got.Verb != "get" || got.Err == nil {
		t.Errorf("got %+v", got)
	}
}

func equalInfo(a, b Info) bool {
	return a.Verb == b.Verb && a.APIPrefix == b.APIPrefix && a.Group == b.Group && a.Version == b.Version &&
		a.Namespace == b.Namespace && a.Resource == b.Resource && a.Subresource == b.Subresource && a.Name == b.Name &&
		a.FieldSelector == b.FieldSelector && a.LabelSelector == b.LabelSelector &&
		a.IsNamespace == b.IsNamespace && a.Watch == b.Watch && a.WatchPath == b.WatchPath
}

func FuzzParse(f *testing.F) {
	for _, path := range []string{"/api/v1/watch/namespaces/ns/pods/p/status?watch=1", "/apis/apps/v1/namespaces//deployments", "/api/v1/proxy", "//", "/api/%2F/a"} {
		f.Add("GET", path)
		f.Add("DELETE", path)
	}
	f.Fuzz(func(t *testing.T, method, target string) {
		info := parseInfo(method, target)
		if !info.IsResource {
			if info.Resource != "" || info.Watch {
				t.Errorf("no resource, but %+v", info)
			}
			return
		}
		if len(info.Parts) == 0 || info.Parts[0] != info.Resource {
			t.Errorf("Parts is %q, Resource %q", info.Parts, info.Resource)
		}
		if info.Watch != (info.Verb == "watch") && strings.ToLower(method) != "watch" {
			t.Errorf("Watch is %t, Verb %q", info.Watch, info.Verb)
		}
		for _, s := range []string{info.Group, info.Version, info.Namespace, info.Resource, info.Name, info.Subresource} {
			if strings.Contains(s, "/") {
				t.Errorf("%q is more than one part of the path: %+v", s, info)
			}
		}
	})
}

func TestMatchesPath(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*", "/a", true}, {"/a/*", "/a/b/c", true}, {"/a/*", "/a", false}, {"/a", "/a", true}, {"/a", "/a/b", false}, {"/", "/", true},
	} {
		if got := MatchesPath(c.pattern, c.path); got != c.want {
			t.Errorf("%s %s: %v", c.pattern, c.path, got)
		}
	}
}
