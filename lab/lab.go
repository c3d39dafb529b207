package lab

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/clock"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Config configures a Lab. The zero value works.
type Config struct {
	// Memory is the maximum memory of the lab in bytes; 0 means DefaultMemory.
	Memory int64
	// Logger is the log; nil discards it.
	Logger *slog.Logger
	// Clock is the clock of the server, which the kind Clock moves; nil means that there is no such kind.
	Clock *clock.Clock
	// Now is the real time; nil means time.Now.
	Now func() time.Time
}

// DefaultMemory is the memory of a lab whose Config says nothing else, in bytes.
const DefaultMemory = 64 << 20

// Connections are the parts of the server that a Lab asks when its objects are read and made. Lab.Connect sets them.
type Connections struct {
	// Registry serves the resources of the lab, and has the history of all others.
	Registry *registry.Registry
	// Save writes a state as an etcd snapshot; nil means that the server cannot.
	Save func(ctx context.Context, m Mark, w io.Writer) error
	// Settle returns when the server has followed a rewind that changed objects; nil returns at once.
	Settle func(ctx context.Context, objects []registry.Rewound)
	// Find returns a resource of the API, and whether objects of it may contain secrets, which the lab does not keep.
	Find func(schema.GroupVersionResource) (res *api.Resource, ok bool)
	// MayRead reports whether the user of ctx may get an object.
	MayRead func(ctx context.Context, group, resource, namespace, name string) bool
	// MayReadPath reports whether the user of ctx may get a path that is that of no resource.
	MayReadPath func(ctx context.Context, path string) bool
	// Transcode returns how the bodies of requests for a resource become JSON; nil for a resource that the server does not have.
	Transcode func(*api.Resource) Transcoder
	// Nearest returns the rules of a user that nearly allow a request.
	Nearest func(user *request.User, info *request.Info) []v1alpha1.NearRule
	// Allowing returns the rule that allows a request of a user; empty if there is none.
	Allowing func(user *request.User, info *request.Info) string
	// Between returns the changes of an object after a resourceVersion, the newest first.
	Between func(ctx context.Context, ref ObjectRef, after int64) []v1alpha1.Change
}

// Transcoder converts bodies to JSON.
type Transcoder interface {
	// JSON returns a body of a media type as JSON. It reports false if the media type is none of objects.
	JSON(mediaType string, data []byte) (out []byte, ok bool, err error)
	// Event returns the first event of a stream in a media type as JSON, and what follows it.
	Event(mediaType string, data []byte) (event, rest []byte, err error)
}

// Shares of the memory of a lab.
const (
	shareOfKept    = 0.5  // the requests with their states
	shareOfRunning = 0.15 // the requests that have not ended
	shareOfWindow  = 0.1  // the events from which watches of requests start
	shareOfPending = 0.15 // the requests that wait to be kept
)

// Lab keeps the requests of a server. It is safe for concurrent use.
type Lab struct {
	config                                          Config
	store                                           *storage.Store
	requests, changes, checkpoints, rewinds, faults *api.Resource
	clocks                                          *api.Resource // nil without a clock
	moving                                          sync.Mutex    // held while the clock is moved as the Clock says
	connections                                     Connections
	marks                                           marks
	armed                                           faults
	recorded                                        *api.Resource
	recordings                                      recordings
	ctx                                             atomic.Pointer[context.Context] // of Run

	wake chan struct{} // holds one signal: there are pending records

	pendingMu    sync.Mutex
	pending      []*record
	pendingBytes int64
	heavy        []*record // those of pending that have more states than maxStates, the oldest first
	dropped      int64     // records that were dropped because too many waited

	// The fields below are guarded by mu. The goroutine of Run writes them, reads of objects read them.
	mu           sync.Mutex
	kept         map[string]*keptRequest // by name
	order        []*keptRequest          // those that have ended, the oldest first
	keptBytes    int64
	running      map[string]*keptRequest
	runningBytes int64
	writes       writeIndex
	buffer       []byte // in which objects are encoded
}

