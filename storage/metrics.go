package storage

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
	"github.com/miniapiserver/miniapiserver/request"
)

// storeMetrics are the metrics of a Store, with kube-apiserver's names and labels. Sizes are
// read when the metrics are.
type storeMetrics struct {
	store *Store

	requests, requestErrors                    *prometheus.CounterVec   // of etcd, by operation
	requestDuration                            *prometheus.HistogramVec // of etcd, by operation
	eventsReceived, cacheReceived, dispatched  *prometheus.CounterVec
	bookmarks, initEvents, terminated, corrupt *prometheus.CounterVec
	formerBookmarks                            *prometheus.GaugeVec
	checks                                     *prometheus.CounterVec   // by status
	dispatches                                 *prometheus.HistogramVec // by stage
	initializations                            *prometheus.CounterVec
	initialization, readWait, listDuration     *prometheus.HistogramVec
	consistentReads                            *prometheus.CounterVec
	lists, listFetched                         *prometheus.CounterVec // by storage and index
	listEvaluated, listReturned                *prometheus.CounterVec // by storage
	cacheLists, cacheListFetched               *prometheus.CounterVec // by index
	cacheListReturned                          *prometheus.CounterVec
	vectors                                    metricset.Set // has the metrics above

	leaseKeys       prometheus.Histogram
	compaction      prometheus.Histogram // in milliseconds
	defragmentation prometheus.Histogram
	unlabelled      metricset.Set // has these three

	mu          sync.Mutex
	collections map[*Collection]struct{}
}

// Values of the label storage: where a list was read.
const (
	listedFromCache = "watchcache"
	listedFromEtcd  = "etcd"
)

// etcdBuckets are kube-apiserver's buckets for the duration of requests to etcd, in seconds.
var etcdBuckets = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}

// Descriptions of the metrics that are read from the store; they are immutable.
var (
	storeDescs metricset.Set

	objectsDesc = storeDescs.Desc("apiserver_resource_objects",
		"[ALPHA] Number of stored objects by resource.", "group", "resource")
	formerObjectsDesc = storeDescs.Desc("apiserver_storage_objects",
		"[STABLE] (Deprecated since 1.34.0) Number of stored objects by resource. "+
			"Its successor is apiserver_resource_objects.", "resource")
	objectBytesDesc = storeDescs.Desc("apiserver_resource_size_estimate_bytes",
		"[ALPHA] Size of the stored objects of a resource, in bytes.", "group", "resource")
	cacheRevisionDesc = storeDescs.Desc("apiserver_watch_cache_resource_version",
		"[ALPHA] The last 15 digits of the revision that the cache of a resource has reached.", "group", "resource")
	windowDesc = storeDescs.Desc("watch_cache_capacity",
		"[ALPHA] Number of recent changes of a resource from which watches can start.", "group", "resource")
	databaseDesc = storeDescs.Desc("apiserver_storage_size_bytes",
		"[STABLE] Size of the file of etcd's database, in bytes.", "storage_cluster_id")
	compactedDesc = storeDescs.Desc("etcd_debugging_mvcc_compact_revision",
		"[ALPHA] The newest known revision to which the history in etcd was compacted, "+
			"without those of --etcd-servers-overrides.")
	embeddedSizeDesc = storeDescs.Desc("etcd_mvcc_db_total_size_in_bytes",
		"[ALPHA] Size of the file of the embedded etcd's database, in bytes.")
	embeddedUsedDesc = storeDescs.Desc("etcd_mvcc_db_total_size_in_use_in_bytes",
		"[ALPHA] Part of the embedded etcd's database that is in use, in bytes. A defragmentation frees the rest.")
	quotaDesc = storeDescs.Desc("etcd_server_quota_backend_bytes",
		"[ALPHA] Size of the embedded etcd's database above which writes are refused, in bytes.")
)

