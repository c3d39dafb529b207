package manifest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/admissionregistration"
)

const (
	header  = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n"
	webhook = "webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: 'https://a/x'}}]\n"
)

func named(name string) string { return header + "metadata: {name: " + name + "}\n" + webhook }

func config(t *testing.T, reg *prometheus.Registry) Config {
	t.Helper()
	gates := features.Default()
	metrics, err := configmetrics.New(reg, configmetrics.Options{Name: "manifest_admission", Subject: "admission manifest", ServerID: "me", Stability: "ALPHA", ByPlugin: true})
	if err != nil {
		t.Fatal(err)
	}
	return Config{Kinds: func() []*api.Resource { return admissionregistration.ManifestKinds(gates, expression.Library{}) }, Gates: gates, Metrics: metrics}
}

// names opens a directory with webhook configurations, whose value is the list of their names.
func names(c Config, dir string) (*Source[string], error) {
	return Open(c, dir, Plugin[string]{
		Name: "P", Noun: "webhook", Kinds: []string{"ValidatingWebhookConfiguration"},
		Check: func(obj api.Object, _ string) error {
			if obj.GetLabels()["refused"] != "" {
				return errors.New("refused")
			}
			return nil
		},
		Compile: func(objects []api.Object) (string, error) {
			var list []string
			for _, obj := range objects {
				list = append(list, strings.TrimSuffix(obj.GetName(), Suffix))
			}
			return strings.Join(list, " "), nil
		},
	})
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLoad checks which files and documents of a directory are read, and that the objects come in
// the order of their names.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "1.yaml", named("d.static.k8s.io")+"---\n---\n"+named("b.static.k8s.io"))
	write(t, dir, "2.JSON", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"c.static.k8s.io"}}]}]}`)
	write(t, dir, "3.yml", "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfigurationList\nitems: [{metadata: {name: a.static.k8s.io}}]\n")
	write(t, dir, "empty.yaml", "")
	write(t, dir, "notes.txt", "not read")
	if err := os.Mkdir(filepath.Join(dir, "dir.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := names(config(t, prometheus.NewRegistry()), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Current(); got != "a b c d" {
		t.Errorf("got %q", got)
	}
	if s, err := names(config(t, prometheus.NewRegistry()), ""); err != nil || s != nil || s.Current() != "" || s.Loop() != nil {
		t.Errorf("without a directory: %v, %v", s, err)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"syntax", "a: [", "did not find expected node content"},
		{"unknown field", named("a.static.k8s.io") + "nonsense: 1\n", `strict decoding error: unknown field "nonsense"`},
		{"unknown kind", "apiVersion: v1\nkind: Nonsense\n", `no kind "Nonsense" is registered for version "v1"`},
		{"other kind", "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\n", "unsupported resource type *v1.MutatingWebhookConfiguration"},
		{"list of another kind", "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfigurationList\nitems: [{}]\n", "unsupported resource type *v1.MutatingWebhookConfigurationList"},
		{"older version", strings.Replace(named("a.static.k8s.io"), "/v1\n", "/v1beta1\n", 1), "unsupported resource type *v1beta1.ValidatingWebhookConfiguration"},
		{"no name", header, `ValidatingWebhookConfiguration "": metadata.name: Required value: name or generateName is required`},
		{"invalid", strings.Replace(named("a.static.k8s.io"), "https:", "http:", 1), `ValidatingWebhookConfiguration "a.static.k8s.io": webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme`},
		{"ordinary name", named("a"), `"a" in file "DIR/f.yaml" must have a name ending with ".static.k8s.io"`},
		{"twice", named("a.static.k8s.io") + "---\n" + named("a.static.k8s.io"), `duplicate name "a.static.k8s.io" found in file "DIR/f.yaml" (previously seen in "DIR/f.yaml")`},
		{"refused by the plugin", header + "metadata: {name: a.static.k8s.io, labels: {refused: x}}\n", "refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "f.yaml", test.text)
			_, err := names(config(t, prometheus.NewRegistry()), dir)
			want := `failed to load static webhook manifests from "DIR": error loading DIR/f.yaml: `
			if err == nil || !strings.HasPrefix(strings.ReplaceAll(err.Error(), dir, "DIR"), want) || !strings.Contains(strings.ReplaceAll(err.Error(), dir, "DIR"), test.want) {
				t.Errorf("got %v\nwant %s ... %s", err, want, test.want)
			}
		})
	}
}

// TestDir checks the configuration of the plugins for policies, and the directories in it.
func TestDir(t *testing.T) {
	if dir, err := Dir([]byte("apiVersion: apiserver.config.k8s.io/v1\nkind: K\nstaticManifestsDir: /x\n"), "K"); dir != "/x" || err != nil {
		t.Errorf("got %q, %v", dir, err)
	}
	for _, text := range []string{"kind: K", "apiVersion: apiserver.config.k8s.io/v1\nkind: L", "apiVersion: apiserver.config.k8s.io/v1\nkind: K\nnonsense: 1"} {
		if dir, err := Dir([]byte(text), "K"); err == nil {
			t.Errorf("%q: got %q", text, dir)
		}
	}
	c := config(t, prometheus.NewRegistry())
	file := filepath.Join(t.TempDir(), "f")
	write(t, filepath.Dir(file), "f", "")
	for dir, want := range map[string]string{
		"relative":      "must be an absolute file path",
		file:            "must be a directory",
		file + "/other": "unable to read",
	} {
		if _, err := names(c, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", dir, err, want)
		}
	}
	c.Gates = features.Gates{}
	if _, err := names(c, filepath.Dir(file)); err == nil || !strings.Contains(err.Error(), "ManifestBasedAdmissionControlConfig") {
		t.Errorf("without the gate: %v", err)
	}
}

// TestReload checks that a change of the files is applied, and that a broken one leaves the previous
// objects in effect.
func TestReload(t *testing.T) { synctest.Test(t, testReload) }

func testReload(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "1.yaml", named("a.static.k8s.io"))
	reg := prometheus.NewRegistry()
	s, err := names(config(t, reg), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, loop := range s.Loop() {
		go loop(ctx)
	}
	expect := func(when, want string, loaded, failed float64) {
		t.Helper()
		time.Sleep(2 * interval) // of the bubble
		synctest.Wait()
		loads, configs := gather(t, reg)
		if got := s.Current(); got != want || loads["success"] != loaded || loads["failure"] != failed || configs != 1 {
			t.Errorf("%s: %q, loaded %v times, failed %v times, %d hashes; want %q, %v, %v, 1", when, got, loads["success"], loads["failure"], configs, want, loaded, failed)
		}
	}
	expect("at first", "a", 1, 0)
	write(t, dir, "2.yaml", named("b.static.k8s.io"))
	expect("after a new file", "a b", 2, 0)
	write(t, dir, "2.yaml", named("c"))
	expect("while a name is wrong", "a b", 2, 1)
	write(t, dir, "2.yaml", named("c.static.k8s.io"))
	expect("after the correction", "a c", 3, 1)
	if err := os.Rename(dir, dir+"x"); err != nil {
		t.Fatal(err)
	}
	expect("without the directory", "a c", 3, 2)
	if err := os.Rename(dir+"x", dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"1.yaml", "2.yaml"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	expect("without files", "", 4, 2)
}

// gather returns the number of loads by status, and the number of hashes.
func gather(t *testing.T, reg *prometheus.Registry) (loads map[string]float64, configs int) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	loads = map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, label := range m.GetLabel() {
				switch {
				case label.GetName() == "status" && strings.HasSuffix(f.GetName(), "_reloads_total"):
					loads[label.GetValue()] = m.GetCounter().GetValue()
				case label.GetName() == "hash":
					configs++
				}
			}
		}
	}
	return loads, configs
}
