package configmetrics

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/seriestest"
)

// TestMetrics checks that only the hash of the configuration in use is shown, and that a failed
// reload does not change it.
func TestMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m, err := New(reg, Options{Name: "authorization", ServerID: "me", Stability: "BETA"})
	if err != nil {
		t.Fatal(err)
	}
	m.Applied(Hash("first"))
	m.Reloaded(Hash("second"), nil)
	m.Reloaded(Hash("third"), errors.New("invalid"))
	got, err := seriestest.Read(reg)
	if err != nil {
		t.Fatal(err)
	}
	const prefix = "apiserver_authorization_config_controller_"
	const me = `apiserver_id_hash="sha256:2744ccd10c7533bd736ad890f9dd5cab2adb27b07d500b9493f29cdc420cb2e0"`
	maps.DeleteFunc(got, func(name string, value float64) bool {
		return strings.HasPrefix(name, prefix+"automatic_reload_last_timestamp_seconds") && value > 1e9
	})
	want := map[string]float64{
		prefix + "automatic_reloads_total{" + me + `,status="failure"}`:       1,
		prefix + "automatic_reloads_total{" + me + `,status="success"}`:       1,
		prefix + "last_config_info{" + me + `,hash="` + Hash("second") + `"}`: 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	(*Metrics)(nil).ForPlugin("a").Reloaded("", nil)
	(*Metrics)(nil).Applied("")
}

// TestForPlugin checks that the configurations of two plugins are counted apart.
func TestForPlugin(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m, err := New(reg, Options{Name: "manifest_admission", Subject: "admission manifest", Stability: "ALPHA", ByPlugin: true})
	if err != nil {
		t.Fatal(err)
	}
	a, b := m.ForPlugin("A"), m.ForPlugin("B")
	a.Reloaded("1", nil)
	b.Reloaded("1", nil)
	a.Reloaded("2", nil)
	got, err := seriestest.Read(reg)
	if err != nil {
		t.Fatal(err)
	}
	const prefix = "apiserver_manifest_admission_config_controller_"
	want := map[string]float64{
		prefix + `automatic_reloads_total{apiserver_id_hash="",plugin="A",status="success"}`: 2,
		prefix + `automatic_reloads_total{apiserver_id_hash="",plugin="B",status="success"}`: 1,
		prefix + `last_config_info{apiserver_id_hash="",hash="2",plugin="A"}`:                1,
		prefix + `last_config_info{apiserver_id_hash="",hash="1",plugin="B"}`:                1,
	}
	maps.DeleteFunc(got, func(name string, _ float64) bool { return strings.Contains(name, "timestamp") })
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
