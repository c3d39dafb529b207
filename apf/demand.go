package apf

import (
	"math"
	"time"
)

// demand is what a level's demand for seats, those that are taken and those that
// are waited for, was like over some time.
type demand struct {
	over             time.Duration
	most             int
	sum, sumOfSquare float64 // seats, and their squares, times seconds
}

// pass notes that the demand was so many seats for a time.
func (d *demand) pass(seats int, t time.Duration) {
	s, v := t.Seconds(), float64(seats)
	d.over += t
	d.sum += v * s
	d.sumOfSquare += v * v * s
	d.most = max(d.most, seats)
}

// see notes a demand that may last no time at all.
func (d *demand) see(seats int) { d.most = max(d.most, seats) }

// take returns what was noted, and begins again with what the demand is now.
func (d *demand) take(seats int) demand {
	was := *d
	was.see(seats)
	*d = demand{most: seats}
	return was
}

// mean and deviation are weighted by time.
func (d demand) mean() float64 {
	if d.over <= 0 {
		return 0
	}
	return d.sum / d.over.Seconds()
}

func (d demand) deviation() float64 {
	if d.over <= 0 {
		return 0
	}
	mean := d.mean()
	return math.Sqrt(max(0, d.sumOfSquare/d.over.Seconds()-mean*mean))
}

// smoothing is how much of the past the smoothed demand keeps, over one
// adjustment period, when demand falls: half of it is gone after five minutes.
const smoothing = 0.977

// outlook is what is expected of a level's demand.
type outlook struct {
	most           int
	mean, deviates float64
	smoothed       float64
}

// update takes in what was seen last. The smoothed demand rises at once and
// falls slowly.
func (o *outlook) update(d demand) {
	o.most = d.most
	if d.over <= 0 {
		return
	}
	o.mean, o.deviates = d.mean(), d.deviation()
	envelope := o.mean + o.deviates
	o.smoothed = max(envelope, smoothing*o.smoothed+(1-smoothing)*envelope)
}
