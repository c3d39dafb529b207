// Package metrics is the registry of a server's metrics, with the rules of Kubernetes: the help
// of a metric begins with its stability, and may name the release that deprecated it. Operators
// can disable metrics, bound the values of labels, and show hidden metrics again.
//
// Packages define their metrics beside the code that these measure, and register them by
// prometheus.Registerer, which a Registry implements. A Registry applies the rules when it is
// read, so that counting costs nothing more.
package metrics

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// Options configures a Registry. The zero value shows all metrics that are not hidden.
type Options struct {
	// Disabled names the metrics that are not shown.
	Disabled []string
	// ShowHidden shows hidden metrics, which an earlier release deprecated.
	ShowHidden bool
	// Allowed has the permitted values of labels. All other values of these labels are
	// shown as one, Unexpected.
	Allowed map[Label][]string
	// KeepDeprecated names deprecated metrics that are shown nevertheless.
	KeepDeprecated []string
	// NativeHistograms shows the native buckets of histograms.
	NativeHistograms bool
}

// Label names a label of a metric.
type Label struct{ Metric, Name string }

// Unexpected replaces values of labels that are not permitted.
const Unexpected = "unexpected"

// Registry is a registry of metrics. It is safe for concurrent use.
type Registry struct {
	options Options
	metrics *prometheus.Registry

	registered       *prometheus.CounterVec
	disabled, hidden prometheus.Counter
	unexpected       prometheus.Counter

	undescribed *collectors

	mu      sync.Mutex // guards the fields below
	known   map[string]Description
	omitted map[string]bool     // metrics that are disabled or hidden
	bounded map[string]struct{} // series that unexpected has counted
	// baseline has the values of series at the last Reset.
	baseline map[string]*dto.Metric
}

// collectors are the registered collectors whose metrics have not been described. They are
// described when metrics are read, so that a start does not wait for it.
type collectors struct {
	mu   sync.Mutex
	list []func()
}

func (c *collectors) add(describe func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, describe)
}

// describe describes the metrics of all collectors.
func (c *collectors) describe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, describe := range c.list {
		describe()
	}
	c.list = nil
}

// New returns a Registry that only has metrics about metrics.
func New(o Options) *Registry {
	var set metricset.Set
	r := &Registry{options: o, metrics: prometheus.NewRegistry(), undescribed: &collectors{},
		known: map[string]Description{}, omitted: map[string]bool{}, bounded: map[string]struct{}{},
		registered: set.CounterVec("registered_metrics_total",
			"[BETA] Number of registered metrics by stability and by the release that deprecated them.",
			"stability_level", "deprecated_version"),
		disabled: set.Counter("disabled_metrics_total", "[BETA] Number of metrics that are disabled."),
		hidden: set.Counter("hidden_metrics_total",
			"[BETA] Number of metrics that are hidden because they are deprecated."),
		unexpected: set.Counter(unexpectedTotal, "[ALPHA] Number of series with a label whose value is not permitted."),
	}
	r.MustRegister(&set)
	return r
}

// Sibling returns an empty registry with the same options, for metrics that are served apart.
func (r *Registry) Sibling() *Registry {
	return &Registry{options: r.options, metrics: prometheus.NewRegistry(), undescribed: r.undescribed,
		known: map[string]Description{}, omitted: map[string]bool{}, bounded: map[string]struct{}{},
		registered: r.registered, disabled: r.disabled, hidden: r.hidden, unexpected: r.unexpected}
}

// Register implements prometheus.Registerer.
func (r *Registry) Register(c prometheus.Collector) error {
	if err := r.metrics.Register(c); err != nil {
		return err
	}
	r.undescribed.add(func() {
		for _, d := range descriptionsOf(c) {
			r.note(d)
		}
	})
	return nil
}

// MustRegister implements prometheus.Registerer.
func (r *Registry) MustRegister(collectors ...prometheus.Collector) {
	for _, c := range collectors {
		if err := r.Register(c); err != nil {
			panic(err)
		}
	}
}

// Unregister implements prometheus.Registerer.
func (r *Registry) Unregister(c prometheus.Collector) bool { return r.metrics.Unregister(c) }