// New returns a Lab, whose resources the catalogue of a server gets, and whose Store the registry uses for Requests. It keeps
// nothing until Run is called.
func New(c Config) *Lab {
	if c.Memory == 0 {
		c.Memory = DefaultMemory
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	l := &Lab{
		config: c, requests: newRequests(), changes: newChanges(), wake: make(chan struct{}, 1),
		kept: map[string]*keptRequest{}, running: map[string]*keptRequest{}, writes: writeIndex{},
	}
	l.requests.Detail, l.checkpoints, l.rewinds = l.detail, l.newCheckpoints(), newRewinds()
	if c.Clock != nil {
		l.clocks = l.newClocks()
	}
	l.marks.byUID, l.faults = map[types.UID]*mark{}, newFaults()
	l.faults.Detail = l.countsOf
	l.recorded = l.newRecordings()
	l.store = storage.NewLocal(storage.Options{WindowBytes: l.share(shareOfWindow), Logger: c.Logger, Now: c.Now})
	return l
}

func (l *Lab) share(part float64) int64 { return int64(float64(l.config.Memory) * part) }

// Resources returns the resources of the lab.
func (l *Lab) Resources() []*api.Resource {
	all := []*api.Resource{l.requests, l.changes, l.checkpoints, l.rewinds, l.faults, l.recorded}
	if l.clocks != nil {
		all = append(all, l.clocks)
	}
	return all
}

// Stores returns the store of the resources whose objects the lab keeps.
func (l *Lab) Stores() map[schema.GroupResource]*storage.Store {
	stores := map[schema.GroupResource]*storage.Store{}
	for _, res := range []*api.Resource{l.requests, l.checkpoints, l.faults, l.recorded} {
		stores[res.GroupResource()] = l.store
	}
	if l.clocks != nil {
		stores[l.clocks.GroupResource()] = l.store
	}
	return stores
}

// Connect connects the lab with the other parts of the server. It must be called before Run.
func (l *Lab) Connect(c Connections) error {
	l.connections = c
	if l.clocks == nil {
		return nil
	}
	return l.createClock()
}

// Close closes the store.
func (l *Lab) Close() error { return l.store.Close() }

const (
	// batchEvery is the time for which records are collected before they are kept.
	batchEvery = 10 * time.Millisecond
	// refreshEvery is the interval at which the objects of running watches are brought up to date.
	refreshEvery = 5 * time.Second
)

// Run keeps the records that arrive until ctx is done.
func (l *Lab) Run(ctx context.Context) {
	l.ctx.Store(&ctx)
	defer l.followFaults(ctx).Wait()
	recovery.RestartOnPanic(ctx, l.config.Logger, "keeping requests", func() { l.run(ctx) })
}

// lifetime returns the context of Run.
func (l *Lab) lifetime() context.Context {
	if ctx := l.ctx.Load(); ctx != nil {
		return *ctx
	}
	return context.Background()
}

func (l *Lab) run(ctx context.Context) {
	refresh, second := time.NewTicker(refreshEvery), time.NewTicker(markEvery)
	defer refresh.Stop()
	defer second.Stop()
	batch := time.NewTimer(batchEvery)
	defer batch.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-refresh.C:
			l.refresh()
			l.dropMarks(ctx)
		case <-second.C:
			l.noteTime(ctx)
			l.writeFaultCounts()
			l.refreshRecordings()
		case <-l.wake:
			batch.Reset(batchEvery)
			select {
			case <-batch.C:
			case <-ctx.Done():
			}
			l.keep(l.take())
		}
	}
}

// pendingLimit returns the memory of the queued records. The newest large one counts extra, so that a single large object can be
// explained whatever the share is.
func (l *Lab) pendingLimit() int64 {
	limit := l.share(shareOfPending)
	if n := len(l.heavy); n > 0 {
		limit += l.heavy[n-1].bytes
	}
	return limit
}

