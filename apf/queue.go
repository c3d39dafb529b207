package apf

// queue holds the requests of some flows of a level: those that wait, in the
// order in which they came, and how many of its requests execute. A queue
// without any request has no state, and no queue is kept for it.
type queue struct {
	index int
	// next is S, the virtual time at which its next request begins.
	next       work
	waiting    requestList
	executing  int
	seatsInUse int
	// sums of what waits
	seatsWaiting, initialWaiting int
	workWaiting                  work
	place                        int // in queueSet.active
}

func (q *queue) push(r *Ticket) {
	q.waiting.push(r)
	q.seatsWaiting += r.width.seats()
	q.initialWaiting += r.width.Initial
	q.workWaiting += r.width.estimate()
}

func (q *queue) take(r *Ticket) {
	q.waiting.remove(r)
	q.seatsWaiting -= r.width.seats()
	q.initialWaiting -= r.width.Initial
	q.workWaiting -= r.width.estimate()
}

func (q *queue) idle() bool { return q.waiting.n == 0 && q.executing == 0 }

// requestList is a list that requests are in by their own links.
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
