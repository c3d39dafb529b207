// Package kubemetrics lists the metrics of kube-apiserver, and the reason for each metric that this server
// does not have. The command metricdocs writes docs/metrics.md from it, and a test of package
// server compares it with a running server.
package kubemetrics

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:generate go run ../metricdocs

var (
	//go:embed metrics-kube.txt
	known string
	//go:embed metrics-missing.txt
	missing string
)

// Metric describes a metric of kube-apiserver.
type Metric struct {
	Name, Type, Stability string
	// Labels are sorted and separated by commas.
	Labels string
	// Missing is the reason why this server does not have the metric; empty if it does.
	Missing string
}

// Metrics returns the metrics of kube-apiserver, by name, except those of the Go runtime.
func Metrics() ([]Metric, error) {
	reasons, err := missingReasons()
	if err != nil {
		return nil, err
	}
	var all []Metric
	for _, line := range dataLines(known) {
		m := Metric{}
		if n, err := fmt.Sscan(line, &m.Name, &m.Type, &m.Stability, &m.Labels); n != 4 || err != nil {
			return nil, fmt.Errorf("metrics-kube.txt: malformed line %q", line)
		}
		m.Labels = strings.TrimPrefix(m.Labels, "-")
		m.Missing = reasons[m.Name]
		delete(reasons, m.Name)
		all = append(all, m)
	}
	for name := range reasons {
		return nil, fmt.Errorf("metrics-missing.txt: kube-apiserver has no metric %s", name)
	}
	return all, nil
}

// missingReasons returns why metrics are missing: a line that ends in a colon is the reason of
// the names in the lines after it.
func missingReasons() (map[string]string, error) {
	reasons, reason := map[string]string{}, ""
	for _, line := range dataLines(missing) {
		if text, ok := strings.CutSuffix(line, ":"); ok {
			reason = text
			continue
		}
		if reason == "" {
			return nil, fmt.Errorf("metrics-missing.txt: %q has no reason", line)
		}
		reasons[line] = reason
	}
	return reasons, nil
}

// dataLines returns the lines of a text that are neither empty nor comments.
func dataLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}
