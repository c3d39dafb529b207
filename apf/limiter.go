package apf

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/request"
)

const (
	// adjustEvery is how often seats are moved between levels.
	adjustEvery = 10 * time.Second
	// longestWait is what no request waits longer than.
	longestWait = time.Minute
)

// Options are what a Limiter is made from. Only Seats must be set.
type Options struct {
	// Seats is how many requests, of one seat each, execute at a time.
	Seats int
	// WaitLimit is how long requests wait that have no deadline of their own;
	// those that have one wait for a quarter of what is left until then. 0 means
	// fifteen seconds.
	WaitLimit time.Duration
	// Objects tells what there is of the resource of a request; false means that nobody knows.
	Objects func(*request.Info) (Objects, bool)
	// Inflight counts the requests by whether they change something.
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
	inflight  *Inflight
	watchers  watchers
	retry     retryTracker

	current atomic.Pointer[classifier]

	mu     sync.Mutex // guards the configuration, and is taken before a level's lock
	levels map[string]*level
	// seats is the sum of all nominal seats; multiple is that of the targets that
	// levels have got.
	seats    int
	multiple float64
}

// New makes a Limiter that goes by the mandatory objects alone, until Configure
// tells it of others.
func New(o Options) (*Limiter, error) {
	if o.Seats <= 0 {
		return nil, errors.New("apf: the number of seats must be positive")
	}
	l := &Limiter{total: o.Seats, waitLimit: o.WaitLimit, clock: o.Clock, log: o.Logger, objects: o.Objects,
		inflight: o.Inflight, levels: map[string]*level{}}
	if l.waitLimit == 0 {
		l.waitLimit = 15 * time.Second
	}
	if l.clock == nil {
		l.clock = wallClock{}
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if l.inflight == nil {
		l.inflight = NewInflight(l.clock)
	}
	l.Configure(nil, nil)
	if o.Metrics != nil {
		return l, o.Metrics.Register(&collector{l})
	}
	return l, nil
}

// Run moves seats between levels from time to time, until ctx is done.
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
		l.adjust(l.clock.Now())
		l.mu.Unlock()
		l.reap()
	}
}

// Ask is a request that is to execute.
type Ask struct {
	User *request.User
	Info *request.Info
	// List is what a list asks for. A watch that begins with the objects that
	// there are is such a list too, if InitialEvents is set.
	List          ListShape
	InitialEvents bool
}

// Begin waits until a request may execute. The ticket that it returns says of
// which class the request is; it is to be given back with Done if the request
// may execute, and tells why it was rejected if it may not.
func (l *Limiter) Begin(ctx context.Context, a Ask) (t *Ticket, ok bool) {
	for {
		class := l.current.Load().match(a.User, a.Info)
		t = &Ticket{limiter: l, class: class, flow: class.stats, user: a.User, info: a.Info, watchers: -1}
		if class.hashed {
			t.distinguisher = class.distinguisher(a.User, a.Info)
			t.hash = hashFlow(class.name, t.distinguisher)
		}
		t.width = l.widthOf(&a, t)
		now := l.clock.Now()
		switch v, reason := class.level.set.arrive(now, t); v {
		case admitted:
			l.inflight.executes(now, t.mutates())
			return t, true
		case enqueued:
			return t, l.wait(ctx, t)
		case rejected:
			t.Reason = reason
			l.retry.rejected(class.level.name, now)
			return t, false
		case gone:
			// The configuration is being changed: go by the new one.
			l.mu.Lock()
			l.mu.Unlock() //nolint:staticcheck // only to wait for the change
		}
	}
}

// wait is for a request that is in a queue.
func (l *Limiter) wait(ctx context.Context, t *Ticket) bool {
	l.inflight.waits(t.arrived, t.mutates())
	limit := min(l.waitLimit, longestWait)
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(deadline.Sub(t.arrived)/4, longestWait)
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
	if reason != "" && t.set.abandon(now, t, reason) {
		t.Reason = reason
		l.inflight.gaveUp(now, t.mutates())
		l.retry.rejected(t.class.level.name, now)
		l.reapAfter(t)
		return false
	}
	l.inflight.stopsWaiting(now, t.mutates())
	return true
}

// reapAfter removes the level of t if t was the last request of one that was
// deleted.
func (l *Limiter) reapAfter(t *Ticket) {
	if t.class.level.quiescing.Load() {
		l.reap()
	}
}

// widthOf estimates how much of the server a request takes.
func (l *Limiter) widthOf(a *Ask, t *Ticket) Width {
	most := int(t.class.level.most.Load())
	if most == 0 {
		most = maxListSeats
	}
	switch verb := a.Info.Verb; {
	case !a.Info.IsResource:
	case verb == "list", verb == "watch" && a.InitialEvents:
		if l.objects == nil {
			break
		}
		if have, ok := l.objects(a.Info); ok {
			return listWidth(have, a.List, most)
		}
	case verb == "create", verb == "update", verb == "patch", verb == "delete":
		n := l.watchers.of(a.Info)
		t.watchers = n
		return writeWidth(n, most)
	}
	return Width{Initial: 1}
}

// Done says that the request has been served or, if it is a watch, that it has
// begun. It may be called more than once.
func (t *Ticket) Done() {
	if t.over {
		return
	}
	t.over = true
	l := t.limiter
	now := l.clock.Now()
	l.inflight.done(now, t.mutates())
	if linger := t.set.finish(now, t); linger > 0 {
		l.clock.AfterFunc(linger, func() {
			t.set.release(l.clock.Now(), t)
			l.reapAfter(t)
		})
		return
	}
	l.reapAfter(t)
}

// FlowSchemaUID and PriorityLevelUID say of which class the request is, as the
// values of headers, which must not be changed.
func (t *Ticket) FlowSchemaUID() []string { return t.class.uid }

// PriorityLevelUID is that of the level which the request's flow schema leads to.
func (t *Ticket) PriorityLevelUID() []string { return t.class.levelUID }

// RetryAfter is after how many seconds a client that was rejected may try again.
func (t *Ticket) RetryAfter() int { return t.limiter.retry.after(t.class.level.name) }

func (t *Ticket) mutates() bool { return Mutates(t.info.Verb) }

// Watching counts a watch among those that writes wake. The caller calls what it
// returns at the end.
func (l *Limiter) Watching(info *request.Info, selected Selected) (end func()) {
	return l.watchers.add(info, selected)
}
