package server

import (
	"bytes"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/api/gated"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// gatesInSource returns the gates that the source of the server reads by their constants, those of validation rules, and
// those of default roles.
func gatesInSource(t *testing.T) (code, roles map[string]bool) {
	t.Helper()
	code, roles = map[string]bool{}, map[string]bool{}
	collect := func(into map[string]bool, path, pattern string) error {
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			into[m[1]] = true
		}
		return err
	}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "features" || name == "sandbox" || name == "conformance" || strings.HasPrefix(name, ".") && name != ".."):
			return filepath.SkipDir
		case strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(name, ".go"):
			return nil
		}
		return collect(code, path, `\bfeatures\.([A-Z]\w+)`)
	})
	if err == nil {
		err = collect(code, "../api/validation/declarative/rules.txt", `if(?:Enabled|Disabled)\((\w+)\)`)
	}
	if err == nil {
		err = collect(roles, "../authz/bootstrap.txt", `(?:@|gate=)(\w+)`)
	}
	if err != nil {
		t.Fatal(err)
	}
	return code, roles
}

// TestEveryGateHasItsEffect checks that what metrics, flags and roles say of feature gates is true: a gate that is not read by
// the code and guards no field has a meaning in internal/features/effects.txt, which does not say that a gate is never in effect
// that is on in some release; and no gate is listed as one with an effect that has none.
func TestEveryGateHasItsEffect(t *testing.T) {
	code, roles := gatesInSource(t)
	fields, err := gated.Gates()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := features.Elsewhere()
	known := features.Known(kubeversion.Default())
	for _, name := range slices.Sorted(maps.Keys(known)) {
		heading, listed := elsewhere[name]
		read := code[name] || slices.Contains(fields, name)
		switch {
		case name == "AllAlpha" || name == "AllBeta":
		case read && listed:
			t.Errorf("%s has an effect, but effects.txt lists it under %s", name, heading)
		case !read && !listed:
			t.Errorf("%s has no effect, and effects.txt does not say why", name)
		case (heading == "roles") != (roles[name] && !read):
			t.Errorf("%s: effects.txt says %q; is in default roles: %t, is read: %t", name, heading, roles[name], read)
		case slices.Contains(features.Effective(), name) && !read && heading != "roles":
			t.Errorf("the help says that %s has an effect, which it has not", name)
		case code[name] && !slices.Contains(features.Effective(), name) && !slices.Contains(fields, name):
			t.Errorf("the help does not say that %s has an effect", name)
		}
		if heading == features.Never {
			for m := kubeversion.Oldest(); !kubeversion.Binary().Before(m); m.Minor++ {
				if features.Known(kubeversion.Emulating(m))[name].Default {
					t.Errorf("%s is on in %s, but never in effect", name, m)
				}
			}
		}
	}
	for name := range elsewhere {
		if _, ok := known[name]; !ok {
			t.Errorf("effects.txt lists %s, which does not exist", name)
		}
	}
}

// TestFeatureGatesReported checks that metrics report every gate, and that the log names
// changed gates without effect.
func TestFeatureGatesReported(t *testing.T) {
	var log bytes.Buffer
	s := run(t, Options{
		FeatureGates: map[string]bool{"GenericWorkload": true, "SchedulerAsyncAPICalls": true, "RotateKubeletServerCertificate": false, "AllAlpha": false},
		Logger:       slog.New(slog.NewTextHandler(&log, nil)),
	})
	_, metrics := send(t, raw(t, s), s, http.MethodGet, "/metrics", "", "")
	for _, want := range []string{
		`kubernetes_feature_enabled{name="AllAlpha",stage="ALPHA"} 0`,
		`kubernetes_feature_enabled{name="SchedulerAsyncAPICalls",stage="BETA"} 1`,
		`kubernetes_feature_enabled{name="GenericWorkload",stage="BETA"} 1`,
		`kubernetes_feature_enabled{name="MutatingAdmissionPolicy",stage=""} 1`,
		`kubernetes_feature_enabled{name="KMSv1",stage="DEPRECATED"} 0`,
		`kubernetes_feature_enabled{name="RotateKubeletServerCertificate",stage="BETA"} 0`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no metric %s", want)
		}
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := `msg="changed feature gates have no effect on this server" gates=RotateKubeletServerCertificate,SchedulerAsyncAPICalls`; !strings.Contains(log.String(), want) {
		t.Errorf("the log has no line %s:\n%s", want, log.String())
	}
}

