package main

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/bench/process"
)

// The quantities of a sample. tolerance is the growth over the judged samples, relative to their
// mean, that is no growth.
//
// The file of etcd never shrinks, and is as large as what it once had to hold: it grows in steps,
// later and later, while its content does not grow. It is judged by its ratio to the largest content.
var quantities = []struct {
	name, metric string // metric is empty for what /metrics does not show
	scale        float64
	tolerance    float64
	of           int // the quantity whose maximum bounds this one, up to a factor of maxRatio; 0 for none
}{
	{name: "RSS MB", scale: 1 << 20, tolerance: 0.1},
	{name: "live MB", metric: "go_gc_heap_live_bytes", scale: 1 << 20, tolerance: 0.15},
	{name: "goroutines", metric: "go_goroutines", scale: 1, tolerance: 0.1},
	{name: "files", metric: "process_open_fds", scale: 1, tolerance: 0.1},
	{name: "etcd MB", metric: "etcd_mvcc_db_total_size_in_bytes", scale: 1 << 20, of: 5},
	{name: "used MB", metric: "etcd_mvcc_db_total_size_in_use_in_bytes", scale: 1 << 20, tolerance: 0.25},
	{name: "p99 ms", scale: 1, tolerance: 0.5},
}

// maxRatio is the ratio of the file of etcd to its largest content from which on its free space
// counts as lost. A compaction rewrites a part of the content before it frees the old one.
const maxRatio = 2

// sample is the value of each quantity at a time after the start.
type sample struct {
	at     time.Duration
	values []float64
}

// sampleUntil takes and prints samples until ctx is done.
func sampleUntil(ctx context.Context, c *client, server *process.Process, interval time.Duration) ([]sample, error) {
	fmt.Printf("%8s", "after")
	for _, q := range quantities {
		fmt.Printf("%12s", q.name)
	}
	fmt.Printf("%12s\n", "requests/s")
	start, tick := time.Now(), time.NewTicker(interval)
	defer tick.Stop()
	var samples []sample
	for {
		select {
		case <-ctx.Done():
			return samples, nil
		case <-tick.C:
		}
		s, err := takeSample(ctx, c, server)
		if ctx.Err() != nil {
			return samples, nil
		}
		if err != nil {
			return samples, err
		}
		s.at = time.Since(start).Round(time.Second)
		latencies := c.takeLatencies()
		slices.Sort(latencies)
		if n := len(latencies); n > 0 {
			s.values[len(s.values)-1] = float64(latencies[n*99/100].Microseconds()) / 1000
		}
		samples = append(samples, s)
		fmt.Printf("%8s", s.at)
		for _, v := range s.values {
			fmt.Printf("%12.1f", v)
		}
		fmt.Printf("%12.0f\n", float64(len(latencies))/interval.Seconds())
	}
}

// takeSample reads the metrics of the server and its resident memory.
func takeSample(ctx context.Context, c *client, server *process.Process) (sample, error) {
	body, err := c.open(ctx, http.MethodGet, "/metrics", "", nil)
	if err != nil {
		return sample{}, err
	}
	defer body.Close()
	shown := map[string]float64{}
	for in := bufio.NewScanner(body); in.Scan(); {
		name, value, _ := strings.Cut(in.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			shown[name] = v
		}
	}
	s := sample{values: make([]float64, len(quantities))}
	for i, q := range quantities {
		v, ok := shown[q.metric]
		if q.metric != "" && !ok {
			return s, fmt.Errorf("the server has no metric %s", q.metric)
		}
		s.values[i] = v / q.scale
	}
	rss, err := server.RSS()
	s.values[0] = float64(rss) / (1 << 20)
	return s, err
}

// trend is the line through the values of a quantity.
type trend struct {
	mean, perHour float64
	growth        float64 // over the time of the values, relative to the mean
	fit           float64 // the correlation of values and time
}

// trendOf returns the least-squares line of a quantity.
func trendOf(samples []sample, quantity int) trend {
	var t trend
	n := float64(len(samples))
	if n < 2 {
		return t
	}
	var meanX float64
	for _, s := range samples {
		meanX += s.at.Hours() / n
		t.mean += s.values[quantity] / n
	}
	var xx, xy, yy float64
	for _, s := range samples {
		x, y := s.at.Hours()-meanX, s.values[quantity]-t.mean
		xx, xy, yy = xx+x*x, xy+x*y, yy+y*y
	}
	if xx == 0 || t.mean == 0 {
		return t
	}
	t.perHour = xy / xx
	t.growth = t.perHour * (samples[len(samples)-1].at - samples[0].at).Hours() / t.mean
	if yy > 0 {
		t.fit = xy / math.Sqrt(xx*yy)
	}
	return t
}

// grew reports whether a trend is more than noise.
func (t trend) grew(tolerance float64) bool { return t.growth > tolerance && t.fit > 0.7 }

// hasGrown reports whether a quantity grew over the judged samples.
func hasGrown(judged []sample, quantity int) bool {
	q := quantities[quantity]
	if q.of > 0 {
		return maximum(judged, quantity) > maxRatio*maximum(judged, q.of)
	}
	return trendOf(judged, quantity).grew(q.tolerance)
}

// maximum returns the greatest value of a quantity.
func maximum(samples []sample, quantity int) float64 {
	var greatest float64
	for _, s := range samples {
		greatest = max(greatest, s.values[quantity])
	}
	return greatest
}

// printVerdict prints the trend of each quantity over the second half of the samples, since caches
// and pools fill in the first, and reports whether anything grew.
func printVerdict(samples []sample) (grown bool) {
	judged := samples[len(samples)/2:]
	const least = 8
	if len(judged) < least {
		fmt.Printf("\n%d samples are too few for a verdict, %d are needed\n", len(samples), 2*least)
		return false
	}
	fmt.Printf("\n%12s%12s%12s%12s%8s\n", "", "mean", "per hour", "growth", "fit")
	for i, q := range quantities {
		t := trendOf(judged, i)
		verdict := ""
		if hasGrown(judged, i) {
			verdict, grown = "  GREW", true
		}
		fmt.Printf("%12s%12.1f%12.2f%11.1f%%%8.2f%s\n", q.name, t.mean, t.perHour, 100*t.growth, t.fit, verdict)
	}
	return grown
}
