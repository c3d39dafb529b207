package encryption

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const configHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n"

// Keys for tests, of 32, 32 and 16 bytes.
const (
	keyA  = "RcX2fBbLNGtggcqz46+yWN8jk2ddmvod/X80IDbksxc="
	keyB  = "J2q1JTUHTKr8Ma7vdPiX6ROwEyyXACYylu6caRczqTc="
	key16 = "MDEyMzQ1Njc4OWFiY2RlZg=="
)

// writeConfig writes a configuration without its head to a file.
func writeConfig(t testing.TB, file, body string) {
	t.Helper()
	temp := file + ".tmp"
	if err := errors.Join(os.WriteFile(temp, []byte(configHead+body), 0o600), os.Rename(temp, file)); err != nil {
		t.Fatal(err)
	}
}

// open opens a configuration; its options have no file.
func open(t testing.TB, o Options, body string) *Encryption {
	t.Helper()
	o.File = filepath.Join(t.TempDir(), "config.yaml")
	writeConfig(t, o.File, body)
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// rule returns the rule of a configuration for resources with providers in flow style.
func rule(resources string, providers ...string) string {
	text := "- resources: [" + resources + "]\n  providers:\n"
	for _, p := range providers {
		text += "  - " + p + "\n"
	}
	return text
}

// keys returns a provider with keys of name=secret.
func keys(provider string, named ...string) string {
	var list []string
	for _, k := range named {
		name, secret, _ := strings.Cut(k, "=")
		list = append(list, fmt.Sprintf("{name: %s, secret: %q}", name, secret))
	}
	return provider + ": {keys: [" + strings.Join(list, ", ") + "]}"
}

var secrets = schema.GroupResource{Resource: "secrets"}

// mustEncrypt returns the stored form of a value.
func mustEncrypt(t testing.TB, e *Encryption, gr schema.GroupResource, key, value string) []byte {
	t.Helper()
	stored, err := e.Transformer(gr).Encrypt(t.Context(), key, []byte(value))
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// decryptsTo checks the value and the staleness of a stored form.
func decryptsTo(t testing.TB, e *Encryption, gr schema.GroupResource, key string, stored []byte, want string, wantStale bool) {
	t.Helper()
	before := bytes.Clone(stored)
	got, isStale, err := e.Transformer(gr).Decrypt(t.Context(), key, stored)
	if err != nil || string(got) != want || isStale != wantStale {
		t.Errorf("%s: got %q, stale %t, %v; want %q, stale %t", key, got, isStale, err, want, wantStale)
	}
	if !bytes.Equal(before, stored) {
		t.Errorf("%s: the stored value was changed", key)
	}
}

// storedValues reads a file of etcd values by key.
func storedValues(t testing.TB, file string) map[string][]byte {
	t.Helper()
	var values map[string][]byte // base64 in JSON
	data, err := os.ReadFile(file)
	if err = errors.Join(err, json.Unmarshal(data, &values)); err != nil {
		t.Fatal(err)
	}
	return values
}

// TestKubeAPIServerValues decrypts values that kube-apiserver stored, and compares the structure
// of what this package makes of them.
func TestKubeAPIServerValues(t *testing.T) {
	e, err := Open(t.Context(), Options{File: "testdata/kube-apiserver.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	values := storedValues(t, "testdata/kube-apiserver.json")
	for key, want := range map[string]struct {
		gr             schema.GroupResource
		prefix         string
		begins, within string
	}{
		"/registry/secrets/enc/s":                 {secrets, "k8s:enc:aescbc:v1:key1:", "k8s\x00", "hunter2"},
		"/registry/configmaps/enc/c":              {schema.GroupResource{Resource: "configmaps"}, "k8s:enc:secretbox:v1:box1:", "k8s\x00", "ConfigMap"},
		"/registry/deployments/enc/d":             {schema.GroupResource{Group: "apps", Resource: "deployments"}, "k8s:enc:aesgcm:v1:gcm1:", "k8s\x00", "Deployment"},
		"/registry/enc.example.com/widgets/enc/w": {schema.GroupResource{Group: "enc.example.com", Resource: "widgets"}, "k8s:enc:secretbox:v1:box1:", `{"`, `"kind":"Widget"`},
	} {
		stored := values[key]
		value, isStale, err := e.Transformer(want.gr).Decrypt(t.Context(), key, stored)
		if err != nil || isStale || !strings.HasPrefix(string(value), want.begins) || !strings.Contains(string(value), want.within) {
			t.Errorf("%s: %q, stale %t, %v", key, value, isStale, err)
			continue
		}
		own := mustEncrypt(t, e, want.gr, key, string(value))
		if len(own) != len(stored) || !bytes.HasPrefix(own, []byte(want.prefix)) || !bytes.HasPrefix(stored, []byte(want.prefix)) {
			t.Errorf("%s: %d bytes %.40q, kube-apiserver has %d bytes %.40q", key, len(own), own, len(stored), stored)
		}
		if bytes.Contains(own, []byte(want.within)) || bytes.Equal(own, stored) {
			t.Errorf("%s: it is not encrypted, or not anew", key)
		}
		decryptsTo(t, e, want.gr, key, own, string(value), false)
	}
}

// TestProviders encrypts with every provider and key size, and decrypts damaged and moved values.
func TestProviders(t *testing.T) {
	for _, tt := range []struct {
		name, provider string
		// isAuthentic means that a changed value is an error, and isBound that one at another
		// key is.
		isAuthentic, isBound bool
	}{
		{"aescbc", keys("aescbc", "k="+keyA), false, false},
		{"aescbc with 16 bytes", keys("aescbc", "k="+key16), false, false},
		{"aesgcm", keys("aesgcm", "k="+keyA), true, true},
		{"aesgcm with 16 bytes", keys("aesgcm", "k="+key16), true, true},
		{"secretbox", keys("secretbox", "k="+keyA), true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := open(t, Options{}, "resources:\n"+rule("secrets", tt.provider))
			const key = "/registry/secrets/a/b"
			for size := range 40 {
				value := strings.Repeat("v", size)
				stored := mustEncrypt(t, e, secrets, key, value)
				decryptsTo(t, e, secrets, key, stored, value, false)
				provider, _, _ := strings.Cut(tt.provider, ":")
				prefix := len(encryptedPrefix + provider + ":v1:k:")
				for n := range stored {
					damaged := bytes.Clone(stored)
					damaged[n] ^= 1
					_, _, err := e.Transformer(secrets).Decrypt(t.Context(), key, damaged)
					if err == nil && (tt.isAuthentic || n < prefix) {
						t.Fatalf("size %d: byte %d was changed, and nothing said", size, n)
					}
				}
				for n := range stored {
					got, _, err := e.Transformer(secrets).Decrypt(t.Context(), key, stored[:n])
					if err == nil && (tt.isAuthentic || string(got) == value && value != "") {
						t.Fatalf("size %d: cut at byte %d, and nothing said", size, n)
					}
				}
				_, _, err := e.Transformer(secrets).Decrypt(t.Context(), "/registry/secrets/a/other", stored)
				if (err != nil) != tt.isBound {
					t.Fatalf("at another key: %v", err)
				}
			}
		})
	}
}

// TestRotation checks which provider encrypts, which providers decrypt, and which values are stale.
func TestRotation(t *testing.T) {
	const key = "/registry/secrets/a/b"
	cbcA, cbcAB, cbcBA := keys("aescbc", "a="+keyA), keys("aescbc", "a="+keyA, "b="+keyB), keys("aescbc", "b="+keyB, "a="+keyA)
	identity := "identity: {}"
	for _, tt := range []struct {
		name          string
		before, after []string
		wantStale     bool
		wantErr       string
	}{
		{"same", []string{cbcA}, []string{cbcA}, false, ""},
		{"key appended", []string{cbcA}, []string{cbcAB}, false, ""},
		{"key first", []string{cbcA}, []string{cbcBA}, true, ""},
		{"key first in another provider", []string{cbcA}, []string{keys("aescbc", "b="+keyB), cbcA}, true, ""},
		{"key of the same name", []string{cbcA}, []string{keys("aesgcm", "a="+keyB), cbcA}, true, ""},
		{"encryption begins", []string{identity}, []string{cbcA, identity}, true, ""},
		{"encryption ends", []string{cbcA}, []string{identity, cbcA}, true, ""},
		{"identity is first", []string{identity}, []string{identity, cbcA}, false, ""},
		{"key removed", []string{cbcA}, []string{keys("aescbc", "b="+keyB)}, false, `no matching key was found for the provided AES transformer: the value names key "a"`},
		{"provider removed", []string{cbcA}, []string{keys("secretbox", "b="+keyB)}, false, `no matching prefix found: the value names aescbc v1, key "a"`},
		{"only identity", []string{cbcA}, []string{identity}, false, `no matching prefix found: the value names aescbc v1, key "a"`},
		{"identity removed", []string{identity}, []string{cbcA}, false, "no matching prefix found: the value is not encrypted"},
		{"another secret", []string{keys("aesgcm", "a="+keyA)}, []string{keys("aesgcm", "a="+keyB)}, false, `aesgcm key "a": cipher: message authentication failed`},
		{"another secret, twice", []string{keys("aesgcm", "a="+keyA)}, []string{keys("aesgcm", "a="+keyB), keys("aesgcm", "a="+key16)}, false, `aesgcm key "a": cipher: message authentication failed`},
		{"another secret, then the right one", []string{keys("aesgcm", "a="+keyA)}, []string{keys("aesgcm", "a="+keyB), keys("aesgcm", "a="+keyA)}, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stored := mustEncrypt(t, open(t, Options{}, "resources:\n"+rule("secrets", tt.before...)), secrets, key, "value")
			e := open(t, Options{}, "resources:\n"+rule("secrets", tt.after...))
			if tt.wantErr == "" {
				decryptsTo(t, e, secrets, key, stored, "value", tt.wantStale)
				return
			}
			if _, _, err := e.Transformer(secrets).Decrypt(t.Context(), key, stored); err == nil || err.Error() != tt.wantErr {
				t.Errorf("%v, want %s", err, tt.wantErr)
			}
		})
	}
}

// TestResources checks which rule a resource has.
func TestResources(t *testing.T) {
	e := open(t, Options{}, "resources:\n"+
		rule("events", "identity: {}")+
		rule("secrets, widgets.example.com", keys("aesgcm", "named="+keyA))+
		rule("'*.apps'", keys("aesgcm", "apps="+keyA))+
		rule("'*.'", keys("aesgcm", "core="+keyA))+
		rule("'*.*'", keys("aesgcm", "all="+keyA)))
	for gr, want := range map[schema.GroupResource]string{
		{Resource: "events"}:                              "value",
		{Resource: "secrets"}:                             "k8s:enc:aesgcm:v1:named:",
		{Group: "example.com", Resource: "widgets"}:       "k8s:enc:aesgcm:v1:named:",
		{Group: "other.example.com", Resource: "widgets"}: "k8s:enc:aesgcm:v1:all:",
		{Group: "apps", Resource: "deployments"}:          "k8s:enc:aesgcm:v1:apps:",
		{Resource: "pods"}:                                "k8s:enc:aesgcm:v1:core:",
	} {
		if got := mustEncrypt(t, e, gr, "/k", "value"); !strings.HasPrefix(string(got), want) {
			t.Errorf("%s: %.40q, want %q", gr, got, want)
		}
	}
	alone := open(t, Options{}, "resources:\n"+rule("secrets", keys("aesgcm", "k="+keyA)))
	pods := schema.GroupResource{Resource: "pods"}
	if got := mustEncrypt(t, alone, pods, "/k", "value"); string(got) != "value" {
		t.Errorf("a resource without a rule is stored as %q", got)
	}
	if _, _, err := alone.Transformer(pods).Decrypt(t.Context(), "/k", []byte("k8s:enc:aesgcm:v1:k:")); !errors.Is(err, errEncrypted) {
		t.Errorf("a resource without a rule: %v", err)
	}
}

// TestMetrics checks the counters of transformations.
func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	e := open(t, Options{Metrics: newTestMetrics(t, reg)}, "resources:\n"+rule("secrets", keys("aesgcm", "k="+keyA)))
	stored := mustEncrypt(t, e, secrets, "/k", "value")
	decryptsTo(t, e, secrets, "/k", stored, "value", false)
	if _, _, err := e.Transformer(secrets).Decrypt(t.Context(), "/other", stored); err == nil {
		t.Error("a moved value is decrypted")
	}
	got := dump(t, reg)
	for _, want := range []string{
		`apiserver_storage_transformation_operations_total{resource=secrets,status=OK,transformation_type=to_storage,transformer_prefix=k8s:enc:aesgcm:v1:} 1`,
		`apiserver_storage_transformation_operations_total{resource=secrets,status=OK,transformation_type=from_storage,transformer_prefix=k8s:enc:aesgcm:v1:} 1`,
		`apiserver_storage_transformation_operations_total{resource=secrets,status=unknown-non-grpc,transformation_type=from_storage,transformer_prefix=k8s:enc:aesgcm:v1:} 1`,
		`apiserver_storage_transformation_duration_seconds{transformation_type=to_storage,transformer_prefix=k8s:enc:aesgcm:v1:} 1`,
		`apiserver_encryption_config_controller_last_config_info{apiserver_id_hash=` + configmetrics.Hash("me") + `,hash=sha256:`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// newTestMetrics returns the metrics of the server with the id "me".
func newTestMetrics(t testing.TB, reg prometheus.Registerer) *Metrics {
	t.Helper()
	m, err := NewMetrics(reg, "me")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// dump returns the metrics, a line each: name, labels, and the value or the number of
// observations.
func dump(t testing.TB, reg *prometheus.Registry) string {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			fmt.Fprintf(&b, "%s{%s} %g\n", f.GetName(), strings.Join(labels, ","), value)
		}
	}
	return b.String()
}

// FuzzDecrypt checks that damaged values are errors and nothing worse.
func FuzzDecrypt(f *testing.F) {
	file := filepath.Join(f.TempDir(), "config.yaml")
	writeConfig(f, file, "resources:\n"+rule("secrets", keys("aesgcm", "k="+keyA), keys("aescbc", "k="+keyA), keys("secretbox", "k="+keyA), "identity: {}"))
	e, err := Open(context.Background(), Options{File: file})
	if err != nil {
		f.Fatal(err)
	}
	for _, provider := range []string{"aesgcm", "aescbc", "secretbox"} {
		f.Add([]byte("k8s:enc:" + provider + ":v1:k:0123456789abcdef0123456789abcdef"))
	}
	f.Add([]byte("k8s\x00"))
	f.Fuzz(func(t *testing.T, stored []byte) {
		value, _, err := e.Transformer(secrets).Decrypt(t.Context(), "/k", stored)
		isPlain := !bytes.HasPrefix(stored, []byte(encryptedPrefix))
		if isPlain != (err == nil) && !bytes.HasPrefix(stored, []byte("k8s:enc:aescbc:v1:k:")) { // it authenticates nothing
			t.Errorf("%q: %q, %v", stored, value, err)
		}
	})
}

// BenchmarkTransform measures the cost of a value of 2 KiB.
func BenchmarkTransform(b *testing.B) {
	value := bytes.Repeat([]byte("0123456789abcdef"), 128)
	for _, provider := range []string{"identity", "aescbc", "aesgcm", "secretbox"} {
		body := keys(provider, "k="+keyA)
		if provider == "identity" {
			body = "identity: {}"
		}
		tr := open(b, Options{}, "resources:\n"+rule("secrets", body)).Transformer(secrets)
		stored, err := tr.Encrypt(b.Context(), "/registry/secrets/a/b", value)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("encrypt/"+provider, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tr.Encrypt(b.Context(), "/registry/secrets/a/b", value); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("decrypt/"+provider, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := tr.Decrypt(b.Context(), "/registry/secrets/a/b", stored); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func writeRaw(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
