package server

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// TestFeatureGatesReported checks that metrics report every gate, and that the log names
// changed gates without effect.
func TestFeatureGatesReported(t *testing.T) {
	var log bytes.Buffer
	s := run(t, Options{
		FeatureGates: map[string]bool{"GenericWorkload": true, "SchedulerAsyncAPICalls": true, "OpenAPIEnums": false, "AllAlpha": false},
		Logger:       slog.New(slog.NewTextHandler(&log, nil)),
	})
	_, metrics := send(t, raw(t, s), s, http.MethodGet, "/metrics", "", "")
	for _, want := range []string{
		`kubernetes_feature_enabled{name="AllAlpha",stage="ALPHA"} 0`,
		`kubernetes_feature_enabled{name="SchedulerAsyncAPICalls",stage="BETA"} 1`,
		`kubernetes_feature_enabled{name="GenericWorkload",stage="BETA"} 1`,
		`kubernetes_feature_enabled{name="MutatingAdmissionPolicy",stage=""} 1`,
		`kubernetes_feature_enabled{name="KMSv1",stage="DEPRECATED"} 0`,
		`kubernetes_feature_enabled{name="OpenAPIEnums",stage="BETA"} 0`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no metric %s", want)
		}
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := `msg="changed feature gates have no effect on this server" gates=OpenAPIEnums,SchedulerAsyncAPICalls`; !strings.Contains(log.String(), want) {
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
