package apf

import (
	"math"
	"sync"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// guess is G, how long a request is thought to take before it is known.
const guess = 3 * time.Millisecond

// mode is what becomes of requests for which there are no seats.
type mode int

const (
	queueing  mode = iota // they wait
	rejecting             // they are refused
	exempt                // there are always seats
)

// queuing says how the requests of a level queue.
type queuing struct {
	mode mode
	dealer
	length int // of each queue
}

// places is how many requests may wait.
func (q queuing) places() int { return q.deck * q.length }

// queueSet is a level's state machine: it has all the rules of seats and queues
// and neither clock nor goroutine. Every method is told what time it is, which
// must not go back. It is safe for concurrent use.
type queueSet struct {
	level string

	mu    sync.Mutex // guards what follows, and what requests say of their state
	how   queuing
	limit int // seats
	// retired: the level is no more, and takes in nothing.
	retired bool

	r      work // R, virtual time
	last   time.Time
	active []*queue       // in no order
	queues map[int]*queue // the active ones, by their index
	spare  []*queue
	robin  int // index of the queue that was served last
	deals  int

	waiting, executing       int // requests
	seatsWaiting, seatsInUse int
	running                  requestList

	stats setStats
}

// Ticket is a request that a level decides about. It is that of one goroutine.
type Ticket struct {
	// Reason is why it was rejected.
	Reason string

	limiter *Limiter
	class   *flowSchema
	set     *queueSet
	flow    *flowStats
	width   Width
	// watchers is how many a write is thought to wake, and -1 for other requests;
	// over is set by Done.
	watchers int
	over     bool
	// distinguisher tells the flow from others of its schema, and hash where it
	// is dealt to.
	distinguisher string
	hash          uint64
	arrived       time.Time
	// user and info are for dumps.
	user *request.User
	info *request.Info

	// decided is closed when the request need not wait any longer. It is made
	// when the request begins to wait.
	decided chan struct{}

	// What follows is guarded by the set's lock.
	state    state
	queue    *queue // nil where there are none
	arrivalR work
	started  time.Time
	prev     *Ticket
	next     *Ticket
}

// state is how far a request has come.
type state int

const (
	fresh     state = iota
	waiting         // in a queue
	executing       // in its seats
	lingering       // answered, but its final seats are still taken
	done            // served
	refused         // never executed
)

// newQueueSet makes a queueSet without seats.
func newQueueSet(level string, how queuing, now time.Time) *queueSet {
	return &queueSet{level: level, how: how, last: now, queues: map[int]*queue{}, stats: newSetStats()}
}

// verdict is what becomes of a request that arrives.
type verdict int

const (
	admitted verdict = iota // it executes
	enqueued                // it waits: decided will be closed
	rejected                // for the reason that comes with it
	gone                    // the level is no more: look again where to go
)

// Reasons for which requests are rejected.
const (
	reasonFull     = "queue-full"
	reasonLimit    = "concurrency-limit"
	reasonTimeout  = "time-out"
	reasonCanceled = "cancelled"
)

// arrive takes a request in.
func (s *queueSet) arrive(now time.Time, r *Ticket) (verdict, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return gone, ""
	}
	s.pass(now)
	r.set, r.arrived = s, now
	switch s.how.mode {
	case exempt:
		s.execute(now, r)
		return admitted, ""
	case rejecting:
		if s.waiting > 0 || !s.fits(r.width.seats()) {
			return s.reject(r, reasonLimit)
		}
		s.execute(now, r)
		return admitted, ""
	}
	index := s.choose(r)
	if q := s.queues[index]; q != nil && q.waiting.n >= s.how.length {
		return s.reject(r, reasonFull)
	}
	s.enqueue(r, index)
	s.dispatch(now)
	if r.state == executing {
		return admitted, ""
	}
	r.decided = make(chan struct{})
	return enqueued, ""
}

func (s *queueSet) reject(r *Ticket, reason string) (verdict, string) {
	r.state = refused
	s.stats.reject(r.flow, reason)
	return rejected, reason
}

// pass lets time pass until now: everything that depends on how long something
// was the case is brought up to date.
func (s *queueSet) pass(now time.Time) {
	d := now.Sub(s.last)
	if d <= 0 {
		return // clocks of several processors may be a little apart
	}
	s.last = now
	if n := len(s.active); n > 0 {
		s.r += workOf(s.seatsInUse, d) / work(n)
		if s.r > epoch {
			s.beginEpoch()
		}
	}
	s.stats.pass(d, s)
}

// beginEpoch sets virtual time back to 0, and what is measured by it along.
func (s *queueSet) beginEpoch() {
	for _, q := range s.active {
		q.next -= s.r
		for r := q.waiting.first; r != nil; r = r.next {
			r.arrivalR -= s.r
		}
	}
	s.r = 0
	s.stats.epochs++
}

