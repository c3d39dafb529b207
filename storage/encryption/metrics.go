package encryption

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/status"
	"k8s.io/utils/lru"

	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// Directions of a transformation, as the metrics name them.
const (
	fromStorage = "from_storage"
	toStorage   = "to_storage"
)

// maxKeyIDs is the number of key ids in the metrics. The id that was used the longest time ago
// makes room for another.
const maxKeyIDs = 100

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
	file, err := configmetrics.New(reg, configmetrics.Options{Name: "encryption", ServerID: serverID, Stability: "ALPHA"})
	if err != nil {
		return nil, err
	}
	var set metricset.Set
	m := &Metrics{
		server:   configmetrics.Hash(serverID),
		arrivals: map[string]time.Time{},
		file:     file,
		operations: set.CounterVec("apiserver_storage_transformation_operations_total",
			"[ALPHA] Total number of transformations of stored values by resource, direction, prefix and status.",
			"resource", "transformation_type", "transformer_prefix", "status"),
		durations: set.HistogramVec("apiserver_storage_transformation_duration_seconds",
			"[ALPHA] Latencies in seconds of value transformation operations.",
			prometheus.ExponentialBuckets(5e-6, 2, 25), "transformation_type", "transformer_prefix"),
		cacheMisses: set.Counter("apiserver_storage_envelope_transformation_cache_misses_total",
			"[ALPHA] Total number of cache misses while accessing key decryption key(KEK)."),
		keysFailed: set.Counter("apiserver_storage_data_key_generation_failures_total",
			"[ALPHA] Total number of failed data encryption key(DEK) generation operations."),
		keysGenerated: set.Histogram("apiserver_storage_data_key_generation_duration_seconds",
			"[ALPHA] Latencies in seconds of data encryption key(DEK) generation operations.",
			prometheus.ExponentialBuckets(5e-6, 2, 14)),
		dekFill: set.Gauge("apiserver_envelope_encryption_dek_cache_fill_percent",
			"[ALPHA] Percent of the cache slots currently occupied by cached DEKs."),
		dekArrivals: set.HistogramVec("apiserver_envelope_encryption_dek_cache_inter_arrival_time_seconds",
			"[ALPHA] Time (in seconds) of inter arrival of transformation requests.",
			prometheus.ExponentialBuckets(60, 2, 10), "transformation_type"),
		calls: set.HistogramVec("apiserver_envelope_encryption_kms_operations_latency_seconds",
			"[ALPHA] KMS operation duration with gRPC error code status total.",
			prometheus.ExponentialBuckets(0.0001, 2, 20), "provider_name", "method_name", "grpc_status_code"),
		keyIDs: set.CounterVec("apiserver_envelope_encryption_key_id_hash_total",
			"[ALPHA] Number of times a keyID is used split by transformation type, provider, and apiserver identity.",
			"transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
		invalidKeyIDs: set.CounterVec("apiserver_envelope_encryption_invalid_key_id_from_status_total",
			"[ALPHA] Number of times an invalid keyID is returned by the Status RPC call split by error.",
			"provider_name", "error"),
		keyIDTimes: set.GaugeVec("apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds",
			"[ALPHA] The last time in seconds when a keyID was used.",
			"transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
		statusTimes: set.GaugeVec("apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds",
			"[ALPHA] The last time in seconds when a keyID was returned by the Status RPC call.",
			"provider_name", "key_id_hash", "apiserver_id_hash"),
		cacheSize: set.GaugeVec("apiserver_envelope_encryption_dek_source_cache_size",
			"[ALPHA] Number of records in data encryption key (DEK) source cache. "+
				"After a restart it is about the number of decrypt calls to the KMS plugin.", "provider_name"),
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
	return m, set.Register(reg)
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
