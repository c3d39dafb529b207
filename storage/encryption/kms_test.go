package encryption

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
	"github.com/miniapiserver/miniapiserver/internal/kmstest"
)

// startPlugin starts a KMS plugin with the key id key-1.
func startPlugin(t testing.TB) *kmstest.Plugin {
	t.Helper()
	p := kmstest.New(filepath.Join(t.TempDir(), "kms.sock"), "key-1")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// kmsRule returns the rule of a plugin for secrets.
func kmsRule(name string, p *kmstest.Plugin, timeout string) string {
	return rule("secrets", fmt.Sprintf("kms: {apiVersion: v2, name: %s, endpoint: %q, timeout: %s}", name, p.Endpoint(), timeout), "identity: {}")
}

// clock is a clock for tests.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.IsZero() {
		c.now = time.Now()
	}
	return c.now
}

func (c *clock) pass(d time.Duration) {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now.Add(d)
}

// TestKMSValuesOfKubeAPIServer decrypts values that kube-apiserver's code made with the plugin of
// these tests.
func TestKMSValuesOfKubeAPIServer(t *testing.T) {
	p := startPlugin(t)
	e := open(t, Options{}, "resources:\n"+kmsRule("plug", p, "10s"))
	for key, stored := range storedValues(t, "testdata/kms-v2.json") {
		want := "the value of " + key[len(key)-1:]
		decryptsTo(t, e, secrets, key, stored, want, false)
		own := mustEncrypt(t, e, secrets, key, want)
		if len(own) != len(stored) || string(own[:20]) != "k8s:enc:kms:v2:plug:" {
			t.Errorf("%d bytes %.40q, kube-apiserver has %d", len(own), own, len(stored))
		}
		if _, _, err := e.Transformer(secrets).Decrypt(t.Context(), key+"/moved", own); err == nil {
			t.Error("a moved value is decrypted")
		}
	}
	if _, decrypts := p.Calls(); decrypts != 1 {
		t.Errorf("%d calls for two values with one seed", decrypts)
	}
}

// TestKMSKeyRotation changes the key id in the plugin. Values of the former one become stale, and
// are still read.
func TestKMSKeyRotation(t *testing.T) {
	p, c, reg := startPlugin(t), &clock{}, prometheus.NewRegistry()
	e := open(t, Options{Now: c.Now, Metrics: newTestMetrics(t, reg)}, "resources:\n"+kmsRule("plug", p, "10s"))
	old := mustEncrypt(t, e, secrets, "/k", "value")
	decryptsTo(t, e, secrets, "/k", old, "value", false)
	p.SetKeyID("key-2")
	if err := e.CheckHealth(t.Context()); err != nil {
		t.Fatal(err)
	}
	decryptsTo(t, e, secrets, "/k", old, "value", false) // the last status is not old enough
	c.pass(goodStatusTTL)
	if err := e.CheckHealth(t.Context()); err != nil {
		t.Fatal(err)
	}
	decryptsTo(t, e, secrets, "/k", old, "value", true)
	current := mustEncrypt(t, e, secrets, "/k", "value")
	decryptsTo(t, e, secrets, "/k", current, "value", false)
	if encrypts, decrypts := p.Calls(); encrypts != 2 || decrypts != 0 {
		t.Errorf("%d seeds encrypted and %d decrypted, want 2 and 0", encrypts, decrypts)
	}
	got := dump(t, reg)
	for _, want := range []string{
		`apiserver_envelope_encryption_kms_operations_latency_seconds{grpc_status_code=OK,method_name=/v2.KeyManagementService/Status,provider_name=plug} 2`,
		`apiserver_envelope_encryption_key_id_hash_total{apiserver_id_hash=` + configmetrics.Hash("me") + `,key_id_hash=` + configmetrics.Hash("key-1") + `,provider_name=plug,transformation_type=from_storage} 3`,
		`apiserver_envelope_encryption_key_id_hash_total{apiserver_id_hash=` + configmetrics.Hash("me") + `,key_id_hash=` + configmetrics.Hash("key-2") + `,provider_name=plug,transformation_type=to_storage} 1`,
		`apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds{apiserver_id_hash=` + configmetrics.Hash("me") + `,key_id_hash=` + configmetrics.Hash("key-2") + `,provider_name=plug} `,
		`apiserver_envelope_encryption_dek_source_cache_size{provider_name=plug} 2`,
		`apiserver_storage_data_key_generation_duration_seconds{} 2`,
		`apiserver_storage_envelope_transformation_cache_misses_total{} 0`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// TestKMSGone stops the plugin. The server encrypts with its data key until that expires, reads
// values of seeds that it has decrypted, and recovers when the plugin is back.
func TestKMSGone(t *testing.T) {
	p, c := startPlugin(t), &clock{}
	body := "resources:\n" + kmsRule("plug", p, "200ms")
	e := open(t, Options{Now: c.Now}, body)
	stored := mustEncrypt(t, e, secrets, "/k", "value")
	other := open(t, Options{Now: c.Now}, body) // another server, whose seed e does not have
	foreign := mustEncrypt(t, other, secrets, "/k", "value")
	readable, run := make(chan struct{}, 10), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(run)
		e.Run(ctx, func() { readable <- struct{}{} })
	}()
	defer func() { cancel(); <-run }()

	p.Stop()
	c.pass(goodStatusTTL)
	err := e.CheckHealth(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "kms-provider-0: failed to perform status section of the healthz check for KMS Provider plug, error: ") {
		t.Fatalf("health: %v", err)
	}
	decryptsTo(t, e, secrets, "/k", stored, "value", false)
	decryptsTo(t, e, secrets, "/k", mustEncrypt(t, e, secrets, "/k", "value"), "value", false)
	c.pass(dataKeyTTL)
	if _, err := e.Transformer(secrets).Encrypt(t.Context(), "/k", []byte("value")); err == nil || !strings.Contains(err.Error(), "encryptedDEKSource with keyID hash") {
		t.Fatalf("encrypting with an expired data key: %v", err)
	}
	for range 100 { // only the first waits for the timeout
		if _, _, err := e.Transformer(secrets).Decrypt(t.Context(), "/k", foreign); err == nil || !strings.Contains(err.Error(), `KMS provider "plug": failed to decrypt DEK`) {
			t.Fatal(err)
		}
	}

	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the plugin is healthy", func() bool {
		c.pass(badStatusTTL)
		return e.CheckHealth(t.Context()) == nil
	})
	select {
	case <-readable:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody heard that the plugin is back")
	}
	decryptsTo(t, e, secrets, "/k", foreign, "value", false)
	decryptsTo(t, e, secrets, "/k", mustEncrypt(t, e, secrets, "/k", "value"), "value", false)
}