func newStoreMetrics(s *Store) *storeMetrics {
	m := &storeMetrics{store: s, collections: map[*Collection]struct{}{}}
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		return m.vectors.CounterVec(name, help, append([]string{"group", "resource"}, more...)...)
	}
	distribution := func(name, help string, buckets []float64, more ...string) *prometheus.HistogramVec {
		return m.vectors.NativeHistogramVec(name, help, buckets, append([]string{"group", "resource"}, more...)...)
	}
	m.requests = counter("etcd_requests_total", "[ALPHA] Number of requests to etcd by operation and resource.", "operation")
	m.requestErrors = counter("etcd_request_errors_total",
		"[ALPHA] Number of failed requests to etcd by operation and resource.", "operation")
	m.requestDuration = distribution("etcd_request_duration_seconds",
		"[ALPHA] Duration of requests to etcd by operation and resource, in seconds.", etcdBuckets, "operation")
	m.eventsReceived = counter("apiserver_storage_events_received_total",
		"[BETA] Number of events received from etcd by resource.")
	m.cacheReceived = counter("apiserver_watch_cache_events_received_total",
		"[ALPHA] Number of events that the cache of a resource received.")
	m.dispatched = counter("apiserver_watch_cache_events_dispatched_total",
		"[ALPHA] Number of events that the cache of a resource passed on to watches.")
	m.bookmarks = counter("etcd_bookmark_total", "[ALPHA] Number of progress notifications of etcd by resource.")
	m.formerBookmarks = m.vectors.GaugeVec("etcd_bookmark_counts",
		"[ALPHA] (Deprecated since 1.36.0) Number of progress notifications of etcd by resource. Its "+
			"successor is etcd_bookmark_total.", "group", "resource")
	m.checks = counter("apiserver_storage_consistency_checks_total",
		"[ALPHA] Number of comparisons of the cache of a resource with etcd, by result.", "status")
	m.dispatches = m.vectors.HistogramVec("apiserver_watch_events_dispatch_duration_seconds",
		"[ALPHA] Time from the arrival of a change from etcd until a watch takes its event, by "+
			"resource, in seconds. The only stage is total.",
		[]float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}, "group", "resource", "stage")
	m.initEvents = counter("apiserver_init_events_total",
		"[ALPHA] Number of events that watches received as their initial state, by resource.")
	m.terminated = counter("apiserver_terminated_watchers_total",
		"[ALPHA] Number of watches that ended because their client was too slow, by resource.")
	m.corrupt = counter("apiserver_storage_decode_errors_total",
		"[ALPHA] Number of stored objects that could not be decoded, by resource.")
	m.initializations = counter("apiserver_watch_cache_initializations_total",
		"[ALPHA] Number of times that the cache of a resource was filled.")
	m.initialization = distribution("apiserver_watch_cache_initialization_duration_seconds",
		"[ALPHA] Time in which the cache of a resource was filled, in seconds.",
		[]float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600})
	m.readWait = distribution("apiserver_watch_cache_read_wait_seconds",
		"[ALPHA] Time that reads waited for the cache of a resource to become fresh, in seconds.",
		[]float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3})
	m.defineLists(counter)
	m.listDuration = distribution("apiserver_storage_list_duration_seconds",
		"[ALPHA] Duration of lists that were read from etcd, in seconds.", etcdBuckets, "streamed")
	m.leaseKeys = m.unlabelled.NativeHistogram("etcd_lease_object_counts",
		"[ALPHA] Number of objects of one lease of etcd.", []float64{10, 50, 100, 500, 1000, 2500, 5000})
	m.compaction = m.unlabelled.Histogram("etcd_debugging_mvcc_db_compaction_total_duration_milliseconds",
		"[ALPHA] Duration of the compactions of etcd that this server requested, in milliseconds.",
		prometheus.ExponentialBuckets(100, 2, 14))
	m.defragmentation = m.unlabelled.Histogram("etcd_disk_backend_defrag_duration_seconds",
		"[ALPHA] Duration of the defragmentations of the embedded etcd, in seconds.",
		prometheus.ExponentialBuckets(0.1, 2, 13))
	return m
}

// defineLists defines the metrics of lists by counter, which adds the labels of a collection.
func (m *storeMetrics) defineLists(counter func(name, help string, more ...string) *prometheus.CounterVec) {
	m.consistentReads = counter("apiserver_watch_cache_consistent_read_total",
		"[ALPHA] Number of consistent lists by whether the cache served them, and by whether etcd did instead.",
		"success", "fallback")
	m.lists = counter("apiserver_storage_list_total",
		"[ALPHA] Number of lists by resource, storage and index.", "storage", "index")
	m.listFetched = counter("apiserver_storage_list_fetched_objects_total",
		"[ALPHA] Number of objects read for lists by resource, storage and index.", "storage", "index")
	m.listEvaluated = counter("apiserver_storage_list_evaluated_objects_total",
		"[ALPHA] Number of objects that the selectors of lists were evaluated for, by resource and storage.", "storage")
	m.listReturned = counter("apiserver_storage_list_returned_objects_total",
		"[ALPHA] Number of objects returned by lists, by resource and storage.", "storage")
	m.cacheLists = counter("apiserver_cache_list_total",
		"[ALPHA] Number of lists that the cache served, by resource and index.", "index")
	m.cacheListFetched = counter("apiserver_cache_list_fetched_objects_total",
		"[ALPHA] Number of objects read from the cache for lists, by resource and index.", "index")
	m.cacheListReturned = counter("apiserver_cache_list_returned_objects_total",
		"[ALPHA] Number of objects returned by lists from the cache, by resource.")
}

