package encryption

//lint:file-ignore SA1019 a gate enables KMS v1

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kmsapi "k8s.io/kms/apis/v1beta1"
)

// pluginOfV1 is a KMS v1 plugin. Its ciphertexts are "enc:" and the inverted plaintext.
type pluginOfV1 struct {
	kmsapi.UnimplementedKeyManagementServiceServer
	socket string

	mu       sync.Mutex // guards the fields below
	server   *grpc.Server
	version  string
	fault    error
	decrypts int
}

func startV1(t *testing.T) *pluginOfV1 {
	t.Helper()
	p := &pluginOfV1{socket: filepath.Join(t.TempDir(), "kms.sock"), version: kmsV1API}
	p.start(t)
	return p
}

func (p *pluginOfV1) start(t *testing.T) {
	t.Helper()
	_ = os.Remove(p.socket)
	l, err := net.Listen("unix", p.socket)
	if err != nil {
		t.Fatal(err)
	}
	server, done := grpc.NewServer(), make(chan struct{})
	kmsapi.RegisterKeyManagementServiceServer(server, p)
	go func() {
		defer close(done)
		_ = server.Serve(l) // it ends with stop
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
}

func (p *pluginOfV1) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server.Stop()
}

// set changes what the plugin answers.
func (p *pluginOfV1) set(version string, fault error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version, p.fault = version, fault
}

func (p *pluginOfV1) Version(context.Context, *kmsapi.VersionRequest) (*kmsapi.VersionResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &kmsapi.VersionResponse{Version: p.version}, nil
}

func (p *pluginOfV1) Encrypt(_ context.Context, r *kmsapi.EncryptRequest) (*kmsapi.EncryptResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &kmsapi.EncryptResponse{Cipher: append([]byte("enc:"), inverted(r.Plain)...)}, p.fault
}

func (p *pluginOfV1) Decrypt(_ context.Context, r *kmsapi.DecryptRequest) (*kmsapi.DecryptResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decrypts++
	encrypted, ok := bytes.CutPrefix(r.Cipher, []byte("enc:"))
	if !ok {
		return nil, errors.New("not a ciphertext")
	}
	return &kmsapi.DecryptResponse{Plain: inverted(encrypted)}, p.fault
}

func inverted(b []byte) []byte {
	out := slices.Clone(b)
	for i := range out {
		out[i] = ^out[i]
	}
	return out
}

