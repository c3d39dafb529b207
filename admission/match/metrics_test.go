package match

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestEvaluationSeconds checks that match conditions and other expressions are observed as CEL
// evaluations.
func TestEvaluationSeconds(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := NewMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	m.conditions(Owner{"o", "webhook", "admit"}, "CREATE", time.Millisecond)
	m.Evaluated(time.Millisecond)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var count uint64
	for _, f := range families {
		if f.GetName() == "apiserver_cel_evaluation_duration_seconds" {
			count = f.GetMetric()[0].GetHistogram().GetSampleCount()
		}
	}
	if count != 2 {
		t.Errorf("%d evaluations, want 2", count)
	}
}
