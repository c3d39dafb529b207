package apf

import (
	"math"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// estimatedDuration is G, the estimated duration of a request before it is known.
const estimatedDuration = 3 * time.Millisecond

// limitMode is how a level treats requests that find no free seats.
type limitMode int

const (
	modeQueue  limitMode = iota // they wait
	modeReject                  // they are rejected
	modeExempt                  // there is no limit
)

// queuingConfig is the configuration of a level's queues.
type queuingConfig struct {
	mode limitMode
	dealer
	length int // maximum length of each queue
}

// capacity returns the maximum number of waiting requests.
func (q queuingConfig) capacity() int { return q.deck * q.length }

// queueSet is the state machine of a level: the rules of seats and queues, without a clock
// or goroutine. Callers pass the current time, which must not decrease. It is safe for
// concurrent use.
type queueSet struct {
	level string

	mu     sync.Mutex // guards the fields below and the state of requests
	config queuingConfig
	limit  int // seats
	// retired is set when the level was removed; it accepts no requests.
	retired bool

	r          work // R, virtual time
	last       time.Time
	active     []*queue       // unordered
	queues     map[int]*queue // the active queues by index
	spare      []*queue
	lastServed int // index of the queue that was served last
	deals      int

	waiting, executing       int // requests
	seatsWaiting, seatsInUse int
	running                  requestList

	stats setStats
}

// Ticket is the state of one request in a level. Only one goroutine may use it.
type Ticket struct {
	// Reason is why the request was rejected.
	Reason string

	limiter *Limiter
	schema  *flowSchema
	set     *queueSet
	flow    *flowStats
	width   Width
	// watchers is the estimated number of watchers that a write notifies, and -1 for other
	// requests. over is set by Done.
	watchers int
	finished bool
	mutates  bool
	// distinguisher identifies the flow within its schema, and hash selects the flow's
	// queues.
	distinguisher string
	hash          uint64
	arrived       time.Time
	// user and info are used by dumps.
	user *request.User
	info *request.Info

	// decided is closed when the wait of the request ends. It is nil if the request did not
	// have to wait.
	decided chan struct{}

	// The fields below are guarded by the set's lock.
	state    ticketState
	queue    *queue // nil in levels without queues
	arrivalR work
	started  time.Time
	prev     *Ticket
	next     *Ticket
}

// ticketState is the progress of a request.
type ticketState int

const (
	stateNew       ticketState = iota
	stateWaiting               // in a queue
	stateExecuting             // occupies its seats
	stateLingering             // served, but occupies its final seats
	stateDone                  // served
	stateRejected              // not executed
)

// newQueueSet returns a queueSet without seats.
func newQueueSet(level string, config queuingConfig, now time.Time) *queueSet {
	s := &queueSet{level: level, config: config, last: now, queues: map[int]*queue{}, stats: newSetStats()}
	s.stats.waitingLimit = config.capacity()
	return s
}

// verdict is the decision on an arriving request.
type verdict int

const (
	verdictExecute      verdict = iota // it executes
	verdictEnqueue                     // it waits until Ticket.decided is closed
	verdictReject                      // with a reason
	verdictLevelRemoved                // the level was removed; classify the request again
)

// Reasons for rejection, as in the label "reason" of kube-apiserver's metrics.
const (
	reasonFull     = "queue-full"
	reasonLimit    = "concurrency-limit"
	reasonTimeout  = "time-out"
	reasonCanceled = "cancelled"
)

// arrive decides on a new request.
func (s *queueSet) arrive(now time.Time, r *Ticket) (verdict, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return verdictLevelRemoved, ""
	}
	s.advanceTo(now)
	r.set, r.arrived = s, now
	s.stats.arrived(r)
	switch s.config.mode {
	case modeExempt:
		s.execute(now, r)
		return verdictExecute, ""
	case modeReject:
		if s.waiting > 0 || !s.fits(r.width.seats()) {
			return s.reject(r, reasonLimit)
		}
		s.execute(now, r)
		s.stats.ended(r, now, true)
		return verdictExecute, ""
	}
	index := s.chooseQueue(r)
	if q := s.queues[index]; q != nil && q.waiting.n >= s.config.length {
		return s.reject(r, reasonFull)
	}
	s.enqueue(r, index)
	s.dispatch(now)
	if r.state == stateExecuting {
		return verdictExecute, ""
	}
	r.decided = make(chan struct{})
	return verdictEnqueue, ""
}

func (s *queueSet) reject(r *Ticket, reason string) (verdict, string) {
	r.state = stateRejected
	s.stats.ended(r, r.arrived, false)
	s.stats.countRejection(r.flow, reason)
	return verdictReject, reason
}

// advanceTo advances the time to now and updates everything that integrates over time.
func (s *queueSet) advanceTo(now time.Time) {
	d := now.Sub(s.last)
	if d <= 0 {
		return // the clocks of processors may differ a little
	}
	s.last = now
	if n := len(s.active); n > 0 {
		s.r += workOf(s.seatsInUse, d) / work(n)
		if s.r > epochLength {
			s.rebaseVirtualTime()
		}
	}
	t, seats := &s.stats, s.seatsWaiting+s.seatsInUse
	t.demand.addPeriod(seats, d)
	t.demanded.addPeriod(d, seats, t.seatLimit)
	t.seatsUsed.addPeriod(d, s.seatsInUse, t.seatLimit)
	t.executors.addPeriod(d, s.executing, t.seatLimit)
	t.waiters.addPeriod(d, s.waiting, t.waitingLimit)
}

