package apf

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