// TestKMSStartsLater opens a configuration before its plugin runs.
func TestKMSStartsLater(t *testing.T) {
	p, c := kmstest.New(filepath.Join(t.TempDir(), "kms.sock"), "key-1"), &clock{}
	t.Cleanup(p.Stop)
	e := open(t, Options{Now: c.Now}, "resources:\n"+kmsRule("plug", p, "100ms"))
	if e.HealthChecks()["kms-providers"] == nil {
		t.Error("no health check")
	}
	if _, err := e.Transformer(secrets).Encrypt(t.Context(), "/k", []byte("value")); err == nil || !strings.Contains(err.Error(), `KMS provider "plug" has no data key yet`) {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the plugin is healthy", func() bool {
		c.pass(badStatusTTL)
		return e.CheckHealth(t.Context()) == nil
	})
	decryptsTo(t, e, secrets, "/k", mustEncrypt(t, e, secrets, "/k", "value"), "value", false)
}

// TestKMSFaults checks answers of a plugin that does not work as it should.
func TestKMSFaults(t *testing.T) {
	p, c, reg := startPlugin(t), &clock{}, prometheus.NewRegistry()
	e := open(t, Options{Now: c.Now, Metrics: newTestMetrics(t, reg)}, "resources:\n"+kmsRule("plug", p, "10s"))
	check := func() error {
		c.pass(goodStatusTTL)
		return e.CheckHealth(t.Context())
	}
	for _, tt := range []struct {
		cause, repair func()
		want          string
	}{
		{func() { p.SetHealthz("sealed") }, func() { p.SetHealthz("ok") }, "kms-provider-0: kmsv2 Provider plug is not healthy, error: got unexpected healthz status: sealed"},
		{func() { p.SetKeyID("") }, func() { p.SetKeyID("key-1") }, `got invalid KMSv2 KeyID hash "": keyID is empty`},
		{func() { p.SetKeyID(strings.Repeat("k", maxKeyID+1)) }, func() { p.SetKeyID("key-1") }, "keyID is 1025 bytes, which exceeds the max size of 1024"},
		{func() { p.Fail(status.Error(codes.PermissionDenied, "not you")) }, func() { p.Fail(nil) }, "not you"},
	} {
		tt.cause()
		if err := check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
		decryptsTo(t, e, secrets, "/k", mustEncrypt(t, e, secrets, "/k", "value"), "value", false) // with the data key it has
		tt.repair()
		if err := check(); err != nil {
			t.Error(err)
		}
	}
	for _, label := range []string{"empty", "too_long"} {
		if want := "apiserver_envelope_encryption_invalid_key_id_from_status_total{error=" + label + ",provider_name=plug} 1"; !strings.Contains(dump(t, reg), want) {
			t.Error("no " + want)
		}
	}
	stored := mustEncrypt(t, e, secrets, "/k", "value")
	other := startPlugin(t)
	other.SetKeyID("key-of-another-kms")
	wrong := open(t, Options{}, "resources:\n"+kmsRule("plug", other, "10s"))
	other.Fail(status.Error(codes.InvalidArgument, "unknown key"))
	if _, _, err := wrong.Transformer(secrets).Decrypt(t.Context(), "/k", stored); err == nil || !strings.Contains(err.Error(), "unknown key") {
		t.Errorf("another KMS: %v", err)
	}
}

