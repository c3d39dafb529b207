package apf

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/request"
)

const (
	// adjustEvery is the interval at which seats are moved between levels.
	adjustEvery = 10 * time.Second
	// maxWait is the maximum time that a request waits.
	maxWait = time.Minute
)

// Options configures a Limiter. Only Seats is required.
type Options struct {
	// Seats is the number of seats of the server.
	Seats int
	// WaitLimit is the maximum wait of requests without a deadline; others wait for at most
	// a quarter of the time to their deadline. 0 means fifteen seconds.
	WaitLimit time.Duration
	// Objects returns the number and size of the objects of a request's resource, or false
	// if they are unknown.
	Objects func(*request.Info) (Objects, bool)
	// CountLists estimates the work of lists by the number of objects, not by their size.
	CountLists bool
	// Silent reports whether a write to a subresource changes no object, so that it notifies no watch; nil means
	// that none is.
	Silent func(*request.Info) bool
	// Inflight counts the requests by whether they mutate; nil means a new one.
	Inflight *Inflight
	Metrics  prometheus.Registerer
	Clock    Clock
	Logger   *slog.Logger
}

// Limiter decides when requests execute. It is safe for concurrent use.
type Limiter struct {
	total     int
	waitLimit time.Duration
	clock     Clock
	log       *slog.Logger
	objects   func(*request.Info) (Objects, bool)
	silent    func(*request.Info) bool
	// countsLists is Options.CountLists.
	countsLists bool
	inflight    *Inflight
	watchers    watchCounts
	retry       retryTracker

	current atomic.Pointer[classifier]

	mu     sync.Mutex // guards the configuration; it is taken before a level's lock
	levels map[string]*level
	// past are the statistics of removed levels, so that counters go on when a level is created again.
	past map[string]setStats
	// seats is the sum of all nominal seats, and multiple the fair multiple of the targets.
	seats    int
	multiple float64
}

// New returns a Limiter with the mandatory objects; see Configure for others.
func New(o Options) (*Limiter, error) {
	if o.Seats <= 0 {
		return nil, errors.New("apf: the number of seats must be positive")
	}
	l := &Limiter{total: o.Seats, waitLimit: o.WaitLimit, clock: o.Clock, log: o.Logger, objects: o.Objects,
		silent: o.Silent, countsLists: o.CountLists,
		inflight: o.Inflight, levels: map[string]*level{}, past: map[string]setStats{}}
	if l.waitLimit == 0 {
		l.waitLimit = 15 * time.Second
	}
	if l.clock == nil {
		l.clock = systemClock{}
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if l.inflight == nil {
		l.inflight = NewInflight(l.clock)
	}
	l.Configure(nil, nil)
	if o.Metrics != nil {
		return l, o.Metrics.Register(&metricsCollector{l})
	}
	return l, nil
}

// Run periodically moves seats between levels until ctx is done.
func (l *Limiter) Run(ctx context.Context) {
	for {
		due := make(chan struct{})
		stop := l.clock.AfterFunc(adjustEvery, func() { close(due) })
		select {
		case <-ctx.Done():
			stop()
			return
		case <-due:
		}
		l.mu.Lock()
		l.adjustSeats(l.clock.Now())
		l.mu.Unlock()
		l.removeIdleLevels()
	}
}

// RequestDigest describes a request to Begin.
type RequestDigest struct {
	User *request.User
	Info *request.Info
	// List is the shape of a list request, and of a watch if InitialEvents is set: such a
	// watch sends the existing objects first.
	List          ListShape
	InitialEvents bool
}

// Begin waits until the request may execute. If ok is true, the caller must call Done on the
// ticket; otherwise Ticket.Reason is the reason of the rejection.
func (l *Limiter) Begin(ctx context.Context, a RequestDigest) (t *Ticket, ok bool) {
	for {
		class := l.current.Load().match(a.User, a.Info)
		t = &Ticket{limiter: l, schema: class, flow: class.stats, user: a.User, info: a.Info, mutates: IsMutating(a.Info.Verb), watchers: -1}
		if class.hashed {
			t.distinguisher = class.distinguisher(a.User, a.Info)
			t.hash = hashFlow(class.name, t.distinguisher)
		}
		t.width = l.widthOf(&a, t)
		now := l.clock.Now()
		switch v, reason := class.level.set.arrive(now, t); v {
		case verdictExecute:
			l.inflight.add(now, t.mutates, 0, 1)
			return t, true
		case verdictEnqueue:
			return t, l.waitForDispatch(ctx, t)
		case verdictReject:
			t.Reason = reason
			l.retry.rejected(class.level.name, now)
			return t, false
		case verdictLevelRemoved:
			// The configuration is changing; wait for the new one.
			l.mu.Lock()
			l.mu.Unlock() //nolint:staticcheck // only to wait for the change
		}
	}
}

// waitForDispatch waits for a queued request to be dispatched, and reports whether it was.
func (l *Limiter) waitForDispatch(ctx context.Context, t *Ticket) bool {
	l.inflight.add(t.arrived, t.mutates, 1, 0)
	limit := min(l.waitLimit, maxWait)
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(deadline.Sub(t.arrived)/4, maxWait)
	}
	expired := make(chan struct{})
	stop := l.clock.AfterFunc(limit, func() { close(expired) })
	defer stop()
	reason := reasonTimeout
	select {
	case <-t.decided:
		reason = ""
	case <-expired:
	case <-ctx.Done():
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			reason = reasonCanceled
		}
	}
	now := l.clock.Now()
	request.From(ctx).Durations.Add(request.PartAPFQueueWait, now.Sub(t.arrived))
	if reason != "" && t.set.cancelWait(now, t, reason) {
		t.Reason = reason
		l.inflight.add(now, t.mutates, -1, 0)
		l.retry.rejected(t.schema.level.name, now)
		if t.schema.level.quiescing.Load() {
			l.removeIdleLevels()
		}
		return false
	}
	l.inflight.add(now, t.mutates, -1, 1)
	return true
}

