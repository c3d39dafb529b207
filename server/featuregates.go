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
	enabled := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubernetes_feature_enabled",
		Help: "[BETA] This metric records the data about the stage and enablement of a k8s feature.",
	}, []string{"name", "stage"})
	for name, gate := range features.Known(release) {
		if gate.Stage == "" {
			continue
		}
		value := 0.0
		if gates.Enabled(name) {
			value = 1
		}
		enabled.WithLabelValues(name, stageLabel(gate.Stage)).Set(value)
	}
	if err := metrics.Register(enabled); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return gates, nil
}

// stageLabel returns the value of the label stage in kube-apiserver's metric, which is
// empty for stable features.
func stageLabel(stage string) string {
	if stage == "ga" {
		return ""
	}
	return strings.ToUpper(stage)
}
