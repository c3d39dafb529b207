package apf

import (
	"math"
	"time"
)

// Width is how much of a server a request takes: so many seats while it
// executes, and then, after it was answered, Final seats for another time.
type Width struct {
	Initial, Final int
	Extra          time.Duration
}

// seats is how many seats the request takes, from the start to the end: those
// that it needs last are not given away in between.
func (w Width) seats() int { return max(w.Initial, w.Final) }

// estimate is the work that the request is thought to be.
func (w Width) estimate() work { return workOf(w.Initial, guess) + workOf(w.Final, w.Extra) }

// within reduces the final seats to those that there are, for a longer time.
func (w Width) within(limit int) Width {
	if limit = max(limit, 1); w.Final > limit {
		w.Extra = workOf(w.Final, w.Extra).spread(limit)
		w.Final = limit
	}
	return w
}

// What widths are estimated from; kube-apiserver's values.
const (
	// bytesPerSeat is how much a list may hold in memory for each of its seats,
	// and cachedListBytes the most that it holds: lists are sent in parts.
	bytesPerSeat    = 100_000
	cachedListBytes = 1_000_000
	// maxListSeats and maxWriteSeats are what no request exceeds.
	maxListSeats  = 100
	maxWriteSeats = 10
	// watchersPerSeat is how many watchers take a seat for eventTime.
	watchersPerSeat = 10
	eventTime       = 5 * time.Millisecond
)

// ListShape is what a list, or a watch that begins with one, asks for.
type ListShape struct {
	// One: by name, at most one object.
	One bool
	// Limit is that of a page; 0 means all.
	Limit int64
	// Selects: by labels or fields, so that objects are looked at in vain.
	Selects bool
}

// Objects is what there is of a resource.
type Objects struct {
	Count int64
	// Bytes is their size together.
	Bytes int64
}

// listWidth is that of a list. Its seats are the memory that it holds at once:
// that of the objects in it or, where it selects, of those it looks at.
func listWidth(have Objects, shape ListShape, most int) Width {
	count := have.Count
	if shape.Limit > 0 {
		count = min(count, shape.Limit)
	}
	switch {
	case shape.One:
		count = min(have.Count, 1)
	case shape.Selects:
		count = max(count, have.Count/2)
	}
	var size float64
	if have.Count > 0 {
		size = float64(have.Bytes) / float64(have.Count) * float64(count)
	}
	seats := int(math.Ceil(min(size, cachedListBytes) / bytesPerSeat))
	return Width{Initial: max(1, min(seats, most, maxListSeats))}
}

// writeWidth is that of a write that so many watchers will be told of. They are
// served side by side, but take seats for some time after the answer: few for
// long rather than many, so that the write need not wait for them.
func writeWidth(watchers, most int) Width {
	w := Width{Initial: 1}
	if watchers >= watchersPerSeat {
		seats := (watchers + watchersPerSeat - 1) / watchersPerSeat
		w.Final = max(1, min(seats, most, maxWriteSeats))
		w.Extra = workOf(seats, eventTime).spread(w.Final)
	}
	return w
}
