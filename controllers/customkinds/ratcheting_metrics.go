package customkinds

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// newComparisons registers kube-apiserver's metric of the comparison of custom objects with
// their previous state, and returns the function that records a duration; reg may be nil.
func newComparisons(reg prometheus.Registerer) (func(time.Duration), error) {
	var set metricset.Set
	seconds := set.NativeHistogram("apiextensions_apiserver_validation_ratcheting_seconds",
		"[ALPHA] Time for comparison of old to new for the purposes of CRDValidationRatcheting during an UPDATE in seconds.",
		prometheus.ExponentialBuckets(0.00001, 4, 10))
	return func(d time.Duration) { seconds.Observe(d.Seconds()) }, set.Register(reg)
}
