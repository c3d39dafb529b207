package apf

import (
	"errors"
	"math"
	"slices"
)

// share is what a level may get when seats are shared out.
type share struct {
	least, most float64
	// target is what it would like to have.
	target float64
}

// leastTarget stands for no target at all: what is left over goes to those who
// want nothing too.
const leastTarget = 0.001

var errShares = errors.New("the bounds leave no way to share out the seats")

// shareOut shares out so many seats: each gets the same multiple of its target,
// as far as its bounds allow. It returns what each gets, and the multiple.
//
// What a share gets grows with the multiple in three pieces: constant up to
// least/target, then linear, then constant from most/target on. So does the sum,
// with a bend wherever one of its parts has one; between two bends the multiple
// for a sum is found by a division.
func shareOut(seats float64, shares []share) (got []float64, multiple float64, err error) {
	shares = slices.Clone(shares)
	var bends []float64
	var least, most float64
	for i := range shares {
		s := &shares[i]
		if s.target = max(s.target, leastTarget); s.least > s.most {
			return nil, 0, errShares
		}
		least, most = least+s.least, most+s.most
		bends = append(bends, s.least/s.target, s.most/s.target)
	}
	const tolerance = 1e-6
	if seats < least-tolerance || seats > most+tolerance || len(shares) == 0 {
		return nil, 0, errShares
	}
	slices.Sort(bends)
	multiple = bends[len(bends)-1]
	for i, bend := range bends {
		above := total(shares, bend)
		if above < seats {
			continue
		}
		multiple = bend
		if i > 0 {
			if below := total(shares, bends[i-1]); above > below {
				multiple = bends[i-1] + (bend-bends[i-1])*(seats-below)/(above-below)
			}
		}
		break
	}
	for _, s := range shares {
		got = append(got, s.at(multiple))
	}
	return got, multiple, nil
}

func (s share) at(multiple float64) float64 { return max(s.least, min(s.most, multiple*s.target)) }

func total(shares []share, multiple float64) (sum float64) {
	for _, s := range shares {
		sum += s.at(multiple)
	}
	return sum
}

// bounds are what a level's number of seats is configured to.
type bounds struct {
	// nominal is its share of all seats; least is left when it has lent what it
	// may lend, and most reached when it has borrowed what it may borrow.
	nominal, least, most int
}

// borrower is a level when seats are moved between them.
type borrower struct {
	bounds
	outlook outlook
	exempt  bool
	// seats is what it has now.
	seats int
}

// needs is what is not lent of a level: what it used lately, up to its nominal
// seats.
func (b *borrower) needs() int { return max(b.least, min(b.nominal, b.outlook.most)) }

// target is what the level would like to have.
func (b *borrower) target() float64 { return max(float64(b.needs()), b.outlook.smoothed) }

// adjust moves seats between levels, from those that need fewer than they have to
// those that want more, and returns the fair multiple of their targets. Exempt
// levels are not limited: what they need is taken off first.
func adjust(seats int, levels []*borrower) (multiple float64) {
	var limited []*borrower
	var least, needed int
	for _, b := range levels {
		if b.exempt {
			b.seats = b.needs()
			seats -= b.seats
			continue
		}
		limited = append(limited, b)
		least += b.least
		needed += b.needs()
	}
	switch {
	case seats <= least:
		for _, b := range limited {
			b.seats = b.least
		}
		return 0
	case seats <= needed:
		part := float64(seats-least) / float64(needed-least)
		for _, b := range limited {
			b.seats = int(math.Round(float64(b.least) + part*float64(b.needs()-b.least)))
		}
		return 0
	}
	shares := make([]share, len(limited))
	for i, b := range limited {
		shares[i] = share{least: float64(b.needs()), most: float64(max(b.most, b.needs())), target: b.target()}
	}
	got, multiple, err := shareOut(float64(seats), shares)
	if err != nil { // nobody may borrow what is left: each gets what it may have
		for _, b := range limited {
			b.seats = max(b.most, b.needs())
		}
		return 0
	}
	for i, b := range limited {
		b.seats = int(math.Round(got[i]))
	}
	return multiple
}
