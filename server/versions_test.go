package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// olderKind is a kind with versions that are disabled by default.
type olderKind struct {
	kind, stable, resource, namespace, spec string
	// versions maps each such version to text that the object has only in this version.
	versions map[string]string
}

func olderKinds() []olderKind {
	return []olderKind{
		{"ServiceCIDR", "networking.k8s.io/v1", "servicecidrs", "", `{"cidrs":["10.97.0.0/24"]}`,
			map[string]string{"networking.k8s.io/v1beta1": `"cidrs":["10.97.0.0/24"]`}},
		{"MutatingAdmissionPolicy", "admissionregistration.k8s.io/v1", "mutatingadmissionpolicies", "",
			`{"reinvocationPolicy":"Never","matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["secrets"]}]},` +
				`"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{}"}}]}`,
			map[string]string{
				"admissionregistration.k8s.io/v1alpha1": `"expression":"Object{}"`,
			}},
		{"ResourceClaim", "resource.k8s.io/v1", "resourceclaims", "default", `{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}}`,
			map[string]string{
				"resource.k8s.io/v1beta2": `"exactly":{"deviceClassName":"c"`,
				"resource.k8s.io/v1beta1": `"requests":[{"name":"r","deviceClassName":"c"`,
			}},
	}
}

func (k olderKind) path(version string) string {
	if k.namespace != "" {
		return "/apis/" + version + "/namespaces/" + k.namespace + "/" + k.resource
	}
	return "/apis/" + version + "/" + k.resource
}

func (k olderKind) object(version, name string) string {
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},"spec":%s}`, version, k.kind, name, k.spec)
}

// send sends a request as the administrator.
func send(t *testing.T, c *http.Client, s *Server, method, path, contentType, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	r.Header.Set("Content-Type", contentType)
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(data)
}

// specOf returns the spec of an object for comparison.
func specOf(t *testing.T, object string) string {
	t.Helper()
	var o struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal([]byte(object), &o); err != nil {
		t.Fatalf("%v: %s", err, object)
	}
	return string(o.Spec)
}

// TestOneObjectInManyVersions checks that an object can be read in every version, and
// written in each without a loss.
func TestOneObjectInManyVersions(t *testing.T) {
	s := run(t, Options{Emulation: Emulation{Version: "1.36"},
		RuntimeConfig: map[string]string{"api/beta": "true", "api/alpha": "true"}})
	c := raw(t, s)
	for _, k := range olderKinds() {
		resp, created := send(t, c, s, http.MethodPost, k.path(k.stable), "application/json", k.object(k.stable, "o"))
		if resp.StatusCode != http.StatusCreated {
			t.Errorf("%s: %s", k.kind, created)
			continue
		}
		if w := resp.Header.Values("Warning"); len(w) > 0 {
			t.Errorf("%s in %s: warnings %q", k.kind, k.stable, w)
		}
		for version, field := range k.versions {
			path := k.path(version) + "/o"
			resp, view := send(t, c, s, http.MethodGet, path, "", "")
			if resp.StatusCode != http.StatusOK || !strings.Contains(view, `"apiVersion":"`+version+`"`) || !strings.Contains(view, field) {
				t.Errorf("%s: %d %s", path, resp.StatusCode, view)
				continue
			}
			w := resp.Header.Values("Warning")
			if len(w) != 1 || !strings.HasPrefix(w[0], `299 - "`+version+" "+k.kind+" is deprecated in v1.") {
				t.Errorf("%s: warnings %q", path, w)
			}
			resp, body := send(t, c, s, http.MethodPut, path, "application/json", view)
			for resp.StatusCode == http.StatusConflict { // a controller has written the status meanwhile
				_, view = send(t, c, s, http.MethodGet, path, "", "")
				resp, body = send(t, c, s, http.MethodPut, path, "application/json", view)
			}
			if resp.StatusCode != http.StatusOK {
				t.Errorf("PUT %s: %s", path, body)
			}
			patch := `{"metadata":{"labels":{"by":"patch"}}}`
			if resp, body := send(t, c, s, http.MethodPatch, path, "application/merge-patch+json", patch); resp.StatusCode != http.StatusOK {
				t.Errorf("PATCH %s: %s", path, body)
			}
			apply := k.path(version) + "/applied?fieldManager=m"
			resp, body = send(t, c, s, http.MethodPatch, apply, "application/apply-patch+yaml", k.objectOf(t, version, view, "applied"))
			if resp.StatusCode/100 != 2 {
				t.Errorf("apply %s: %s", apply, body)
			}
			if resp, body := send(t, c, s, http.MethodGet, k.path(version), "", ""); resp.StatusCode != http.StatusOK || !strings.Contains(body, field) {
				t.Errorf("list %s: %s", k.path(version), body)
			}
		}
		if _, after := send(t, c, s, http.MethodGet, k.path(k.stable)+"/o", "", ""); specOf(t, after) != specOf(t, created) {
			t.Errorf("%s was %s\nand is %s", k.kind, created, after)
		}
	}
	_, metrics := send(t, c, s, http.MethodGet, "/metrics", "", "")
	if want := `apiserver_requested_deprecated_apis{group="networking.k8s.io",removed_release="1.37",resource="servicecidrs",subresource="",version="v1beta1"} 1`; !strings.Contains(metrics, want) {
		t.Errorf("no metric %s", want)
	}
}

