package apf

import (
	"math"
	"time"
)

// dispatch lets requests execute as long as there are seats for who is next.
// Who is next and finds too few seats waits for them, and the others with it: or
// wide requests would never get theirs.
func (s *queueSet) dispatch(now time.Time) {
	for s.waiting > 0 {
		r := s.nextRequest()
		if !s.fits(r.width.seats()) {
			s.stats.unaccommodated(r)
			return
		}
		s.robin = r.queue.index
		s.unqueue(r)
		s.execute(now, r)
		s.stats.left(r, now, true)
		if r.decided != nil {
			close(r.decided)
		}
	}
}

// nextRequest is the oldest of the queue whose next request ends first, in
// virtual time. Among equals queues take turns.
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
		// How far the queue is behind the one that was served last.
		t := q.index - s.robin
		if t <= 0 {
			t += math.MaxInt32
		}
		if f < ends || t < turn {
			best, ends, turn = q, f, t
		}
	}
	return best.waiting.first
}

// fits tells whether there are so many seats. One who wants more than there are
// at all gets them when nobody else has any.
func (s *queueSet) fits(seats int) bool {
	switch {
	case s.how.mode == exempt:
		return true
	case seats > s.limit:
		return s.executing == 0
	}
	return s.seatsInUse+seats <= s.limit
}

// execute gives a request its seats.
func (s *queueSet) execute(now time.Time, r *Ticket) {
	if q := r.queue; q != nil {
		// S = max(R at the arrival, F of the one before)
		q.next = max(q.next, r.arrivalR) + r.width.estimate()
		r.width = r.width.within(s.limit)
		q.executing++
		q.seatsInUse += r.width.seats()
	}
	r.state, r.started = executing, now
	s.executing++
	s.seatsInUse += r.width.seats()
	s.running.push(r)
	s.stats.dispatched(r, s)
}
