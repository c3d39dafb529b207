package encryption

import (
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/status"
	"k8s.io/utils/lru"

	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
)

// Directions of a transformation, as the metrics name them.
const (
	fromStorage = "from_storage"
	toStorage   = "to_storage"
)

// maxKeyIDs is the number of key ids in the metrics. The id that was used the longest time ago
// makes room for another.
const maxKeyIDs = 100

// alpha is the stability of all these metrics, with which their help begins.
const alpha = "[ALPHA] "

// Metrics are kube-apiserver's metrics of encryption. A nil *Metrics counts nothing.
type Metrics struct {
	server string // hash of the server's id
	file   *configmetrics.Metrics

	operations                         *prometheus.CounterVec
	durations                          *prometheus.HistogramVec
	cacheMisses, keysFailed            prometheus.Counter
	keysGenerated                      prometheus.Histogram
	dekFill                            prometheus.Gauge
	dekArrivals, calls                 *prometheus.HistogramVec
	keyIDs, invalidKeyIDs              *prometheus.CounterVec
	keyIDTimes, statusTimes, cacheSize *prometheus.GaugeVec

	mu                       sync.Mutex // guards the fields below, and that their metrics agree with them
	usedKeyIDs, statusKeyIDs *lru.Cache
	arrivals                 map[string]time.Time // last uses of a KMS v1 provider, by direction
}

