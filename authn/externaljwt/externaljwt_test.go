package externaljwt

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	externaljwtv1 "k8s.io/externaljwt/apis/v1"

	"github.com/miniapiserver/miniapiserver/internal/signertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newSigner(t *testing.T, socket string) (*Signer, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	metrics, err := NewMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(socket, metrics, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, reg
}

// connected returns a Signer that is connected to an external signer.
func connected(t *testing.T) (*signertest.Signer, *Signer, *prometheus.Registry) {
	t.Helper()
	external := signertest.New(t)
	external.Serve(t)
	s, reg := newSigner(t, external.Socket)
	longest, err := s.Connect(t.Context())
	if err != nil || longest != 24*time.Hour {
		t.Fatalf("%v, %v", longest, err)
	}
	return external, s, reg
}

// TestSign checks that signatures can be verified by the fetched keys.
func TestSign(t *testing.T) {
	_, s, _ := connected(t)
	token, err := s.Sign(t.Context(), []byte(`{"sub":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	keys := s.Find(t.Context(), parsed.Signatures[0].Header.KeyID)
	if len(keys) != 1 || keys[0].Algorithm != jose.ES256 {
		t.Fatalf("keys %v", keys)
	}
	if payload, err := parsed.Verify(keys[0].Key); err != nil || string(payload) != `{"sub":"x"}` {
		t.Errorf("%s, %v", payload, err)
	}
}

// TestSignFaults checks that no token is made of an invalid response.
func TestSignFaults(t *testing.T) {
	external, s, _ := connected(t)
	header := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, tt := range []struct{ header, signature, want string }{
		{header(`{"alg":"ES256","typ":"JWT","kid":"first"}`), "", "empty signature returned"},
		{"?", "x", "while unwrapping header: "},
		{header(`{`), "x", "while parsing header JSON: "},
		{header(`{"alg":"ES256","typ":"JWT","kid":"first"}{}`), "x", "while parsing header JSON: data after the header"},
		{header(`{"alg":"ES256","typ":"JWT","kid":"first","x":1}`), "x", `unknown field "x"`},
		{header(`{"alg":"ES256","kid":"first"}`), "x", "bad type"},
		{header(`{"alg":"ES256","typ":"JWT"}`), "x", "key id missing"},
		{header(`{"alg":"ES256","typ":"JWT","kid":"` + strings.Repeat("k", 1025) + `"}`), "x", "key id longer than 1 kb"},
		{header(`{"alg":"none","typ":"JWT","kid":"first"}`), "x", `bad signing algorithm "none"`},
		{header(`{"alg":"ES256","typ":"JWT","kid":"hidden"}`), "x", "(kid: hidden) is excluded from OIDC discovery docs"},
	} {
		external.ChangeSign(func(r *externaljwtv1.SignJWTResponse) error {
			r.Header, r.Signature = tt.header, tt.signature
			return nil
		})
		external.ChangeKeys(func(r *externaljwtv1.FetchKeysResponse) error {
			r.Keys = append(r.Keys, &externaljwtv1.Key{KeyId: "hidden", Key: r.Keys[0].Key, ExcludeFromOidcDiscovery: true})
			return nil
		})
		if token, err := s.Sign(t.Context(), []byte("{}")); err == nil || !strings.Contains(err.Error(), tt.want) || token != "" {
			t.Errorf("got %q, %v, want %s", token, err, tt.want)
		}
	}
}

// TestFetchFaults checks that invalid keys are refused, and do not replace the known ones.
func TestFetchFaults(t *testing.T) {
	external, s, _ := connected(t)
	for want, change := range map[string]func(*externaljwtv1.FetchKeysResponse){
		"found invalid refresh hint (0s)": func(r *externaljwtv1.FetchKeysResponse) { r.RefreshHintSeconds = 0 },
		"found no keys":                   func(r *externaljwtv1.FetchKeysResponse) { r.Keys = nil },
		"invalid data timestamp":          func(r *externaljwtv1.FetchKeysResponse) { r.DataTimestamp = nil },
		`found invalid public key id ""`:  func(r *externaljwtv1.FetchKeysResponse) { r.Keys[0] = &externaljwtv1.Key{Key: []byte("x")} },
		`found invalid public key id "kkkkkkkkkkk`: func(r *externaljwtv1.FetchKeysResponse) {
			r.Keys[0] = &externaljwtv1.Key{KeyId: strings.Repeat("k", 1025)}
		},
		"found empty public key":             func(r *externaljwtv1.FetchKeysResponse) { r.Keys[0] = &externaljwtv1.Key{KeyId: "k"} },
		"while parsing external public keys": func(r *externaljwtv1.FetchKeysResponse) { r.Keys[0] = &externaljwtv1.Key{KeyId: "k", Key: []byte("x")} },
	} {
		external.ChangeKeys(func(r *externaljwtv1.FetchKeysResponse) error { change(r); return nil })
		if err := s.fetch(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if keys := s.Keys(); len(keys) != 1 || keys[0].ID != "first" || s.Generation() != 1 {
			t.Errorf("%s: keys %v", want, keys)
		}
	}
}

// TestRotation checks that a token with a new key leads to a request for keys, and that the
// generation follows the keys.
func TestRotation(t *testing.T) {
	external, s, _ := connected(t)
	if s.Find(t.Context(), "first"); external.Fetches() != 1 || s.Generation() != 1 {
		t.Errorf("%d requests, generation %d", external.Fetches(), s.Generation())
	}
	external.Rotate(t, "second")
	if found := s.Find(t.Context(), "second"); len(found) != 1 || external.Fetches() != 2 || s.Generation() != 2 || len(s.Keys()) != 2 {
		t.Errorf("found %v after %d requests, generation %d", found, external.Fetches(), s.Generation())
	}
	if found := s.Find(t.Context(), "unknown"); len(found) != 0 || external.Fetches() != 3 || s.Generation() != 2 {
		t.Errorf("found %v after %d requests, generation %d", found, external.Fetches(), s.Generation())
	}
	external.Revoke()
	if err := s.fetch(t.Context()); err != nil || len(s.Keys()) != 1 || s.Generation() != 3 {
		t.Errorf("keys %v, generation %d, %v", s.Keys(), s.Generation(), err)
	}
	if age := s.MaxAge(); age <= 0 || age > time.Hour {
		t.Errorf("max age %v", age)
	}
}

// TestOneFetchAtATime checks that requests which waited for another one share its result, and that
// the end of one request is no result for others.
func TestOneFetchAtATime(t *testing.T) {
	external, s, _ := connected(t)
	seen := s.fetches.Load().number
	external.ChangeKeys(func(*externaljwtv1.FetchKeysResponse) error { return status.Error(codes.Internal, "on purpose") })
	if err := s.fetch(t.Context()); err == nil {
		t.Error("no failure")
	}
	for range 3 {
		if err := s.fetchAfter(t.Context(), seen); err == nil || !strings.Contains(err.Error(), "on purpose") {
			t.Errorf("got %v", err)
		}
	}
	if n := external.Fetches(); n != 2 {
		t.Errorf("%d requests", n)
	}
	s.fetching <- struct{}{} // a request is in flight
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.fetch(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled request waits: %v", err)
	}
	<-s.fetching
	external.ChangeKeys(nil)
	seen = s.fetches.Load().number
	if err := s.fetch(canceled); err == nil {
		t.Error("a canceled request succeeds")
	}
	if err := s.fetchAfter(t.Context(), seen); err != nil {
		t.Errorf("a canceled request fails others: %v", err)
	}
}

// TestRun checks that the keys are fetched again when the signer recommends it, and that failures
// leave the known keys.
func TestRun(t *testing.T) {
	external, s, _ := connected(t)
	s.keys.Load().refresh = s.now() // due
	external.Rotate(t, "second")
	ctx, cancel := context.WithCancel(t.Context())
	fetched := make(chan struct{}, 100)
	external.ChangeKeys(func(*externaljwtv1.FetchKeysResponse) error { fetched <- struct{}{}; return nil })
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(ctx) })
	<-fetched
	cancel()
	wg.Wait()
}