// allMetrics are the metrics of several stores.
type allMetrics []*storeMetrics

// Metrics returns the metrics of stores and of their collections, each of which is in one store. They
// can be read at any time. Metrics without labels are those of all stores together; the stores
// after the first must not be connected yet.
func Metrics(stores ...*Store) prometheus.Collector {
	var all allMetrics
	for _, s := range stores {
		if all = append(all, s.metrics); len(all) == 1 { // it may be connecting already
			continue
		}
		s.metrics.leaseKeys, s.metrics.compaction, s.metrics.defragmentation = all[0].leaseKeys, all[0].compaction, all[0].defragmentation
		s.leases.keysOfLease = s.metrics.leaseKeys
	}
	return all
}

// Describe implements prometheus.Collector.
func (all allMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, set := range []*metricset.Set{&all[0].vectors, &all[0].unlabelled, &storeDescs} {
		set.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (all allMetrics) Collect(ch chan<- prometheus.Metric) {
	all[0].unlabelled.Collect(ch)
	ch <- prometheus.MustNewConstMetric(compactedDesc, prometheus.GaugeValue, float64(all[0].store.compacted.Load()))
	for i, m := range all {
		m.collect(ch, fmt.Sprintf("etcd-%d", i))
	}
}

// collect writes the metrics that differ between stores. id identifies the etcd.
func (m *storeMetrics) collect(ch chan<- prometheus.Metric, id string) {
	m.vectors.Collect(ch)
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	if size, ok := m.store.databaseSize(); ok {
		gauge(databaseDesc, float64(size), id)
		if embedded := m.store.embedded; embedded != nil {
			gauge(embeddedSizeDesc, float64(size))
			gauge(embeddedUsedDesc, float64(embedded.server.Backend().SizeInUse()))
			gauge(quotaDesc, float64(embedded.server.Cfg.QuotaBackendBytes))
		}
	}
	// kube-apiserver truncates revisions, because a float64 has no more digits.
	const digits = 1_000_000_000_000_000
	revision := float64(m.store.applied.rev.Load() % digits)
	for _, c := range m.all() {
		if !c.Loaded() {
			continue
		}
		l := c.metrics
		objects, bytes := c.Size()
		gauge(objectsDesc, float64(objects), l.group, l.resource)
		gauge(formerObjectsDesc, float64(objects), l.groupResource())
		gauge(objectBytesDesc, float64(bytes), l.group, l.resource)
		gauge(cacheRevisionDesc, revision, l.group, l.resource)
		c.mu.Lock()
		changes := len(c.window.changes)
		c.mu.Unlock()
		gauge(windowDesc, float64(changes), l.group, l.resource)
	}
}

// sizeTimeout is the maximum time that a remote etcd has to return its size.
const sizeTimeout = time.Second

// databaseSize returns the size of etcd's database. It returns false if that is unknown.
func (s *Store) databaseSize() (int64, bool) {
	if !s.isConnected() || s.ctx.Err() != nil {
		return 0, false
	}
	if s.embedded != nil {
		return s.embedded.server.Backend().Size(), true
	}
	ctx, cancel := context.WithTimeout(s.ctx, sizeTimeout)
	defer cancel()
	status, err := s.client.Status(ctx, s.client.Endpoints()[0])
	if err != nil {
		return 0, false
	}
	return status.DbSize, true
}

// all returns the collections whose metrics are shown.
func (m *storeMetrics) all() []*Collection {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*Collection, 0, len(m.collections))
	for c := range m.collections {
		out = append(out, c)
	}
	return out
}

// add shows the metrics of a collection.
func (m *storeMetrics) add(c *Collection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.collections[c] = struct{}{}
}

// remove removes the metrics of a collection, so that they do not grow with the number of
// kinds that came and went.
func (m *storeMetrics) remove(c *Collection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.collections, c)
	m.vectors.DeletePartialMatch(prometheus.Labels{"group": c.metrics.group, "resource": c.metrics.resource})
}

// operation is a kind of request to etcd.
type operation int

