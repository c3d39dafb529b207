package server

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/version"
)

// TestDiscoveryOfReleases compares all discovery documents of servers that emulate a release with
// those of kube-apiserver.
func TestDiscoveryOfReleases(t *testing.T) {
	for name, o := range map[string]Options{
		"1.34":     {Emulation: Emulation{Version: "1.34"}},
		"1.34-all": {Emulation: Emulation{Version: "1.34"}, RuntimeConfig: map[string]string{"api/all": "true"}},
		"1.35-all": {Emulation: Emulation{Version: "1.35"}, RuntimeConfig: map[string]string{"api/all": "true"}},
		"1.36-all": {Emulation: Emulation{Version: "1.36"}, RuntimeConfig: map[string]string{"api/all": "true"}},
		"1.35":     {Emulation: Emulation{Version: "kube=1.35"}},
		"1.36":     {Emulation: Emulation{Version: "1.36"}},
		"1.37":     {Emulation: Emulation{Version: "1.37"}},
		"1.37-all": {Emulation: Emulation{Version: "1.37"}, RuntimeConfig: map[string]string{"api/all": "true"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := run(t, o)
			c := raw(t, s)
			for file, want := range readDiscovery(t, name) {
				path, accept := discoveryPath(file)
				want, got := withoutAddresses(want), withoutAddresses(getDocument(t, c, s, path, accept))
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s: got %s, want %s", path, difference(got, want), difference(want, got))
				}
			}
		})
	}
}

func readDiscovery(t *testing.T, name string) map[string]any {
	t.Helper()
	f, err := os.Open("testdata/discovery/" + name + ".json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var docs map[string]any
	if err := json.NewDecoder(z).Decode(&docs); err != nil {
		t.Fatal(err)
	}
	return docs
}

// discoveryPath returns the path of a document by the name of its file, and the media type of the
// request.
func discoveryPath(file string) (path, accept string) {
	path, aggregated := strings.CutSuffix(file, "-aggregated-v2")
	if aggregated {
		accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	}
	return "/" + strings.ReplaceAll(path, "_", "/"), accept
}

func getDocument(t *testing.T, c *http.Client, s *Server, path, accept string) any {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var doc any
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
		t.Fatalf("%s: %d %v", path, resp.StatusCode, err)
	}
	return doc
}

// withoutAddresses removes the addresses of the server from a document.
func withoutAddresses(doc any) any {
	if m, ok := doc.(map[string]any); ok {
		delete(m, "serverAddressByClientCIDRs")
	}
	return doc
}

// difference returns the parts of a that b has not: the lines of its text.
func difference(a, b any) string {
	lines := func(v any) []string {
		text, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			panic(err)
		}
		return strings.Split(string(text), "\n")
	}
	other := map[string]int{}
	for _, l := range lines(b) {
		other[strings.TrimRight(l, ",")]++
	}
	var out []string
	for _, l := range lines(a) {
		if l = strings.TrimRight(l, ","); other[l] > 0 {
			other[l]--
			continue
		}
		out = append(out, strings.TrimSpace(l))
	}
	return strings.Join(out, " ")
}

// TestEmulatedVersion checks /version of a server that emulates a release, and its metric.
func TestEmulatedVersion(t *testing.T) {
	s := run(t, Options{Emulation: Emulation{Version: "1.35"}})
	got, err := clientOf(t, s.RESTConfig()).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	want := version.Info{Major: "1", Minor: "37", EmulationMajor: "1", EmulationMinor: "35", MinCompatibilityMajor: "1", MinCompatibilityMinor: "34"}
	if numbers := (version.Info{Major: got.Major, Minor: got.Minor, EmulationMajor: got.EmulationMajor, EmulationMinor: got.EmulationMinor,
		MinCompatibilityMajor: got.MinCompatibilityMajor, MinCompatibilityMinor: got.MinCompatibilityMinor}); numbers != want {
		t.Errorf("got %+v, want %+v", numbers, want)
	}
	_, metrics := send(t, raw(t, s), s, http.MethodGet, "/metrics", "", "")
	if line := `version_info{binary="1.37",component="kube",emulation="1.35",min_compat="1.34"} 1`; !strings.Contains(metrics, line) {
		t.Errorf("no metric %s", line)
	}
}

// TestVersionsOfOtherReleases checks which versions of kinds --runtime-config enables that the emulated
// release does not have, and the errors for others.
func TestVersionsOfOtherReleases(t *testing.T) {
	const rules = "admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"removed": {Options{Emulation: Emulation{Version: "1.37"},
			RuntimeConfig: map[string]string{"storage.k8s.io/v1beta1": "true"}}, ""},
		"resource": {Options{Emulation: Emulation{Version: "1.35"}, RuntimeConfig: map[string]string{rules: "true"}},
			"--runtime-config: cannot enable resource admissionregistration.k8s.io/v1, Resource=mutatingadmissionpolicies in runtime-config because it is introduced at 1.36 after the current version 1.35. Consider setting --runtime-config-emulation-forward-compatible=true"},
		"forward": {Options{Emulation: Emulation{Version: "1.35", RuntimeConfigForwardCompatible: true},
			RuntimeConfig: map[string]string{rules: "true"}}, ""},
		"version": {Options{Emulation: Emulation{Version: "1.34"},
			RuntimeConfig: map[string]string{"storagemigration.k8s.io/v1beta1": "true"}, FeatureGates: map[string]bool{"StorageVersionMigrator": true}}, "--runtime-config: cannot enable version storagemigration.k8s.io/v1beta1 in runtime-config because all the resources have been introduced after the current version 1.34. Consider setting --runtime-config-emulation-forward-compatible=true"},
		"no need": {Options{Emulation: Emulation{Version: "1.37", ForwardCompatible: true}},
			"--emulation-forward-compatible: cannot be set to true if the emulation version is the same as the binary version: --emulated-version names an earlier one"},
		"unknown": {Options{Emulation: Emulation{Version: "1.33"}},
			"--emulated-version: emulation version 1.33 is not between 1.34 and 1.37"},
		"newer": {Options{Emulation: Emulation{Version: "1.35", MinCompatibilityVersion: "1.36"}},
			"--min-compatibility-version: minimum compatibility version 1.36 is not between 1.34 and 1.35"},
		"gate": {Options{Emulation: Emulation{Version: "1.34"},
			FeatureGates: map[string]bool{"GenericWorkload": true}}, "--feature-gates: cannot set feature gate GenericWorkload to true, feature is PreAlpha at emulated version 1.34, min compatibility version 1.34"},
	} {
		err := c.o.Validate()
		if got := errorText(err); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