// rebaseVirtualTime sets virtual time to 0 and shifts everything that is measured in it.
func (s *queueSet) rebaseVirtualTime() {
	for _, q := range s.active {
		q.next -= s.r
		for r := q.waiting.first; r != nil; r = r.next {
			r.arrivalR -= s.r
		}
	}
	s.r = 0
	s.stats.rebases++
}

// chooseQueue returns the queue of the request's hand with the least waiting work. Flows rotate
// through equal queues.
func (s *queueSet) chooseQueue(r *Ticket) int {
	var room [maxHand]int
	hand := s.config.deal(r.hash, room[:0])
	offset := s.deals % len(hand)
	s.deals++
	if s.waiting == 0 {
		return hand[offset]
	}
	best, minWork := 0, work(math.MaxInt64)
	for i := range hand {
		index := hand[(offset+i)%len(hand)]
		var w work
		if q := s.queues[index]; q != nil {
			w = q.workWaiting
		}
		if w < minWork {
			best, minWork = index, w
		}
	}
	return best
}

// enqueue adds a request to a queue.
func (s *queueSet) enqueue(r *Ticket, index int) {
	q := s.queues[index]
	if q == nil {
		q = s.activate(index)
	}
	r.state, r.queue, r.arrivalR = stateWaiting, q, s.r
	q.push(r)
	s.waiting++
	s.seatsWaiting += r.width.seats()
	s.stats.enqueued(r, q.waiting.n)
}

// activate creates a queue, whose first request begins at R.
func (s *queueSet) activate(index int) *queue {
	var q *queue
	if n := len(s.spare); n > 0 {
		q = s.spare[n-1]
		s.spare = s.spare[:n-1]
	} else {
		q = &queue{}
	}
	*q = queue{index: index, next: s.r, activeIndex: len(s.active)}
	s.active = append(s.active, q)
	s.queues[index] = q
	return q
}

// deactivateIfIdle removes a queue if it is idle.
func (s *queueSet) deactivateIfIdle(q *queue) {
	if !q.idle() {
		return
	}
	last := s.active[len(s.active)-1]
	s.active[q.activeIndex], last.activeIndex = last, q.activeIndex
	s.active[len(s.active)-1] = nil
	s.active = s.active[:len(s.active)-1]
	delete(s.queues, q.index)
	if len(s.spare) < maxSpareQueues {
		s.spare = append(s.spare, q)
	}
}

// maxSpareQueues is the maximum number of removed queues that are kept for reuse.
const maxSpareQueues = 16

// cancelWait ends the wait of a request without executing it. It returns false if the wait had
// ended already.
func (s *queueSet) cancelWait(now time.Time, r *Ticket, reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanceTo(now)
	if r.state != stateWaiting {
		return false
	}
	s.dequeue(r)
	s.deactivateIfIdle(r.queue)
	r.state = stateRejected
	s.stats.ended(r, now, true) // as in kube-apiserver, whose label means that the request entered a queue
	s.stats.countRejection(r.flow, reason)
	// Requests behind it may have been waiting for it to get its seats.
	s.dispatch(now)
	return true
}

func (s *queueSet) dequeue(r *Ticket) {
	r.queue.remove(r)
	s.waiting--
	s.seatsWaiting -= r.width.seats()
}

// finish ends the execution of a request. If it returns a duration above 0, the request
// occupies its final seats for that time, and the caller must call release then.
func (s *queueSet) finish(now time.Time, r *Ticket) (linger time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanceTo(now)
	if r.state != stateExecuting {
		return 0
	}
	took := now.Sub(r.started)
	durations := &r.flow.regular
	if r.info != nil && r.info.Watch {
		durations = &r.flow.watch
	}
	durations.observe(took.Seconds(), 1)
	if q := r.queue; q != nil { // replace the estimate by the duration
		q.next += workOf(r.width.Initial, took-estimatedDuration)
	}
	if r.width.Final > 0 && r.width.Extra > 0 {
		r.state = stateLingering
		s.dispatch(now) // the correction may have changed which request is next, and that one may fit
		return r.width.Extra
	}
	s.freeSeats(now, r)
	return 0
}

// release frees the final seats of a request.
func (s *queueSet) release(now time.Time, r *Ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanceTo(now)
	if r.state == stateLingering {
		s.freeSeats(now, r)
	}
}

// freeSeats frees the seats of a request and dispatches waiting ones.
func (s *queueSet) freeSeats(now time.Time, r *Ticket) {
	r.state = stateDone
	s.executing--
	s.seatsInUse -= r.width.seats()
	s.running.remove(r)
	if q := r.queue; q != nil {
		q.executing--
		q.seatsInUse -= r.width.seats()
		s.deactivateIfIdle(q)
	}
	s.dispatch(now)
}

// reconfigure changes the queuing. Waiting requests stay in their queues, even in queues that
// get no new requests.
func (s *queueSet) reconfigure(now time.Time, config queuingConfig) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanceTo(now)
	s.config = config
	s.stats.waitingLimit = config.capacity()
	s.dispatch(now)
}

// setLimit changes the number of seats.
func (s *queueSet) setLimit(now time.Time, limit, denominator int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanceTo(now)
	s.limit = limit
	s.stats.seatLimit = denominator
	s.dispatch(now)
}

// retire marks the set as removed if it is idle, and reports whether it is.
func (s *queueSet) retire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = s.idle()
	return s.retired
}

// idle reports whether no request waits or executes.
func (s *queueSet) idle() bool { return s.waiting == 0 && s.executing == 0 }

// resetDemand returns the demand for seats since the last call.
func (s *queueSet) resetDemand(now time.Time) demand {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanceTo(now)
	return s.stats.demand.reset(s.seatsWaiting + s.seatsInUse)
}
