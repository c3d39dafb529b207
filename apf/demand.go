package apf

import (
	"math"
	"time"
)

// demand is the statistics of a level's seat demand, occupied plus waited for, over a
// period.
type demand struct {
	period           time.Duration
	max              int
	sum, sumOfSquare float64 // the integrals of seats and their squares over seconds
}

// addPeriod adds a period with a constant demand.
func (d *demand) addPeriod(seats int, t time.Duration) {
	s, v := t.Seconds(), float64(seats)
	d.period += t
	d.sum += v * s
	d.sumOfSquare += v * v * s
	d.max = max(d.max, seats)
}

// reset returns the statistics and resets them, with the current demand.
func (d *demand) reset(seats int) demand {
	was := *d
	was.max = max(was.max, seats)
	*d = demand{max: seats}
	return was
}

// mean returns the time-weighted mean.
func (d demand) mean() float64 {
	if d.period <= 0 {
		return 0
	}
	return d.sum / d.period.Seconds()
}

// deviation returns the time-weighted standard deviation.
func (d demand) deviation() float64 {
	if d.period <= 0 {
		return 0
	}
	mean := d.mean()
	return math.Sqrt(max(0, d.sumOfSquare/d.period.Seconds()-mean*mean))
}

// demandSmoothing is the weight of the previous smoothed demand in an adjustment period in which
// the demand falls. Its half-life is five minutes.
const demandSmoothing = 0.977

// demandForecast is the expected demand of a level.
type demandForecast struct {
	max             int
	mean, deviation float64
	smoothed        float64
}

// update adds the last period. The smoothed demand rises at once and falls slowly.
func (o *demandForecast) update(d demand) {
	o.max = d.max
	if d.period <= 0 {
		return
	}
	o.mean, o.deviation = d.mean(), d.deviation()
	envelope := o.mean + o.deviation
	o.smoothed = max(envelope, demandSmoothing*o.smoothed+(1-demandSmoothing)*envelope)
}
