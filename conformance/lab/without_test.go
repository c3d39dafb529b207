package lab

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestNothingWithout checks that a server without --lab shows nothing of the lab: what it serves and stores equals what a server
// with a lab serves and stores, without the lab's own part.
func TestNothingWithout(t *testing.T) {
	with, without := startLab(t), start(t, server.Options{})
	eventually.Succeeds(t, "the same metrics", func() error { // some are there after the first event that they count
		got, want := metricNames(without), metricNames(with)
		if !slices.Equal(got, want) {
			return fmt.Errorf("without a lab %q, with one %q", minus(got, want), minus(want, got))
		}
		return nil
	})
	for _, path := range []string{"/apis", "/api", "/api/v1", "/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
		"/apis/rbac.authorization.k8s.io/v1/roles", "/apis/apiregistration.k8s.io/v1/apiservices", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
		"/api/v1/namespaces", "/openapi/v2", "/openapi/v3", "/metrics", "/healthz?verbose", "/readyz?verbose"} {
		a := without.do("GET "+path, "")
		if text := strings.ToLower(string(a.body)); strings.Contains(text, "lab.miniapiserver") || strings.Contains(text, "lab_") && !strings.Contains(path, "openapi") && path != "/metrics" {
			t.Errorf("%s of a server without a lab has it", path)
		}
	}
	for _, path := range []string{group, requests, changes, "/openapi/v3/apis/lab.miniapiserver.io/v1alpha1", "/apis/lab.miniapiserver.io", "/lab.miniapiserver.io/recordings/x/api"} {
		if a := without.call(call{do: "GET " + path}); a.code != http.StatusNotFound {
			t.Errorf("%s without a lab: %d", path, a.code)
		}
	}
	// What both store: the same names of all kinds.
	for _, path := range []string{"/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "/apis/rbac.authorization.k8s.io/v1/roles",
		"/apis/rbac.authorization.k8s.io/v1/rolebindings", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/api/v1/namespaces", "/apis/scheduling.k8s.io/v1/priorityclasses",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"} {
		if got, want := contents(without, path), contents(with, path); got != want {
			t.Errorf("%s differs:\n%s\n%s", path, got, want)
		}
	}
	if got, want := groups(without), groups(with); !slices.Equal(append(got, v1alpha1.GroupVersion.Group), want) {
		t.Errorf("groups %q and %q", got, want)
	}
}

func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// metricNames returns the names of all metrics, which must not depend on requests that only one of the servers got.
func metricNames(w *world) []string {
	var out []string
	for line := range strings.Lines(string(w.do("GET /metrics", "").body)) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			out = append(out, strings.TrimSpace(name))
		}
	}
	slices.Sort(out)
	return out
}

// contents returns names and rules of the objects of a list.
func contents(w *world, path string) string {
	var list struct {
		Items []struct {
			Metadata metav1.ObjectMeta
			Rules    json.RawMessage
			Spec     json.RawMessage
		}
	}
	a := w.do("GET "+path, "")
	if err := json.Unmarshal(a.body, &list); err != nil {
		w.t.Fatal(err)
	}
	var out strings.Builder
	for _, item := range list.Items {
		fmt.Fprintf(&out, "%s/%s %v %s %s\n", item.Metadata.Namespace, item.Metadata.Name, item.Metadata.Labels, item.Rules, item.Spec)
	}
	return out.String()
}

// groups returns the API groups in discovery, the lab's last.
func groups(w *world) []string {
	var list metav1.APIGroupList
	if err := json.Unmarshal(w.do("GET /apis", "").body, &list); err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, g := range list.Groups {
		if g.Name != v1alpha1.GroupVersion.Group {
			out = append(out, g.Name)
		}
	}
	if len(out) < len(list.Groups) {
		out = append(out, v1alpha1.GroupVersion.Group)
	}
	return out
}