// add queues a record. If too many wait, it drops the states of large records, and then the oldest records.
func (l *Lab) add(r *record) {
	l.pendingMu.Lock()
	l.pending = append(l.pending, r)
	l.pendingBytes += r.bytes
	if r.bytes > maxStates {
		l.heavy = append(l.heavy, r)
	}
	for len(l.pending) > 1 && l.pendingBytes > l.pendingLimit() {
		if len(l.heavy) > 1 {
			l.pendingBytes -= l.heavy[0].lighten()
			l.heavy = l.heavy[1:]
			continue
		}
		if len(l.heavy) == 1 && l.heavy[0] == l.pending[0] {
			l.heavy = nil
		}
		l.pendingBytes -= l.pending[0].bytes
		l.pending[0] = nil
		l.pending = l.pending[1:]
		l.dropped++
	}
	l.pendingMu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take returns the queued records.
func (l *Lab) take() []*record {
	l.pendingMu.Lock()
	defer l.pendingMu.Unlock()
	batch := l.pending
	l.pending, l.pendingBytes, l.heavy = nil, 0, nil
	return batch
}

// Dropped returns the number of requests that were not kept because too many arrived at once.
func (l *Lab) Dropped() int64 {
	l.pendingMu.Lock()
	defer l.pendingMu.Unlock()
	return l.dropped
}

// keptRequest is a request that the lab keeps, beside its object.
type keptRequest struct {
	name  string
	bytes int64
	// states, with which detail is made; nil if there are none.
	detail *details
	// of a running watch
	record *record
	counts request.WatchCounts
	object ObjectRef // that the request wrote; the zero value if none
	rev    int64     // that it made
}

// keep makes objects of records and writes them to the store.
func (l *Lab) keep(batch []*record) {
	changes := make([]storage.LocalChange, 0, 2*len(batch))
	l.mu.Lock()
	for _, r := range batch {
		change, ok := l.keepOne(r)
		if ok {
			changes = append(changes, change)
		}
	}
	changes = l.evict(changes)
	l.mu.Unlock()
	if len(changes) > 0 {
		l.connections.Registry.ApplyLocal(l.requests, changes)
	}
}

// keepOne returns the change that keeps a record. It reports false for a running request for which there is no room.
func (l *Lab) keepOne(r *record) (storage.LocalChange, bool) {
	k := l.running[r.name]
	if !r.ended.IsZero() && k != nil {
		l.runningBytes -= k.bytes
		delete(l.running, r.name)
		k.record = nil
	}
	if k == nil {
		r.name = l.nameOf(r)
		k = &keptRequest{name: r.name}
	}
	value, d := l.describe(r, k)
	k.detail = d
	k.bytes = sizeOf(r.name, value, d)
	if r.ended.IsZero() {
		if l.runningBytes+k.bytes > l.share(shareOfRunning) {
			return storage.LocalChange{}, false
		}
		k.record = r
		l.running[r.name], l.runningBytes = k, l.runningBytes+k.bytes
	} else {
		l.order = append(l.order, k)
		l.keptBytes += k.bytes
		l.writes.add(k)
	}
	l.kept[r.name] = k
	return storage.LocalChange{Key: r.name, Value: value}, true
}

// sizeOf estimates the memory of a kept request: its object in the store, with the cells of its row and its metadata, and its
// states.
func sizeOf(name string, value []byte, d *details) int64 {
	const fixed = 900
	n := fixed + int64(2*len(name)+len(value))
	if d != nil {
		n += d.size()
	}
	return n
}

// evict appends the deletions of the oldest requests beyond the memory of the lab.
func (l *Lab) evict(changes []storage.LocalChange) []storage.LocalChange {
	limit, n := l.share(shareOfKept)-l.recordedBytes(), 0
	for ; l.keptBytes > limit && n < len(l.order); n++ {
		k := l.order[n]
		l.order[n] = nil
		l.keptBytes -= k.bytes
		delete(l.kept, k.name)
		l.writes.remove(k)
		changes = append(changes, storage.LocalChange{Key: k.name})
	}
	l.order = l.order[n:]
	return changes
}

// maxRefreshed is the maximum number of objects that one refresh writes.
const maxRefreshed = 500

// refresh writes the objects of running watches that have sent something since. Those of watches of requests wait until the watch
// ends, because what is written is an event of each of these watches.
func (l *Lab) refresh() {
	var changes []storage.LocalChange
	l.mu.Lock()
	for _, k := range l.running {
		watch := k.record.found().Watch
		if info := &k.record.scope.Info; watch == nil || info.Group == v1alpha1.GroupVersion.Group {
			continue
		}
		counts := watch()
		if counts == k.counts {
			continue
		}
		k.counts = counts
		value, _ := l.describe(k.record, k)
		changes = append(changes, storage.LocalChange{Key: k.name, Value: value})
		if len(changes) == maxRefreshed {
			break
		}
	}
	l.mu.Unlock()
	if len(changes) > 0 {
		l.connections.Registry.ApplyLocal(l.requests, changes)
	}
}
