package customkinds

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/histogram"
)

// newComparisons registers kube-apiserver's metric of the comparison of custom objects with
// their previous state, and returns the function that records a duration; reg may be nil.
func newComparisons(reg prometheus.Registerer) (func(time.Duration), error) {
	seconds := histogram.New(prometheus.HistogramOpts{Name: "apiextensions_apiserver_validation_ratcheting_seconds",
		Help:    "[ALPHA] Time for comparison of old to new for the purposes of CRDValidationRatcheting during an UPDATE in seconds.",
		Buckets: prometheus.ExponentialBuckets(0.00001, 4, 10)})
	if reg != nil {
		if err := reg.Register(seconds); err != nil {
			return nil, fmt.Errorf("register the metric of ratcheting: %w", err)
		}
	}
	return func(d time.Duration) { seconds.Observe(d.Seconds()) }, nil
}
