// Package seriestest reads the metrics of a registry in the tests of the packages that define them.
package seriestest

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Read returns the values of all series, by name and labels as /metrics shows them. The value of
// a histogram is the number of its observations.
func Read(from prometheus.Gatherer) (map[string]float64, error) {
	families, err := from.Gather()
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			name := f.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			out[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out, nil
}
