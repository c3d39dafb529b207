package apf

import (
	"math"
	"time"
)

// dispatch executes requests while there are seats for the next one. If the next request
// does not fit, all others wait as well; otherwise wide requests might never get their
// seats.
func (s *queueSet) dispatch(now time.Time) {
	for s.waiting > 0 && s.seatsInUse < s.limit { // a wide request too needs a seat that is free
		r := s.nextRequest()
		if !s.fits(r.width.seats()) {
			s.stats.noAccommodation(r)
			return
		}
		s.lastServed = r.queue.index
		s.dequeue(r)
		s.execute(now, r)
		s.stats.ended(r, now, true)
		if r.decided != nil {
			close(r.decided)
		}
	}
}

// nextRequest returns the first request of the queue whose next request has the smallest F.
// Equal queues take turns.
func (s *queueSet) nextRequest() *Ticket {
	var best *queue
	var ends, turn = work(math.MaxInt64), math.MaxInt
	for _, q := range s.active {
		if q.waiting.n == 0 {
			continue
		}
		f := q.next + q.waiting.first.width.estimate()
		if f > ends {
			continue
		}
		// The distance of the queue from the one that was served last.
		t := q.index - s.lastServed
		if t <= 0 {
			t += math.MaxInt32
		}
		if f < ends || t < turn {
			best, ends, turn = q, f, t
		}
	}
	return best.waiting.first
}

// fits reports whether the seats are free. A request that is wider than the level fits if
// nothing else executes.
func (s *queueSet) fits(seats int) bool {
	switch {
	case s.config.mode == modeExempt:
		return true
	case seats > s.limit:
		return s.executing == 0
	}
	return s.seatsInUse+seats <= s.limit
}

// execute occupies the seats of a request and counts it.
func (s *queueSet) execute(now time.Time, r *Ticket) {
	if q := r.queue; q != nil {
		// S = max(R at the arrival, F of the previous request)
		q.next = max(q.next, r.arrivalR) + r.width.estimate()
		r.width = r.width.within(s.limit)
		q.executing++
		q.seatsInUse += r.width.seats()
	}
	r.state, r.started = stateExecuting, now
	s.executing++
	s.seatsInUse += r.width.seats()
	s.running.push(r)

	t, f := &s.stats, r.flow
	t.dispatches++
	t.demand.max = max(t.demand.max, s.seatsWaiting+s.seatsInUse)
	f.dispatched++
	if r.queue != nil {
		t.dispatchR, t.latestS = s.r, r.queue.next-r.width.estimate()
	}
}

// queue holds the waiting requests of some flows of a level, in the order of arrival, and
// counts its executing requests. An idle queue has no state, so queueSet has no queue for
// it.
type queue struct {
	index int
	// next is S, the virtual time at which the next request begins.
	next       work
	waiting    requestList
	executing  int
	seatsInUse int
	// sums over the waiting requests
	seatsWaiting, initialWaiting int
	workWaiting                  work
	activeIndex                  int // index in queueSet.active
}

func (q *queue) push(r *Ticket) {
	q.waiting.push(r)
	q.seatsWaiting += r.width.seats()
	q.initialWaiting += r.width.Initial
	q.workWaiting += r.width.estimate()
}

func (q *queue) remove(r *Ticket) {
	q.waiting.remove(r)
	q.seatsWaiting -= r.width.seats()
	q.initialWaiting -= r.width.Initial
	q.workWaiting -= r.width.estimate()
}

func (q *queue) idle() bool { return q.waiting.n == 0 && q.executing == 0 }

// requestList is an intrusive doubly linked list.
type requestList struct {
	first, last *Ticket
	n           int
}

func (l *requestList) push(r *Ticket) {
	r.prev, r.next = l.last, nil
	if l.last == nil {
		l.first = r
	} else {
		l.last.next = r
	}
	l.last = r
	l.n++
}

func (l *requestList) remove(r *Ticket) {
	if r.prev == nil {
		l.first = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next == nil {
		l.last = r.prev
	} else {
		r.next.prev = r.prev
	}
	r.prev, r.next = nil, nil
	l.n--
}