// choose deals the request's flow its hand and returns the queue of it in which
// the least work waits. Where several are alike, flows take them in turn.
func (s *queueSet) choose(r *Ticket) int {
	var room [maxHand]int
	hand := s.how.deal(r.hash, room[:0])
	offset := s.deals % len(hand)
	s.deals++
	if s.waiting == 0 {
		return hand[offset]
	}
	best, least := 0, work(math.MaxInt64)
	for i := range hand {
		index := hand[(offset+i)%len(hand)]
		var w work
		if q := s.queues[index]; q != nil {
			w = q.workWaiting
		}
		if w < least {
			best, least = index, w
		}
	}
	return best
}

// enqueue puts a request into a queue.
func (s *queueSet) enqueue(r *Ticket, index int) {
	q := s.queues[index]
	if q == nil {
		q = s.activate(index)
	}
	r.state, r.queue, r.arrivalR = waiting, q, s.r
	q.push(r)
	s.waiting++
	s.seatsWaiting += r.width.seats()
	s.stats.enqueued(r, q.waiting.n)
}

// activate makes a queue for its first request, which begins at R.
func (s *queueSet) activate(index int) *queue {
	var q *queue
	if n := len(s.spare); n > 0 {
		q = s.spare[n-1]
		s.spare = s.spare[:n-1]
	} else {
		q = &queue{}
	}
	*q = queue{index: index, next: s.r, place: len(s.active)}
	s.active = append(s.active, q)
	s.queues[index] = q
	return q
}

// rest forgets a queue if nothing is left in it.
func (s *queueSet) rest(q *queue) {
	if !q.idle() {
		return
	}
	last := s.active[len(s.active)-1]
	s.active[q.place], last.place = last, q.place
	s.active[len(s.active)-1] = nil
	s.active = s.active[:len(s.active)-1]
	delete(s.queues, q.index)
	if len(s.spare) < mostSpare {
		s.spare = append(s.spare, q)
	}
}

// mostSpare is how many queues are kept for the next request.
const mostSpare = 16

// abandon takes a request out of its queue, which is not to wait any longer. It
// does nothing, and returns false, where the request was decided before.
func (s *queueSet) abandon(now time.Time, r *Ticket, reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(now)
	if r.state != waiting {
		return false
	}
	s.unqueue(r)
	s.rest(r.queue)
	r.state = refused
	s.stats.left(r, now, false)
	s.stats.reject(r.flow, reason)
	// It may have been one that the others were waiting for seats with.
	s.dispatch(now)
	return true
}

func (s *queueSet) unqueue(r *Ticket) {
	r.queue.take(r)
	s.stats.unqueued(r)
	s.waiting--
	s.seatsWaiting -= r.width.seats()
}

// finish ends the execution of a request. Where it has final seats they are
// still taken for the time that is returned, after which release is called.
func (s *queueSet) finish(now time.Time, r *Ticket) (linger time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(now)
	if r.state != executing {
		return 0
	}
	took := now.Sub(r.started)
	s.stats.finished(r, took)
	if q := r.queue; q != nil {
		q.next += workOf(r.width.Initial, took-guess) // what was guessed is known now
	}
	if r.width.Final > 0 && r.width.Extra > 0 {
		r.state = lingering
		s.dispatch(now) // the correction may have put another first, for whom there are seats
		return r.width.Extra
	}
	s.vacate(now, r)
	return 0
}

// release frees the final seats of a request.
func (s *queueSet) release(now time.Time, r *Ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(now)
	if r.state == lingering {
		s.vacate(now, r)
	}
}

// vacate frees the seats of a request, and gives them to others.
func (s *queueSet) vacate(now time.Time, r *Ticket) {
	r.state = done
	s.executing--
	s.seatsInUse -= r.width.seats()
	s.running.remove(r)
	s.stats.vacated(r)
	if q := r.queue; q != nil {
		q.executing--
		q.seatsInUse -= r.width.seats()
		s.rest(q)
	}
	s.dispatch(now)
}

// reconfigure changes how requests queue. Those that wait stay where they are,
// also in queues that get no more requests.
func (s *queueSet) reconfigure(now time.Time, how queuing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(now)
	s.how = how
	s.dispatch(now)
}

// setLimit changes the number of seats.
func (s *queueSet) setLimit(now time.Time, limit, denominator int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(now)
	s.limit = limit
	s.stats.denominator = denominator
	s.dispatch(now)
}

// retire ends the set if nothing is going on in it, and tells whether it did.
func (s *queueSet) retire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = s.idle()
	return s.retired
}

// idle: nothing waits and nothing executes.
func (s *queueSet) idle() bool { return s.waiting == 0 && s.executing == 0 }

// takeDemand returns what was seen of the demand for seats since the last time.
func (s *queueSet) takeDemand(now time.Time) demand {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(now)
	return s.stats.demand.take(s.seatsWaiting + s.seatsInUse)
}