const (
	opGet operation = iota
	opList
	opCreate
	opUpdate
	opDelete
	operations
)

// String returns the name of the operation in metrics.
func (o operation) String() string {
	return [operations]string{opGet: "get", opList: "list", opCreate: "create", opUpdate: "update", opDelete: "delete"}[o]
}

// collectionMetrics are the metrics of one collection. Metrics that are used often are looked up
// once, at their first use: most collections of a server are never used.
type collectionMetrics struct {
	store           *storeMetrics
	group, resource string

	usedRequests [operations]atomic.Pointer[requestMetrics]
	usedEvents   atomic.Pointer[eventMetrics]
	usedReads    atomic.Pointer[readMetrics]
	usedDispatch atomic.Pointer[metricset.Observer]
	listsBy      sync.Map // storage, NUL, index -> *listMetrics
	// The first fill makes these. Store.applyMu guards them.
	fills    *metricset.Counter
	fillTime *metricset.Observer
}

// requestMetrics are the metrics of one operation in etcd.
type requestMetrics struct {
	total    *metricset.Counter
	duration *metricset.Observer
}

// eventMetrics are the metrics of the events of a collection.
type eventMetrics struct {
	received, cacheReceived, dispatched, initial *metricset.Counter
}

// readMetrics are the metrics of the reads of a collection from the cache.
type readMetrics struct {
	consistent *metricset.Counter
	wait       *metricset.Observer
	lists      *listMetrics
}

// listMetrics are the metrics of the lists of a collection from one storage by one index.
type listMetrics struct {
	total, fetched, evaluated, returned     *metricset.Counter
	cacheTotal, cacheFetched, cacheReturned *metricset.Counter // nil for lists from etcd
}

// counter returns the counter of a series of v.
func (m *storeMetrics) counter(v *prometheus.CounterVec, labels ...string) *metricset.Counter {
	return m.vectors.LaterCounter(func() prometheus.Counter { return v.WithLabelValues(labels...) })
}

// observer returns the observer of a series of v.
func (m *storeMetrics) observer(v *prometheus.HistogramVec, labels ...string) *metricset.Observer {
	return m.vectors.LaterObserver(func() prometheus.Observer { return v.WithLabelValues(labels...) })
}

// collection returns the metrics of a collection.
func (m *storeMetrics) collection(group, resource string) *collectionMetrics {
	return &collectionMetrics{store: m, group: group, resource: resource}
}

// atFirstUse returns what p points to, which the first call makes. If several calls are the first, one of them counts.
func atFirstUse[T any](p *atomic.Pointer[T], create func() *T) *T {
	if made := p.Load(); made != nil {
		return made
	}
	p.CompareAndSwap(nil, create())
	return p.Load()
}

func (c *collectionMetrics) requests(op operation) *requestMetrics {
	m := c.store
	return atFirstUse(&c.usedRequests[op], func() *requestMetrics {
		return &requestMetrics{
			total:    m.counter(m.requests, c.group, c.resource, op.String()),
			duration: m.observer(m.requestDuration, c.group, c.resource, op.String()),
		}
	})
}

func (c *collectionMetrics) events() *eventMetrics {
	m := c.store
	return atFirstUse(&c.usedEvents, func() *eventMetrics {
		return &eventMetrics{
			received:      m.counter(m.eventsReceived, c.group, c.resource),
			cacheReceived: m.counter(m.cacheReceived, c.group, c.resource),
			dispatched:    m.counter(m.dispatched, c.group, c.resource),
			initial:       m.counter(m.initEvents, c.group, c.resource),
		}
	})
}

// dispatch returns the observer of events to watches.
func (c *collectionMetrics) dispatch() *metricset.Observer {
	return atFirstUse(&c.usedDispatch, func() *metricset.Observer {
		return c.store.observer(c.store.dispatches, c.group, c.resource, "total")
	})
}

func (c *collectionMetrics) reads() *readMetrics {
	m := c.store
	return atFirstUse(&c.usedReads, func() *readMetrics {
		return &readMetrics{
			consistent: m.counter(m.consistentReads, c.group, c.resource, "true", "false"),
			wait:       m.observer(m.readWait, c.group, c.resource),
			lists:      c.lists(listedFromCache, ""),
		}
	})
}

// groupResource returns the name of the resource with its group.
func (c *collectionMetrics) groupResource() string {
	if c.group == "" {
		return c.resource
	}
	return c.resource + "." + c.group
}

