package server

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/api/gated"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// gates returns the feature gates that --feature-gates chooses.
func (o Options) gates() (features.Gates, error) {
	release, err := o.release()
	if err != nil {
		return nil, err
	}
	gates, err := features.Emulated(release, o.FeatureGates)
	if err != nil {
		return nil, fmt.Errorf("--feature-gates: %w", err)
	}
	return gates, nil
}

// readGates reads the feature gates, reports them as metrics, and logs changed gates that
// have no effect.
func readGates(o *Options, logger *slog.Logger, metrics prometheus.Registerer) (features.Gates, error) {
	gates, err := o.gates()
	if err != nil {
		return nil, err
	}
	release, err := o.release()
	if err != nil {
		return nil, err
	}
	idle := gates.WithoutEffect(release)
	if len(idle) > 0 {
		guards, err := gated.Gates()
		if err != nil {
			return nil, err
		}
		idle = slices.DeleteFunc(idle, func(name string) bool { return slices.Contains(guards, name) })
	}
	if len(idle) > 0 {
		logger.Warn("changed feature gates have no effect on this server", "gates", strings.Join(idle, ","))
	}
	if err := metrics.Register(gateMetrics{features.Known(release), gates}); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return gates, nil
}

// gateMetrics are the metrics of the feature gates. They are made when they are read, since a server has
// some hundred gates, which never change.
type gateMetrics struct {
	known map[string]features.Gate
	gates features.Gates
}

var gateEnabled = prometheus.NewDesc("kubernetes_feature_enabled",
	"[BETA] This metric records the data about the stage and enablement of a k8s feature.", []string{"name", "stage"}, nil)

// Describe implements prometheus.Collector.
func (gateMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- gateEnabled }

// Collect implements prometheus.Collector.
func (m gateMetrics) Collect(ch chan<- prometheus.Metric) {
	for name, gate := range m.known {
		if gate.Stage == "" {
			continue
		}
		value := 0.0
		if m.gates.Enabled(name) {
			value = 1
		}
		ch <- prometheus.MustNewConstMetric(gateEnabled, prometheus.GaugeValue, value, name, stageLabel(gate.Stage))
	}
}

// stageLabel returns the value of the label stage in kube-apiserver's metric, which is
// empty for stable features.
func stageLabel(stage string) string {
	if stage == "ga" {
		return ""
	}
	return strings.ToUpper(stage)
}
