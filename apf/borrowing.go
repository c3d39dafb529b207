package apf

import (
	"errors"
	"math"
	"slices"
)

// seatShare is the part of one level in a division of seats.
type seatShare struct {
	min, max float64
	// target is the number of seats that the level wants.
	target float64
}

// minTarget replaces targets of 0, so that levels without demand share the seats that
// remain.
const minTarget = 0.001

var errShares = errors.New("the seats cannot be divided within the bounds")

// divideSeats divides seats: each share gets the same multiple of its target, within its
// bounds. It returns what each gets, and the multiple.
//
// As a function of the multiple, each share is piecewise linear: constant up to
// min/target, then rising, then constant from max/target on. So is their sum, with bends
// at the bends of its parts. Between two bends, linear interpolation finds the multiple for
// a sum.
func divideSeats(seats float64, shares []seatShare) (got []float64, multiple float64, err error) {
	shares = slices.Clone(shares)
	var breakpoints []float64
	var minSum, maxSum float64
	for i := range shares {
		s := &shares[i]
		if s.target = max(s.target, minTarget); s.min > s.max {
			return nil, 0, errShares
		}
		minSum, maxSum = minSum+s.min, maxSum+s.max
		breakpoints = append(breakpoints, s.min/s.target, s.max/s.target)
	}
	const tolerance = 1e-6
	if seats < minSum-tolerance || seats > maxSum+tolerance || len(shares) == 0 {
		return nil, 0, errShares
	}
	slices.Sort(breakpoints)
	multiple = breakpoints[len(breakpoints)-1]
	for i, breakpoint := range breakpoints {
		above := totalSeats(shares, breakpoint)
		if above < seats {
			continue
		}
		multiple = breakpoint
		if i > 0 {
			if below := totalSeats(shares, breakpoints[i-1]); above > below {
				multiple = breakpoints[i-1] + (breakpoint-breakpoints[i-1])*(seats-below)/(above-below)
			}
		}
		break
	}
	for _, s := range shares {
		got = append(got, s.at(multiple))
	}
	return got, multiple, nil
}

func (s seatShare) at(multiple float64) float64 { return max(s.min, min(s.max, multiple*s.target)) }

func totalSeats(shares []seatShare, multiple float64) (sum float64) {
	for _, s := range shares {
		sum += s.at(multiple)
	}
	return sum
}

// seatLimits are the configured numbers of seats of a level: its share of all seats, the
// minimum after lending, and the maximum with borrowed seats.
type seatLimits struct {
	nominal, min, max int
}

// borrower is a level with respect to borrowing.
type borrower struct {
	seatLimits
	forecast demandForecast
	exempt   bool
	// seats is the current number of seats.
	seats int
}

// reservedSeats returns the seats that the level does not lend: its maximum demand in the last
// period, up to its nominal seats.
func (b *borrower) reservedSeats() int { return max(b.min, min(b.nominal, b.forecast.max)) }

// target returns the number of seats that the level wants.
func (b *borrower) target() float64 { return max(float64(b.reservedSeats()), b.forecast.smoothed) }

// adjustSeats moves seats from levels with unused seats to levels with demand, and returns the
// fair multiple of their targets. Exempt levels are not limited; their seats are deducted
// first.
func adjustSeats(seats int, levels []*borrower) (multiple float64) {
	var limited []*borrower
	var minSeats, needed int
	for _, b := range levels {
		if b.exempt {
			b.seats = b.reservedSeats()
			seats -= b.seats
			continue
		}
		limited = append(limited, b)
		minSeats += b.min
		needed += b.reservedSeats()
	}
	switch {
	case seats <= minSeats:
		for _, b := range limited {
			b.seats = b.min
		}
		return 0
	case seats <= needed:
		part := float64(seats-minSeats) / float64(needed-minSeats)
		for _, b := range limited {
			b.seats = int(math.Round(float64(b.min) + part*float64(b.reservedSeats()-b.min)))
		}
		return 0
	}
	shares := make([]seatShare, len(limited))
	for i, b := range limited {
		shares[i] = seatShare{min: float64(b.reservedSeats()), max: float64(max(b.max, b.reservedSeats())), target: b.target()}
	}
	got, multiple, err := divideSeats(float64(seats), shares)
	if err != nil { // the levels may not borrow all that remains, so each gets its maximum
		for _, b := range limited {
			b.seats = max(b.max, b.reservedSeats())
		}
		return 0
	}
	for i, b := range limited {
		b.seats = int(math.Round(got[i]))
	}
	return multiple
}