// TestWithoutSigner checks that a connection waits for the signer within the context.
func TestWithoutSigner(t *testing.T) {
	external := signertest.New(t)
	s, _ := newSigner(t, external.Socket)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Connect(canceled); err == nil || !strings.HasPrefix(err.Error(), "while initially filling key cache: ") {
		t.Errorf("got %v", err)
	}
	connected := make(chan error, 1)
	go func() {
		_, err := s.Connect(t.Context())
		connected <- err
	}()
	stop := external.Serve(t)
	if err := <-connected; err != nil {
		t.Errorf("a late signer: %v", err)
	}
	external.SetMaxExpiration(time.Minute)
	if _, err := s.Connect(t.Context()); err == nil || err.Error() != "max token life supported by external-jwt-signer (60s) is less than acceptable (600s)" {
		t.Errorf("got %v", err)
	}
	stop()
	external.Serve(t)
	external.SetMaxExpiration(time.Hour)
	longest, err := s.Connect(t.Context())
	if codeOf(err) == codes.Unavailable.String() { // the call that notices the restart
		longest, err = s.Connect(t.Context())
	}
	if err != nil || longest != time.Hour {
		t.Errorf("after a restart of the signer: %v, %v", longest, err)
	}
}

// TestMetrics checks kube-apiserver's metrics.
func TestMetrics(t *testing.T) {
	external, s, reg := connected(t)
	s.now = func() time.Time { return time.Unix(2000, 5e8) }
	if err := s.fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	external.ChangeKeys(func(*externaljwtv1.FetchKeysResponse) error { return status.Error(codes.Internal, "on purpose") })
	_ = s.fetch(t.Context())
	external.ChangeKeys(func(r *externaljwtv1.FetchKeysResponse) error { r.Keys = nil; return nil })
	_ = s.fetch(t.Context())
	_, _ = s.Sign(t.Context(), []byte("{}"))
	external.ChangeSign(func(*externaljwtv1.SignJWTResponse) error { return status.Error(codes.PermissionDenied, "on purpose") })
	_, _ = s.Sign(t.Context(), []byte("{}"))
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.Metric {
			name := strings.TrimPrefix(family.GetName(), "apiserver_externaljwt_")
			for _, label := range m.Label {
				name += " " + label.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	const service = "/v1.ExternalJWTSigner/"
	if want := map[string]float64{
		"fetch_keys_data_timestamp": 1000, "fetch_keys_success_timestamp": 2000.5,
		"fetch_keys_request_total OK": 2, "fetch_keys_request_total Internal": 1, "fetch_keys_request_total unknown-non-grpc": 1,
		"sign_request_total OK": 1, "sign_request_total PermissionDenied": 1,
		"request_duration_seconds OK " + service + "FetchKeys": 3, "request_duration_seconds Internal " + service + "FetchKeys": 1,
		"request_duration_seconds OK " + service + "Metadata": 1,
		"request_duration_seconds OK " + service + "Sign":     1, "request_duration_seconds PermissionDenied " + service + "Sign": 1,
	}; !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
