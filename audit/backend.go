package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/request"
)

// output is where a backend sends events.
type output interface {
	// encode appends the event in the format of the output.
	encode(b []byte, e *Event) ([]byte, error)
	// size returns the size of an event for TruncateConfig.
	size(encoded []byte) int64
	// send sends encoded events. It may be called concurrently.
	send(ctx context.Context, batch []entry) error
	close() error
}

// entry is an encoded event.
type entry struct {
	data []byte
	id   string
}

// Names of the parts of a backend in apiserver_audit_error_total.
const (
	nameBuffer   = "buffered"
	nameTruncate = "truncate"
)

// backend sends events to an output in its mode.
type backend struct {
	name     string
	out      output
	mode     string
	truncate TruncateConfig
	buffer   *buffer // nil unless the mode is ModeBatch
	faults   *faultLog
	lines    sync.Pool // of *[1]entry, for the events that are written at once
	// ctx ends the attempts to send events.
	ctx    context.Context
	cancel context.CancelFunc
}

func newBackend(name string, out output, batch BatchConfig, truncate TruncateConfig, faults *faultLog) *backend {
	b := &backend{name: name, out: out, mode: batch.Mode, truncate: truncate, faults: faults}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	if b.mode == ModeBatch {
		sends := 1 // the order of the events in a log is that in which they happened
		if name == nameWebhook {
			sends = maxSends
		}
		b.buffer = newBuffer(b, batch, sends)
	}
	return b
}

// process sends or buffers an event. It returns false if requests depend on the event and
// it could not be sent.
func (b *backend) process(e *Event) bool {
	if b.buffer == nil && b.name == nameLog {
		return b.write(e)
	}
	data, err := b.encoded(nil, e)
	return b.handle([]entry{{data, e.ID}}, err)
}

// write writes an event to a log. The event does not outlive the call, so its buffer is used
// again, unless it is large.
func (b *backend) write(e *Event) bool {
	const maxKept = 16 << 10
	line, ok := b.lines.Get().(*[1]entry)
	if !ok {
		line = new([1]entry)
	}
	data, err := b.encoded(line[0].data[:0], e)
	line[0] = entry{data, e.ID}
	recorded := b.handle(line[:], err)
	if cap(data) > 0 && cap(data) <= maxKept {
		b.lines.Put(line)
	}
	return recorded
}

// handle sends or buffers one encoded event, or reports why it could not be encoded.
func (b *backend) handle(event []entry, err error) bool {
	var plugin string
	switch {
	case errors.Is(err, errEventTooLarge):
		plugin = nameTruncate
	case err != nil:
		plugin = b.name
	case b.buffer != nil:
		plugin, err = nameBuffer, b.buffer.add(event[0])
	default:
		return b.send(event) || b.mode == ModeBlocking
	}
	if err == nil {
		return true
	}
	b.faults.report(plugin, err, event[0].id)
	return b.mode != ModeBlockingStrict || plugin == nameTruncate
}

// send sends a batch, in parts of at most the maximum size.
func (b *backend) send(batch []entry) bool {
	sent := true
	for len(batch) > 0 {
		n := b.fitting(batch)
		if err := b.out.send(b.ctx, batch[:n]); err != nil {
			b.faults.report(b.name, err, ids(batch[:n])...)
			sent = false
		}
		batch = batch[n:]
	}
	return sent
}

// fitting returns how many of the events fit into one batch, which is at least one. A log
// takes one event at a time, so that an error affects no other.
func (b *backend) fitting(batch []entry) int {
	switch {
	case b.name == nameLog:
		return 1
	case !b.truncate.Enabled:
		return len(batch)
	}
	size := b.out.size(batch[0].data)
	for i, e := range batch[1:] {
		if size += b.out.size(e.data); size > b.truncate.MaxBatchSize {
			return i + 1
		}
	}
	return len(batch)
}

// truncated annotates an event whose objects are removed because of its size.
const truncated = "audit.k8s.io/truncated"

var errEventTooLarge = errors.New("event is too large even after truncating")

// encoded appends the encoded event to an empty buffer, without its objects if it is too large with
// them.
func (b *backend) encoded(buf []byte, e *Event) ([]byte, error) {
	data, err := b.out.encode(buf, e)
	if err != nil || !b.truncate.Enabled || b.out.size(data) <= b.truncate.MaxEventSize {
		return data, err
	}
	if e.Level >= request.AuditRequest {
		small := *e
		small.RequestObject, small.ResponseObject = nil, nil
		small.Annotations = withAnnotation(e.Annotations, truncated, "true")
		if data, err = b.out.encode(nil, &small); err != nil || b.out.size(data) <= b.truncate.MaxEventSize {
			return data, err
		}
	}
	return nil, errEventTooLarge
}

// withAnnotation returns sorted annotations with another one, which replaces that of the same key.
func withAnnotation(list []request.Annotation, key, value string) []request.Annotation {
	added := request.Annotation{Key: key, Value: value}
	at, found := slices.BinarySearchFunc(list, key, func(a request.Annotation, key string) int { return strings.Compare(a.Key, key) })
	out := slices.Clone(list)
	if found {
		out[at] = added
		return out
	}
	return slices.Insert(out, at, added)
}

// close sends the events that wait until ctx is done, and closes the output.
func (b *backend) close(ctx context.Context) error {
	stop := context.AfterFunc(ctx, b.cancel)
	defer stop()
	if b.buffer != nil {
		b.buffer.close()
	}
	b.cancel()
	if err := b.out.close(); err != nil {
		return fmt.Errorf("closing the audit %s: %w", b.name, err)
	}
	return nil
}

func ids(batch []entry) []string {
	out := make([]string, len(batch))
	for i := range batch {
		out[i] = batch[i].id
	}
	return out
}

// faultLog counts and logs events that could not be recorded.
type faultLog struct {
	logger *slog.Logger
	errors *prometheus.CounterVec
	now    func() time.Time

	mu sync.Mutex // guards the fields below
	// last is the time of the last log record by plugin, and silent the number of events
	// since then that were not logged.
	last   map[string]time.Time
	silent map[string]int
}

const (
	// faultInterval is the minimum interval of log records of a plugin. A backend that is
	// down fails every event.
	faultInterval = time.Second
	// maxFaultIDs is the maximum number of ids in a log record.
	maxFaultIDs = 10
)

// report counts events, and logs them unless the plugin has logged others just before.
func (f *faultLog) report(plugin string, err error, ids ...string) {
	f.errors.WithLabelValues(plugin).Add(float64(len(ids)))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		f.last, f.silent = map[string]time.Time{}, map[string]int{}
	}
	now := f.now()
	if now.Sub(f.last[plugin]) < faultInterval {
		f.silent[plugin] += len(ids)
		return
	}
	f.logger.Error("audit events could not be recorded", "plugin", plugin, "events", len(ids), "since",
		f.silent[plugin], "error", err, "ids", ids[:min(len(ids), maxFaultIDs)])
	f.last[plugin], f.silent[plugin] = now, 0
}
