package authn

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
	"github.com/miniapiserver/miniapiserver/internal/seriestest"
)

// TestJWTMetrics checks what tokens, fetches of keys and reloads of the configuration count, and
// that an issuer that is removed from the configuration disappears from the metrics of fetches.
func TestJWTMetrics(t *testing.T) {
	p, q := newProvider(t), newProvider(t)
	path := filepath.Join(t.TempDir(), "config.yaml")
	write := func(content string) { t.Helper(); replaceFile(t, path, content) }
	write(p.config(subIsName))
	reg := prometheus.NewPedanticRegistry()
	metrics, err := NewJWTMetrics(reg, "me", true)
	if err != nil {
		t.Fatal(err)
	}
	config, data, err := ReadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewJWTIssuers(config, path, data, Restrictions{}, metrics, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	runIssuers(t, o)
	o.awaitDiscovery(t.Context(), o.current.Load())

	read := func() map[string]float64 {
		t.Helper()
		all, err := seriestest.Read(reg)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	const jwt, controller = "apiserver_authentication_jwt_authenticator_", "apiserver_authentication_config_controller_"
	me := `apiserver_id_hash="` + configmetrics.Hash("me") + `"`
	issuer := func(p *provider) string { return `jwt_issuer_hash="` + configmetrics.Hash(p.URL) + `"` }
	fetched := func(p *provider, result string) bool {
		return read()[jwt+"jwks_fetch_last_timestamp_seconds{"+me+","+issuer(p)+`,result="`+result+`"}`] > 1e9
	}
	keySets := func(p *provider) (n int) {
		for name := range read() {
			if strings.HasPrefix(name, jwt+"jwks_fetch_last_key_set_info{"+me+`,hash="sha256:`) && strings.Contains(name, issuer(p)) {
				n++
			}
		}
		return n
	}
	good := func(p *provider) bool {
		_, ok, _ := o.AuthenticateToken(t.Context(), p.token(t, nil))
		return ok
	}
	if !good(p) || good(q) || !fetched(p, "success") || fetched(p, "failure") || keySets(p) != 1 {
		t.Errorf("after a token: %v", read())
	}
	p.setDown(true)
	p.rotate(t, "second")
	if good(p) || !fetched(p, "failure") || keySets(p) != 1 {
		t.Errorf("after a failed fetch: %v", read())
	}
	p.setDown(false)
	for deadline := time.Now().Add(time.Minute); !good(p); { // a fetch that fails may be shared
		if time.Now().After(deadline) {
			t.Fatal("the new key is not fetched")
		}
	}
	if keySets(p) != 1 {
		t.Errorf("the last key set is still shown: %v", read())
	}
	latency := jwt + "latency_seconds{" + issuer(p) + `,result=`
	if all := read(); all[latency+`"success"}`] != 2 || all[latency+`"failure"}`] < 1 {
		t.Errorf("latencies: %v", all)
	}
	if all := read(); all[controller+"last_config_info{"+me+`,hash="`+configmetrics.Hash(string(data))+`"}`] != 1 {
		t.Errorf("configuration: %v", all)
	}

	reloads := func(status string) float64 {
		return read()[controller+"automatic_reloads_total{"+me+`,status="`+status+`"}`]
	}
	await := func(what string, condition func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, read())
			}
		}
	}
	write("{")
	await("a faulty file is not counted", func() bool { return reloads("failure") == 1 })
	next := q.config(subIsName)
	write(next)
	await("a reload is not counted", func() bool { return reloads("success") == 1 })
	if !good(q) || fetched(p, "success") || fetched(p, "failure") || keySets(p) != 0 || keySets(q) != 1 || reloads("failure") != 1 {
		t.Errorf("after a reload: %v", read())
	}
	if all := read(); all[controller+"last_config_info{"+me+`,hash="`+configmetrics.Hash(next)+`"}`] != 1 {
		t.Errorf("configuration after a reload: %v", all)
	}
}

// TestJWTMetricsWithoutKeys checks that the fetches of keys are not shown if that is turned off.
func TestJWTMetricsWithoutKeys(t *testing.T) {
	for _, keys := range []bool{true, false} {
		reg := prometheus.NewPedanticRegistry()
		m, err := NewJWTMetrics(reg, "me", keys)
		if err != nil {
			t.Fatal(err)
		}
		m.fetched(&measuredKeys{issuer: "https://issuer.test"}, []byte("keys"), nil)
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		shown := slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return strings.Contains(f.GetName(), "jwks_fetch") })
		if shown != keys {
			t.Errorf("%t: %v", keys, families)
		}
	}
}