// TestFeatureGatesRefused checks the errors for invalid gates.
func TestFeatureGatesRefused(t *testing.T) {
	for gate, want := range map[string]string{
		"NoSuchGate":              "--feature-gates: unrecognized feature gate: NoSuchGate",
		"WorkloadAwarePreemption": "--feature-gates: unrecognized feature gate: WorkloadAwarePreemption",
	} {
		err := Options{FeatureGates: map[string]bool{gate: true}}.Validate()
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %q", gate, err, want)
		}
	}
}

// gatesTurnedOff returns gates that are on by default, all off.
func gatesTurnedOff() map[string]bool {
	off := map[string]bool{}
	for _, name := range []string{
		"APIResponseCompression", "APIServerIdentity", "ComponentFlagz", "ComponentStatusz", "OpenAPIEnums", "RemoteRequestHeaderUID", "StorageVersionHash",
		"TokenRequestServiceAccountUIDValidation", "UnknownVersionInteroperabilityProxy", "WatchList",
	} {
		off[name] = false
	}
	return off
}

// TestDisabledGates compares the responses of a server with those of one where gates are off.
func TestDisabledGates(t *testing.T) {
	servers := map[bool]*Server{true: run(t, Options{}), false: run(t, Options{FeatureGates: gatesTurnedOff()})}
	const gzip = "Content-Encoding: gzip"
	for _, c := range []struct{ gate, path, on, off string }{
		{"APIResponseCompression", "/api/v1/namespaces/default/configmaps/large", gzip, ""},
		{"APIServerIdentity", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", `"name":"apiserver-`, `"items":[]`},
		{"APIServerIdentity", "/readyz?verbose", "poststarthook/start-kube-apiserver-identity-lease-controller ok", "readyz check passed"},
		{"APIServerIdentity", "/readyz?verbose", "poststarthook/start-kube-apiserver-identity-lease-garbage-collector ok", "readyz check passed"},
		{"ComponentFlagz", "/flagz", "apiserver flagz", "404 page not found"},
		{"ComponentStatusz", "/statusz", "apiserver statusz", "404 page not found"},
		{"OpenAPIEnums", "/openapi/v3/api/v1", "Possible enum values:", `"restartPolicy":`},
		{"StorageVersionHash", "/api/v1", `"storageVersionHash":`, `"name":"pods"`},
		{"WatchList", "/api/v1/namespaces?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1",
			`"type":"ADDED"`, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"},
	} {
		for on, s := range servers {
			client := raw(t, s)
			if strings.HasSuffix(c.path, "/large") {
				body := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"large"},"data":{"a":"` + strings.Repeat("a", 200<<10) + `"}}`
				if resp, text := send(t, client, s, http.MethodPost, strings.TrimSuffix(c.path, "/large"), "application/json", body); resp.StatusCode != http.StatusCreated {
					t.Fatal(text)
				}
			}
			got := contentOrEncoding(t, client, s, c.path)
			want := c.on
			if !on {
				want = c.off
			}
			if !strings.Contains(got, want) || !on && strings.Contains(got, c.on) {
				t.Errorf("%s %t: %s: got %.2000s, want %q", c.gate, on, c.path, got, want)
			}
		}
	}
	for on, s := range servers {
		checkTokenForAnotherUID(t, s, on)
	}
}

// checkTokenForAnotherUID checks the response to a request for a token with the UID of another service
// account, of servers with and without the gate.
func checkTokenForAnotherUID(t *testing.T, s *Server, enabled bool) {
	t.Helper()
	client, accounts := raw(t, s), "/api/v1/namespaces/default/serviceaccounts"
	if resp, text := send(t, client, s, http.MethodPost, accounts, "application/json", `{"metadata":{"name":"a"}}`); resp.StatusCode != http.StatusCreated {
		t.Fatal(text)
	}
	resp, text := send(t, client, s, http.MethodPost, accounts+"/a/token", "application/json", `{"metadata":{"uid":"other"}}`)
	code, warning := http.StatusConflict, ""
	if !enabled {
		code, warning = http.StatusCreated, "TokenRequestServiceAccountUIDValidation is not enabled"
	}
	if resp.StatusCode != code || !strings.Contains(resp.Header.Get("Warning"), warning) {
		t.Errorf("enabled %t: %d, warning %q: %s", enabled, resp.StatusCode, resp.Header.Get("Warning"), text)
	}
}

// contentOrEncoding sends a GET that accepts gzip, and returns the body or, if it is compressed, its
// Content-Encoding.
func contentOrEncoding(t *testing.T, client *http.Client, s *Server, path string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	if strings.HasSuffix(path, "/large") {
		r.Header.Set("Accept-Encoding", "gzip") // so that the client does not decompress the body
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" {
		return "Content-Encoding: " + encoding
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
