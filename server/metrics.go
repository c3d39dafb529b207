package server

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/internal/metrics"
)

// newMetrics returns a registry with the metrics of the process, which servers in one process
// share, and those of the version.
func newMetrics(o *Options) (*metrics.Registry, error) {
	options, err := o.metricOptions()
	if err != nil {
		return nil, err
	}
	reg := metrics.New(options)
	for _, c := range append(processMetrics(), buildInfo(o.Version()), compatibilityInfo(o.Version())) {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return reg, nil
}

// processMetrics returns the metrics of the process, of which the first call makes the only ones: they take 80 KB.
var processMetrics = sync.OnceValue(func() []prometheus.Collector {
	return slices.Clip([]prometheus.Collector{
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	})
})

// buildInfo returns the metric with the version of this build in its labels.
func buildInfo(v version.Info) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "kubernetes_build_info",
		Help: "[BETA] Always 1. The labels are the version, commit and build of the server, and the platform that it runs on.",
		ConstLabels: prometheus.Labels{"major": v.Major, "minor": v.Minor, "git_version": v.GitVersion, "git_commit": v.GitCommit,
			"git_tree_state": v.GitTreeState, "build_date": v.BuildDate, "go_version": v.GoVersion, "compiler": v.Compiler, "platform": v.Platform},
	}, one)
}

// compatibilityInfo returns the metric whose labels are the versions that the server is
// compatible with.
func compatibilityInfo(v version.Info) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "version_info",
		Help: "[ALPHA] Always 1. The labels are the version of the component, the version that it emulates, and " +
			"the oldest version that it is compatible with.",
		ConstLabels: prometheus.Labels{"component": "kube", "binary": v.Major + "." + v.Minor,
			"emulation": v.EmulationMajor + "." + v.EmulationMinor, "min_compat": v.MinCompatibilityMajor + "." + v.MinCompatibilityMinor},
	}, one)
}

func one() float64 { return 1 }

func metricFlags(o *Options) []Flag {
	return []Flag{
		{Name: "disabled-metrics", Value: list(&o.Metrics.Disabled, nil, metricNames),
			Help: "Comma-separated list of metrics that /metrics does not show, for one that is incorrect or has too many series."},
		{Name: "show-hidden-metrics-for-version", Value: text(&o.Metrics.ShowHiddenForVersion, "", previousVersion),
			Help: "Previous minor version, for which the metrics are shown that are hidden since, because they are " +
				"deprecated. If empty, they are hidden."},
		{Name: "allow-metric-labels", Value: pairs("stringToString", &o.Metrics.AllowLabels, parseMetricLabels,
			metricLabels),
			Help: "Permitted values of a label of a metric, as in METRIC,LABEL='VALUE,VALUE'. All other values of " +
				"the label are shown as one, unexpected. May be given several times."},
		{Name: "allow-metric-labels-manifest", Value: text(&o.Metrics.AllowLabelsManifest, ""),
			Help: "YAML file containing a map from METRIC,LABEL to the permitted values, as in " +
				"--allow-metric-labels, which is preferred where both name a label."},
	}
}

var (
	metricName  = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	metricLabel = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*,[a-zA-Z_][a-zA-Z0-9_]*$`)
)

func metricNames(names []string) error {
	for _, name := range names {
		if !metricName.MatchString(name) {
			return fmt.Errorf("%q is not the name of a metric", name)
		}
	}
	return nil
}

// metricLabels checks the keys of a map, which have the form metric,label.
func metricLabels(labels map[string]string) error {
	for key := range labels {
		if !metricLabel.MatchString(key) {
			return fmt.Errorf("%q is not of the form metric,label", key)
		}
	}
	return nil
}

// previousVersion checks that a version is the minor version before this one.
func previousVersion(text string) error {
	previous := kubeversion.Binary()
	previous.Minor--
	if want := previous.String(); text != "" && text != want {
		return fmt.Errorf("%q must be omitted or have the value %q: only the previous minor version is allowed", text, want)
	}
	return nil
}

// parseMetricLabels parses metric,label=values. Several of them are separated by commas, and
// quoted then, because they contain commas themselves.
func parseMetricLabels(text string) (map[string]string, error) {
	parts := []string{strings.Trim(text, `"`)}
	if strings.Count(text, "=") != 1 {
		var err error
		if parts, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
	}
	out := map[string]string{}
	for _, part := range parts {
		key, values, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not of the form metric,label='value,value'", part)
		}
		out[key] = values
	}
	return out, nil
}

// metricLabelsManifest reads the file of --allow-metric-labels-manifest.
func (o *Options) metricLabelsManifest() (map[string]string, error) {
	if o.Metrics.AllowLabelsManifest == "" {
		return nil, nil
	}
	data, err := configfile.Read(o.Metrics.AllowLabelsManifest)
	if err != nil {
		return nil, err
	}
	labels, err := configfile.Decode[map[string]string](data)
	if err == nil {
		err = metricLabels(*labels)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Metrics.AllowLabelsManifest, err)
	}
	return *labels, nil
}

// metricOptions returns the options of the registry of metrics.
func (o *Options) metricOptions() (metrics.Options, error) {
	gates, err := o.gates()
	if err != nil {
		return metrics.Options{}, err
	}
	out := metrics.Options{
		Disabled:   slices.Clone(o.Metrics.Disabled),
		ShowHidden: o.Metrics.ShowHiddenForVersion != "",
		// Dashboards use this metric until its successor is stable.
		KeepDeprecated:   []string{"apiserver_storage_objects"},
		Allowed:          map[metrics.Label][]string{},
		NativeHistograms: gates.Enabled(features.NativeHistograms),
	}
	manifest, err := o.metricLabelsManifest()
	if err != nil {
		return out, fileError("allow-metric-labels-manifest", o.Metrics.AllowLabelsManifest, err)
	}
	for _, labels := range []map[string]string{manifest, o.Metrics.AllowLabels} {
		for key, values := range labels {
			metric, label, _ := strings.Cut(key, ",")
			out.Allowed[metrics.Label{Metric: metric, Name: label}] = strings.Split(values, ",")
		}
	}
	return out, nil
}