// widthOf estimates the width of a request and sets t.watchers.
func (l *Limiter) widthOf(a *RequestDigest, t *Ticket) Width {
	maxSeats := int(t.schema.level.maxRequestSeats.Load())
	if maxSeats == 0 {
		maxSeats = maxListSeats
	}
	switch verb := a.Info.Verb; {
	case !a.Info.IsResource:
	case verb == "list", verb == "watch" && a.InitialEvents:
		if l.objects == nil {
			break
		}
		if have, ok := l.objects(a.Info); ok {
			if l.countsLists {
				return countedListWidth(have, a.List, maxSeats)
			}
			return listWidth(have, a.List, maxSeats)
		}
	case verb == "create", verb == "update", verb == "patch", verb == "delete":
		if a.Info.Subresource != "" && l.silent != nil && l.silent(a.Info) {
			break
		}
		n := l.watchers.notifiedBy(a.Info)
		t.watchers = n
		return writeWidth(n, maxSeats)
	}
	return Width{Initial: 1}
}

// Done marks the request as served, or a watch as started. It may be called more than once.
func (t *Ticket) Done() {
	if t.finished {
		return
	}
	t.finished = true
	l := t.limiter
	now := l.clock.Now()
	l.inflight.add(now, t.mutates, 0, -1)
	if linger := t.set.finish(now, t); linger > 0 {
		l.clock.AfterFunc(linger, func() {
			t.set.release(l.clock.Now(), t)
			if t.schema.level.quiescing.Load() {
				l.removeIdleLevels()
			}
		})
		return
	}
	if t.schema.level.quiescing.Load() { // this may have been the last request of a deleted level
		l.removeIdleLevels()
	}
}

// SetHeaders sets the response headers that identify the request's flow schema and priority
// level.
func (t *Ticket) SetHeaders(header http.Header) {
	header[flowSchemaHeader], header[priorityLevelHeader] = t.schema.uid, t.schema.levelUID
}

// Classified returns the names of the request's flow schema and priority level, and the number of seats that it occupies.
func (t *Ticket) Classified() (schema, level string, seats int) {
	return t.schema.name, t.schema.level.name, t.width.seats()
}

// Names of the headers of SetHeaders, in the form in which net/http stores them.
const (
	flowSchemaHeader    = "X-Kubernetes-Pf-Flowschema-Uid"
	priorityLevelHeader = "X-Kubernetes-Pf-Prioritylevel-Uid"
)

// RetryAfter returns the number of seconds after which a rejected client may retry.
func (t *Ticket) RetryAfter() int { return t.limiter.retry.after(t.schema.level.name) }

// CountWatch counts a watch as one that writes notify, until end is called.
func (l *Limiter) CountWatch(info *request.Info, selected WatchSelection) (end func()) {
	return l.watchers.add(info, selected)
}

// Clock is the source of time. Tests use one that they advance themselves.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f after d, unless the returned function is called first.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// systemClock is the system clock.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