// initialized counts that the cache was filled, which began at start. The caller holds Store.applyMu.
func (c *collectionMetrics) initialized(start time.Time) {
	if c.fills == nil {
		c.fills = c.store.counter(c.store.initializations, c.group, c.resource)
		c.fillTime = c.store.observer(c.store.initialization, c.group, c.resource)
	}
	c.fills.Inc()
	c.fillTime.Observe(time.Since(start).Seconds())
}

// checked counts a comparison of the cache with etcd.
func (c *collectionMetrics) checked(status string) {
	c.store.checks.WithLabelValues(c.group, c.resource, status).Inc()
}

// lists returns the metrics of lists.
func (c *collectionMetrics) lists(storage, index string) *listMetrics {
	key := storage + "\x00" + index
	if l, ok := c.listsBy.Load(key); ok {
		return l.(*listMetrics)
	}
	l, _ := c.listsBy.LoadOrStore(key, c.newLists(storage, index))
	return l.(*listMetrics)
}

func (c *collectionMetrics) newLists(storage, index string) *listMetrics {
	m := c.store
	l := &listMetrics{
		total:     m.counter(m.lists, c.group, c.resource, storage, index),
		fetched:   m.counter(m.listFetched, c.group, c.resource, storage, index),
		evaluated: m.counter(m.listEvaluated, c.group, c.resource, storage),
		returned:  m.counter(m.listReturned, c.group, c.resource, storage),
	}
	if storage == listedFromCache {
		l.cacheTotal = m.counter(m.cacheLists, c.group, c.resource, index)
		l.cacheFetched = m.counter(m.cacheListFetched, c.group, c.resource, index)
		l.cacheReturned = m.counter(m.cacheListReturned, c.group, c.resource)
	}
	return l
}

// count counts a list.
func (l *listMetrics) count(list *List, evaluated int) {
	fetched, returned := float64(list.examined), float64(len(list.Items))
	l.total.Inc()
	l.fetched.Add(fetched)
	l.evaluated.Add(float64(evaluated))
	l.returned.Add(returned)
	if l.cacheTotal != nil {
		l.cacheTotal.Inc()
		l.cacheFetched.Add(fetched)
		l.cacheReturned.Add(returned)
	}
}

// listed counts a list from the cache.
func (c *Collection) listed(l *List, o *ListOptions) {
	reads := c.metrics.reads()
	m := reads.lists
	if o.Field != "" && c.indexed(o.Field) {
		m = c.metrics.lists(listedFromCache, "f:"+o.Field)
	}
	evaluated := 0
	if o.Filter != nil || o.Field != "" {
		evaluated = l.examined
	}
	m.count(l, evaluated)
	if o.Match == Consistent {
		reads.consistent.Inc()
	}
}

// listedRemotely counts a list from etcd, which began at start.
func (c *Collection) listedRemotely(l *List, o *ListOptions, start time.Time) {
	m := c.metrics.lists(listedFromEtcd, "")
	m.count(l, l.examined)
	c.metrics.store.listDuration.WithLabelValues(c.metrics.group, c.metrics.resource, "false").Observe(time.Since(start).Seconds())
	if o.Match == Consistent {
		c.metrics.store.consistentReads.WithLabelValues(c.metrics.group, c.metrics.resource, "false", "true").Inc()
	}
}

// startSpan begins the span of requests to etcd, for a traced request.
func (c *Collection) startSpan(ctx context.Context, op operation, key string) (context.Context, *request.Span) {
	name := [operations]string{opGet: "Get etcd3", opList: "List(recursive=true) etcd3", opCreate: "Create etcd3",
		opUpdate: "GuaranteedUpdate etcd3", opDelete: "Delete etcd3"}[op]
	return request.StartSpan(ctx, name, attribute.String("audit-id", request.From(ctx).ID), attribute.String("key", key),
		attribute.String("group", c.metrics.group), attribute.String("resource", c.metrics.resource))
}

// observeEtcd counts a request to etcd that began at start, and adds its duration to the time
// that an audited request has waited for etcd.
func (c *Collection) observeEtcd(ctx context.Context, op operation, start time.Time, err error) {
	took := time.Since(start)
	r := c.metrics.requests(op)
	r.total.Inc()
	r.duration.Observe(took.Seconds())
	if err != nil {
		c.metrics.store.requestErrors.WithLabelValues(c.metrics.group, c.metrics.resource, op.String()).Inc()
	}
	if scope := request.From(ctx); scope.Audit != nil {
		scope.Durations.Add(request.PartEtcd, took)
	}
}