// NewMetrics registers the metrics. serverID identifies the server in them, as a hash.
func NewMetrics(reg prometheus.Registerer, serverID string) (*Metrics, error) {
	const storage, envelope = "apiserver_storage_", "apiserver_envelope_encryption_"
	file, err := configmetrics.New(reg, configmetrics.Options{Name: "encryption", ServerID: serverID, Stability: "ALPHA"})
	if err != nil {
		return nil, err
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: alpha + help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: alpha + help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: alpha + help, Buckets: buckets}, labels)
	}
	m := &Metrics{
		server:   configmetrics.Hash(serverID),
		arrivals: map[string]time.Time{},
		file:     file,
		operations: counter(storage+"transformation_operations_total",
			"Total number of transformations of stored values by resource, direction, prefix and status.",
			"resource", "transformation_type", "transformer_prefix", "status"),
		durations: histogram(storage+"transformation_duration_seconds", "Latencies in seconds of value transformation operations.",
			prometheus.ExponentialBuckets(5e-6, 2, 25), "transformation_type", "transformer_prefix"),
		cacheMisses: prometheus.NewCounter(prometheus.CounterOpts{Name: storage + "envelope_transformation_cache_misses_total",
			Help: alpha + "Total number of cache misses while accessing key decryption key(KEK)."}),
		keysFailed: prometheus.NewCounter(prometheus.CounterOpts{Name: storage + "data_key_generation_failures_total",
			Help: alpha + "Total number of failed data encryption key(DEK) generation operations."}),
		keysGenerated: prometheus.NewHistogram(prometheus.HistogramOpts{Name: storage + "data_key_generation_duration_seconds",
			Help: alpha + "Latencies in seconds of data encryption key(DEK) generation operations.", Buckets: prometheus.ExponentialBuckets(5e-6,
				2, 14)}),
		dekFill: prometheus.NewGauge(prometheus.GaugeOpts{Name: envelope + "dek_cache_fill_percent",
			Help: alpha + "Percent of the cache slots currently occupied by cached DEKs."}),
		dekArrivals: histogram(envelope+"dek_cache_inter_arrival_time_seconds", "Time (in seconds) of inter arrival of transformation requests.",
			prometheus.ExponentialBuckets(60, 2, 10), "transformation_type"),
		calls: histogram(envelope+"kms_operations_latency_seconds", "KMS operation duration with gRPC error code status total.",
			prometheus.ExponentialBuckets(0.0001, 2, 20), "provider_name", "method_name", "grpc_status_code"),
		keyIDs: counter(envelope+"key_id_hash_total",
			"Number of times a keyID is used split by transformation type, provider, and apiserver identity.",
			"transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
		invalidKeyIDs: counter(envelope+"invalid_key_id_from_status_total",
			"Number of times an invalid keyID is returned by the Status RPC call split by error.",
			"provider_name", "error"),
		keyIDTimes: gauge(envelope+"key_id_hash_last_timestamp_seconds", "The last time in seconds when a keyID was used.",
			"transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
		statusTimes: gauge(envelope+"key_id_hash_status_last_timestamp_seconds",
			"The last time in seconds when a keyID was returned by the Status RPC call.",
			"provider_name", "key_id_hash", "apiserver_id_hash"),
		cacheSize: gauge(envelope+"dek_source_cache_size",
			"Number of records in data encryption key (DEK) source cache. After a restart it is about the number of decrypt calls to the KMS plugin.",
			"provider_name"),
	}
	m.usedKeyIDs = lru.NewWithEvictionFunc(maxKeyIDs, func(key lru.Key, _ any) {
		labels := key.(keyIDLabels)
		m.keyIDs.DeleteLabelValues(labels.direction, labels.provider, labels.hash, m.server)
		m.keyIDTimes.DeleteLabelValues(labels.direction, labels.provider, labels.hash, m.server)
	})
	m.statusKeyIDs = lru.NewWithEvictionFunc(maxKeyIDs, func(key lru.Key, _ any) {
		labels := key.(keyIDLabels)
		m.statusTimes.DeleteLabelValues(labels.provider, labels.hash, m.server)
	})
	for _, c := range []prometheus.Collector{m.operations, m.durations, m.cacheMisses, m.keysFailed, m.keysGenerated, m.dekFill, m.dekArrivals,
		m.calls, m.keyIDs, m.invalidKeyIDs, m.keyIDTimes, m.statusTimes, m.cacheSize} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// keyIDLabels are the labels of a key id in the metrics.
type keyIDLabels struct{ direction, provider, hash string }

// statusCode returns the gRPC code of an error as metrics name it.
func statusCode(err error) string {
	if s, ok := status.FromError(err); ok {
		return s.Code().String()
	}
	return "unknown-non-grpc"
}

// transformed counts a transformation.
func (m *Metrics) transformed(resource, direction, prefix string, start time.Time, err error) {
	if m == nil {
		return
	}
	m.operations.WithLabelValues(resource, direction, prefix, statusCode(err)).Inc()
	if err == nil {
		m.durations.WithLabelValues(direction, prefix).Observe(time.Since(start).Seconds())
	}
}

// called observes a call of a KMS plugin.
func (m *Metrics) called(provider, method string, start time.Time, err error) {
	if m != nil {
		m.calls.WithLabelValues(provider, method, statusCode(err)).Observe(time.Since(start).Seconds())
	}
}

// cacheMissed counts a data key that a KMS plugin has to decrypt.
func (m *Metrics) cacheMissed() {
	if m != nil {
		m.cacheMisses.Inc()
	}
}

// cacheFilled sets the part of the cache of a KMS v1 provider that is in use.
func (m *Metrics) cacheFilled(part float64) {
	if m != nil {
		m.dekFill.Set(part)
	}
}

// keyArrived observes the time between two uses of a KMS v1 provider in one direction.
func (m *Metrics) keyArrived(direction string, now time.Time) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if last, ok := m.arrivals[direction]; ok {
		m.dekArrivals.WithLabelValues(direction).Observe(now.Sub(last).Seconds())
	}
	m.arrivals[direction] = now
}

// cacheSized sets the number of data keys in the cache of a provider.
func (m *Metrics) cacheSized(provider string, n int) {
	if m != nil {
		m.cacheSize.WithLabelValues(provider).Set(float64(n))
	}
}

// keyGenerated observes the generation of a data key.
func (m *Metrics) keyGenerated(start time.Time) {
	if m != nil {
		m.keysGenerated.Observe(time.Since(start).Seconds())
	}
}

// keyIDUsed counts a transformation with a key id.
func (m *Metrics) keyIDUsed(direction, provider, hash string, now time.Time) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usedKeyIDs.Add(keyIDLabels{direction, provider, hash}, nil)
	m.keyIDs.WithLabelValues(direction, provider, hash, m.server).Inc()
	m.keyIDTimes.WithLabelValues(direction, provider, hash, m.server).Set(seconds(now))
}

// keyIDFromStatus records that a plugin returned a key id as its current one.
func (m *Metrics) keyIDFromStatus(provider, hash string, now time.Time) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.statusKeyIDs.Add(keyIDLabels{"", provider, hash}, nil)
	m.statusTimes.WithLabelValues(provider, hash, m.server).Set(seconds(now))
}

// invalidKeyID counts an invalid key id that a plugin returned.
func (m *Metrics) invalidKeyID(provider, fault string) {
	if m != nil {
		m.invalidKeyIDs.WithLabelValues(provider, fault).Inc()
	}
}

// configuration returns the metrics of the file, which may be nil.
func (m *Metrics) configuration() *configmetrics.Metrics {
	if m == nil {
		return nil
	}
	return m.file
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