// openV1 opens a configuration with a plugin for secrets.
func openV1(t *testing.T, p *pluginOfV1, more string, o Options) *Encryption {
	t.Helper()
	o.File, o.KMSv1 = filepath.Join(t.TempDir(), "config.yaml"), true
	writeConfig(t, o.File, "resources:\n"+rule("secrets", fmt.Sprintf("kms: {name: old, endpoint: %q%s}", "unix://"+p.socket, more), "identity: {}"))
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// TestKMSv1Values decrypts values that kube-apiserver's code made with the plugin of this test, in
// the present form and in that of Kubernetes before 1.25, and values of the server.
func TestKMSv1Values(t *testing.T) {
	const key, prefix = "/registry/secrets/ns/a", "k8s:enc:kms:v1:old:"
	secrets := openV1(t, startV1(t), "", Options{}).Transformer(schema.GroupResource{Resource: "secrets"})
	for text, wantStale := range map[string]bool{
		"ACRlbmM6zW4FKwdRnIvYjJ0YA8dR1kN2W/k+ZHogmeKcIEhSxfHMF4B2rJ5mEmwScj0icBOvcQ8S4padph+MpolN8HvQrropMw==": false,
		"ACRlbmM6XoGfaaayOsOgL8rL4DBGHn0gHuwUhTatZkhHEM46KROPVIzR4hwSpTtNLMxLw5T8sqC+MDT6RfClggTd+FcDvQ==":     true,
	} {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		value, isStale, err := secrets.Decrypt(t.Context(), key, append([]byte(prefix), raw...))
		if string(value) != "a value" || isStale != wantStale || err != nil {
			t.Errorf("got %q, stale %t, %v", value, isStale, err)
		}
	}
	stored, err := secrets.Encrypt(t.Context(), key, []byte("another value"))
	if err != nil || !bytes.HasPrefix(stored, []byte(prefix+"\x00\x24enc:")) {
		t.Fatalf("%q, %v", stored, err)
	}
	if value, isStale, err := secrets.Decrypt(t.Context(), key, stored); string(value) != "another value" || isStale || err != nil {
		t.Errorf("got %q, stale %t, %v", value, isStale, err)
	}
	if _, _, err := secrets.Decrypt(t.Context(), "/registry/secrets/ns/b", stored); err == nil {
		t.Error("a value that was moved to another key is accepted")
	}
	for _, short := range []string{"", "\x00", "\x00\x24enc:"} {
		if _, _, err := secrets.Decrypt(t.Context(), key, []byte(prefix+short)); err == nil || !strings.Contains(err.Error(), "failed to read uint16 length prefixed data") {
			t.Errorf("%q: %v", short, err)
		}
	}
}

// TestKMSv1Cache checks that keys are cached, unless the configuration disables the cache.
func TestKMSv1Cache(t *testing.T) {
	for more, want := range map[string]int{"": 0, ", cachesize: 1": 1, ", cachesize: -1": 2} {
		p := startV1(t)
		registry := prometheus.NewRegistry()
		metrics, err := NewMetrics(registry, "x")
		if err != nil {
			t.Fatal(err)
		}
		secrets := openV1(t, p, more, Options{Metrics: metrics}).Transformer(schema.GroupResource{Resource: "secrets"})
		p.mu.Lock()
		p.decrypts = 0 // that of the check
		p.mu.Unlock()
		var stored [2][]byte
		for i := range stored {
			if stored[i], err = secrets.Encrypt(t.Context(), "k", []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range stored {
			// From the second to the first, which a cache of one key has dropped.
			i = len(stored) - 1 - i
			if value, _, err := secrets.Decrypt(t.Context(), "k", stored[i]); len(value) != 1 || value[0] != byte(i) || err != nil {
				t.Errorf("%q: %q, %v", more, value, err)
			}
		}
		if p.decrypts != want {
			t.Errorf("%q: %d decryptions, want %d", more, p.decrypts, want)
		}
	}
}

// TestKMSv1Health checks the health of a plugin, and that the end of an outage is signalled.
func TestKMSv1Health(t *testing.T) {
	p, now := startV1(t), &clock{}
	e := openV1(t, p, ", timeout: 200ms", Options{Now: now.Now})
	secrets := e.Transformer(schema.GroupResource{Resource: "secrets"})
	stored, err := secrets.Encrypt(t.Context(), "k", []byte("v"))
	if err != nil {
		t.Fatal(err)
	}
	if !e.NeedsPlugin(schema.GroupResource{Resource: "secrets"}) {
		t.Error("secrets need no plugin")
	}
	check := e.HealthChecks()["kms-provider-0"]
	if check == nil {
		t.Fatalf("the checks are %v", e.HealthChecks())
	}
	if err := check(t.Context()); err != nil {
		t.Error(err)
	}
	p.set(kmsV1API, errors.New("sealed"))
	if err := check(t.Context()); err != nil {
		t.Errorf("the result is not reused: %v", err)
	}
	now.pass(goodStatusTTL)
	want := "failed to perform encrypt section of the healthz check for KMS Provider old, error: "
	if err := check(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "sealed") {
		t.Errorf("got %v", err)
	}
	p.set(kmsV1API, nil)
	now.pass(badStatusTTL)
	if err := check(t.Context()); err != nil {
		t.Error(err)
	}
	p.stop()
	now.pass(goodStatusTTL)
	if err := check(t.Context()); err == nil {
		t.Error("a stopped plugin is healthy")
	}
	if _, _, err := secrets.Decrypt(t.Context(), "k", stored); err != nil {
		t.Errorf("a cached key: %v", err)
	}
	readable := make(chan struct{}, 1)
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { e.Run(ctx, func() { readable <- struct{}{} }) })
	p.start(t)
	now.pass(badStatusTTL)
	if err := check(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case <-readable:
	case <-time.After(time.Minute):
		t.Error("the end of the outage was not signalled")
	}
	end()
	running.Wait()
}

// TestKMSv1Version checks that a plugin with another interface is refused.
func TestKMSv1Version(t *testing.T) {
	p := startV1(t)
	p.set("v1", nil)
	e := openV1(t, p, "", Options{})
	_, err := e.Transformer(schema.GroupResource{Resource: "secrets"}).Encrypt(t.Context(), "k", []byte("v"))
	if want := "KMS provider api version v1 is not supported, only v1beta1 is supported now"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