// note counts a registered metric and decides whether it is shown.
func (r *Registry) note(d Description) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.known[d.Name]; known || d.Stability == "" {
		r.known[d.Name] = d
		r.omitted[d.Name] = r.omitted[d.Name] || slices.Contains(r.options.Disabled, d.Name)
		return
	}
	r.known[d.Name] = d
	switch {
	case slices.Contains(r.options.Disabled, d.Name):
		r.omitted[d.Name] = true
		r.disabled.Inc()
	case d.Deprecated != "" && !r.options.ShowHidden && !slices.Contains(r.options.KeepDeprecated, d.Name):
		r.omitted[d.Name] = true
		r.hidden.Inc()
	default:
		r.registered.WithLabelValues(d.Stability, d.Deprecated).Inc()
	}
}

// Gather implements prometheus.Gatherer.
func (r *Registry) Gather() ([]*dto.MetricFamily, error) {
	r.undescribed.describe()
	families, err := r.metrics.Gather()
	r.mu.Lock()
	defer r.mu.Unlock()
	families = slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return r.omitted[f.GetName()] })
	for _, f := range families {
		r.sinceReset(f)
		if !r.options.NativeHistograms {
			removeNative(f)
		}
	}
	families = slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return len(f.Metric) == 0 })
	for label := range r.options.Allowed {
		for _, f := range families {
			if f.GetName() == label.Metric {
				r.bound(f, label)
			}
		}
	}
	r.countBounded(families)
	return families, err
}

// Metrics returns the descriptions of all registered metrics, also of those without a series,
// by name.
func (r *Registry) Metrics() map[string]Description {
	r.undescribed.describe()
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.known)
}

// Description describes a metric.
type Description struct {
	Name      string
	Stability string // empty for the metrics of the process
	// Deprecated is the release that deprecated the metric; empty if none did.
	Deprecated string
	// Labels are the names of the labels, sorted and separated by commas.
	Labels string
	// resettable metrics are those of Kubernetes with variable labels.
	resettable bool
}

var (
	descriptionText = regexp.MustCompile(`^Desc\{fqName: ("[^"]*"), help: ("(?:[^"\\]|\\.)*"), unit: "[^"]*", constLabels: \{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}, variableLabels: \{([^}]*)\}`)
	helpMarks       = regexp.MustCompile(`^\[(STABLE|BETA|ALPHA|INTERNAL)\] (?:\(Deprecated since ([0-9.]+)\))?`)
)

// errDescription means that prometheus describes a metric in an unknown form.
var errDescription = errors.New("metrics: description of an unknown form")

// descriptionsOf returns the descriptions of the metrics of a collector.
func descriptionsOf(c prometheus.Collector) []Description {
	ch := make(chan *prometheus.Desc)
	go func() {
		_ = recovery.Call(nil, "describing metrics", func() {
			defer close(ch)
			c.Describe(ch)
		})
	}()
	var out []Description
	for d := range ch {
		if one, err := parse(d); err == nil {
			out = append(out, one)
		}
	}
	return out
}

// parse parses the text of a prometheus.Desc, which has no other way to its name and help.
func parse(d *prometheus.Desc) (Description, error) {
	parts := descriptionText.FindStringSubmatch(d.String())
	if parts == nil {
		return Description{}, errDescription
	}
	name, err := strconv.Unquote(parts[1])
	if err != nil {
		return Description{}, errors.Join(errDescription, err)
	}
	help, err := strconv.Unquote(parts[2])
	if err != nil {
		return Description{}, errors.Join(errDescription, err)
	}
	out := Description{Name: name, Labels: labelNames(parts[3], parts[4])}
	// The help of some histograms begins with a mark of an experimental type.
	if marks := helpMarks.FindStringSubmatch(strings.TrimPrefix(help, "EXPERIMENTAL: ")); marks != nil {
		out.Stability, out.Deprecated = marks[1], marks[2]
		out.resettable = parts[4] != ""
	}
	return out, nil
}

// labelNames returns the names of constant labels, given as name="value", and of variable ones.
func labelNames(constant, variable string) string {
	var names []string
	for _, match := range constantLabel.FindAllStringSubmatch(constant, -1) {
		names = append(names, match[1])
	}
	if variable != "" {
		names = append(names, strings.Split(variable, ",")...)
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

var constantLabel = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="(?:[^"\\]|\\.)*"`)