// objectOf returns a copy of an object in a version, with another name.
func (k olderKind) objectOf(t *testing.T, version, view, name string) string {
	t.Helper()
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},"spec":%s}`, version, k.kind, name, specOf(t, view))
}

// TestEvictionOfOlderVersion checks that an eviction may be of policy/v1beta1, whatever
// versions are served.
func TestEvictionOfOlderVersion(t *testing.T) {
	s := run(t, Options{})
	c := raw(t, s)
	const pods = "/api/v1/namespaces/default/pods"
	pod := `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	if resp, body := send(t, c, s, http.MethodPost, pods, "application/json", pod); resp.StatusCode != http.StatusCreated {
		t.Fatal(body)
	}
	for _, of := range []struct {
		version string
		code    int
	}{{"policy/v1alpha1", http.StatusBadRequest}, {"policy/v1beta1", http.StatusCreated}} {
		eviction := fmt.Sprintf(`{"apiVersion":%q,"kind":"Eviction","metadata":{"name":"p"},"deleteOptions":{"gracePeriodSeconds":0}}`, of.version)
		resp, body := send(t, c, s, http.MethodPost, pods+"/p/eviction", "application/json", eviction)
		if resp.StatusCode != of.code {
			t.Errorf("%s: %d %s", of.version, resp.StatusCode, body)
		}
	}
	if resp, body := send(t, c, s, http.MethodGet, pods+"/p", "", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the pod still exists: %s", body)
	}
}

// TestDiscoveryOfOlderVersions checks that disabled versions are not in discovery, and that
// enabled ones follow the stable ones. Versions that Kubernetes has removed cannot be
// enabled.
func TestDiscoveryOfOlderVersions(t *testing.T) {
	for _, on := range []bool{false, true} {
		o := Options{Emulation: Emulation{Version: "1.36"}}
		if on {
			o.RuntimeConfig = map[string]string{"api/beta": "true", "storage.k8s.io/v1": "true", "policy/v1beta1": "true"}
		}
		s := run(t, o)
		c := raw(t, s)
		var group metav1.APIGroup
		_, body := get(t, c, s.URL+"/apis/storage.k8s.io", s.Token)
		if err := json.Unmarshal([]byte(body), &group); err != nil {
			t.Fatal(err)
		}
		var versions []string
		for _, v := range group.Versions {
			versions = append(versions, v.Version)
		}
		want := []string{"v1"}
		if on {
			want = append(want, "v1beta1")
		}
		if !slices.Equal(versions, want) || group.PreferredVersion.Version != "v1" {
			t.Errorf("on %t: %s", on, body)
		}
		served := http.StatusNotFound
		if on {
			served = http.StatusOK
		}
		for path, status := range map[string]int{
			"/apis/storage.k8s.io/v1beta1":                         served,
			"/apis/storage.k8s.io/v1beta1/volumeattributesclasses": served,
			"/openapi/v3/apis/storage.k8s.io/v1beta1":              served,
			"/apis/storage.k8s.io/v1beta1/csidrivers":              http.StatusNotFound,
			"/apis/policy/v1beta1":                                 http.StatusNotFound,
			"/apis/policy/v1beta1/poddisruptionbudgets":            http.StatusNotFound,
			"/openapi/v3/apis/policy/v1beta1":                      http.StatusNotFound,
		} {
			if got, body := get(t, c, s.URL+path, s.Token); got != status {
				t.Errorf("on %t: %s: %d %.300s", on, path, got, body)
			}
		}
	}
}

// TestOnlyCore checks that a server starts with little more than the core group.
func TestOnlyCore(t *testing.T) {
	s := run(t, Options{RuntimeConfig: map[string]string{"api/all": "false", "api/v1": "true"}})
	c := raw(t, s)
	if code, body := get(t, c, s.URL+"/api/v1/namespaces/default", s.Token); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	if code, body := get(t, c, s.URL+"/apis/apps/v1/deployments", s.Token); code != http.StatusNotFound {
		t.Errorf("%d %s", code, body)
	}
}

// TestRuntimeConfigRefused checks the errors for invalid values of --runtime-config.
func TestRuntimeConfigRefused(t *testing.T) {
	for config, want := range map[string]string{
		"foo/v1=true":   "--runtime-config: unknown api groups foo",
		"apps/v2=true":  "--runtime-config: group version apps/v2 that has not been registered",
		"api/all=false": "--runtime-config: invalid key with only api/all=false",
		"api/all=maybe": `--runtime-config: api/all=maybe: "maybe" is neither true nor false`,
	} {
		key, value, _ := strings.Cut(config, "=")
		err := Options{RuntimeConfig: map[string]string{key: value}}.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", config, err, want)
		}
	}
}