// TestKMSDataKeyWithoutSeed decrypts a value with a key that no seed was extended to, as
// kube-apiserver 1.27 and 1.28 stored them.
func TestKMSDataKeyWithoutSeed(t *testing.T) {
	p := startPlugin(t)
	e := open(t, Options{}, "resources:\n"+kmsRule("plug", p, "10s"))
	key := bytes.Repeat([]byte{7}, dekSize)
	code, err := newGCM(key)
	if err != nil {
		t.Fatal(err)
	}
	data, err := code.encrypt(t.Context(), nil, &subject{key: "/k"}, []byte("value"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := e.current.Load().plugins[0].(*plugin).service.encrypt(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	v := envelope{data: data, keyID: answer.GetKeyId(), seed: answer.GetCiphertext(), annotations: answer.GetAnnotations()}
	stored := append([]byte("k8s:enc:kms:v2:plug:"), v.marshal()...)
	decryptsTo(t, e, secrets, "/k", stored, "value", true)
}

// TestKMSManyKeyIDs checks that the metrics of key ids do not grow.
func TestKMSManyKeyIDs(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := NewMetrics(reg, "me")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 * maxKeyIDs {
		m.keyIDUsed(fromStorage, "plug", configmetrics.Hash(fmt.Sprint(n)), time.Now())
		m.keyIDFromStatus("plug", configmetrics.Hash(fmt.Sprint(n)), time.Now())
	}
	got := dump(t, reg)
	for _, name := range []string{"key_id_hash_total", "key_id_hash_last_timestamp_seconds", "key_id_hash_status_last_timestamp_seconds"} {
		if n := strings.Count(got, "apiserver_envelope_encryption_"+name+"{"); n != maxKeyIDs {
			t.Errorf("%s: %d, want %d", name, n, maxKeyIDs)
		}
	}
}

// TestSeedCacheExpires checks that unused seeds are dropped, and that concurrent readers share a
// call.
func TestSeedCacheExpires(t *testing.T) {
	clk, size := &clock{}, 0
	c := seedCache{now: clk.Now, sized: func(n int) { size = n }}
	c.put(seedID{1}, identity{})
	clk.pass(seedTTL / 2)
	c.put(seedID{2}, identity{})
	clk.pass(seedTTL/2 + time.Minute)
	c.put(seedID{3}, identity{})
	if size != 2 {
		t.Errorf("%d seeds, want 2", size)
	}
	calls, release := 0, make(chan struct{})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, err := c.get(t.Context(), seedID{4}, func() (codec, error) { calls++; <-release; return identity{}, nil }); err != nil {
				t.Error(err)
			}
		})
	}
	close(release)
	wg.Wait()
	if calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
}

// BenchmarkKMS measures values of 2 KiB with a cached seed.
func BenchmarkKMS(b *testing.B) {
	tr := open(b, Options{}, "resources:\n"+kmsRule("plug", startPlugin(b), "10s")).Transformer(secrets)
	value := bytes.Repeat([]byte("0123456789abcdef"), 128)
	stored, err := tr.Encrypt(b.Context(), "/k", value)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encrypt", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := tr.Encrypt(b.Context(), "/k", value); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decrypt", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := tr.Decrypt(b.Context(), "/k", stored); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestRunPanics checks that Run ends its goroutines when it panics, so that its caller can run it
// again.
func TestRunPanics(t *testing.T) {
	p := startPlugin(t)
	e := open(t, Options{}, "resources:\n"+kmsRule("plug", p, "10s"))
	e.signal()
	ended := make(chan any, 1)
	go func() {
		defer func() { ended <- recover() }()
		e.Run(t.Context(), func() { panic("in a test") })
	}()
	select {
	case got := <-ended:
		if got != "in a test" {
			t.Errorf("Run ended with %v, want the panic", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Run hangs")
	}
}

// TestSeedPanics checks that a panic while a seed is decrypted does not block another reader of the
// seed, and that the next one decrypts it.
func TestSeedPanics(t *testing.T) {
	c := seedCache{now: time.Now, sized: func(int) {}}
	decrypting, blocked := make(chan struct{}), make(chan struct{})
	first := make(chan any, 1)
	go func() {
		defer func() { first <- recover() }()
		_, _ = c.get(t.Context(), seedID{}, func() (codec, error) {
			close(decrypting)
			<-blocked
			panic("in a test")
		})
	}()
	<-decrypting
	second := make(chan error, 1)
	go func() {
		_, err := c.get(t.Context(), seedID{}, func() (codec, error) { return nil, errors.New("decrypted twice") })
		second <- err
	}()
	close(blocked)
	if got := <-first; got != "in a test" {
		t.Errorf("the first reader ended with %v, want the panic", got)
	}
	select {
	case err := <-second:
		if err == nil {
			t.Error("the second reader got a codec")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the second reader hangs")
	}
	if _, err := c.get(t.Context(), seedID{}, func() (codec, error) { return nil, nil }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
