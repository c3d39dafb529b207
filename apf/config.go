package apf

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
)

// level is a priority level. Requests read its set and the atomic values; the other fields
// are guarded by Limiter.mu.
type level struct {
	name string
	set  *queueSet
	// maxRequestSeats is the maximum width of one request; 0 means that the level sets none.
	maxRequestSeats atomic.Int64
	// quiescing is set when the level was deleted and still has requests.
	quiescing atomic.Bool

	uid  string
	spec flowcontrolv1.PriorityLevelConfigurationSpec
	borrower
	seen demand // demand over the last adjustment period
}

// validateLevel returns an error if a priority level is invalid in a way that validation
// should have rejected. Invalid levels are ignored.
func validateLevel(p *flowcontrolv1.PriorityLevelConfiguration) error {
	s := &p.Spec
	switch isExempt := s.Type == flowcontrolv1.PriorityLevelEnablementExempt; {
	case isExempt != (p.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt):
		return errors.New("exactly the level named exempt must have type Exempt")
	case isExempt != (s.Exempt != nil) || isExempt == (s.Limited != nil):
		return errors.New("type does not match the settings")
	case isExempt:
		return nil
	}
	q := s.Limited.LimitResponse.Queuing
	if (q != nil) != (s.Limited.LimitResponse.Type == flowcontrolv1.LimitResponseTypeQueue) {
		return errors.New("type of the limit response does not match its settings")
	}
	if q == nil {
		return nil
	}
	_, err := newDealer(int(q.Queues), int(q.HandSize))
	return err
}

// queuingConfigOf returns how requests of a valid level queue.
func queuingConfigOf(s *flowcontrolv1.PriorityLevelConfigurationSpec) queuingConfig {
	if s.Limited == nil {
		return queuingConfig{mode: modeExempt}
	}
	q := s.Limited.LimitResponse.Queuing
	if q == nil {
		return queuingConfig{mode: modeReject}
	}
	return queuingConfig{mode: modeQueue, dealer: dealer{int(q.Queues), int(q.HandSize)}, length: int(q.QueueLengthLimit)}
}

// shareSettings returns the shares of a level, and the percentages of its seats that it may
// lend and borrow.
func shareSettings(s *flowcontrolv1.PriorityLevelConfigurationSpec) (shares int, lends int, borrows *int32) {
	value := func(p *int32, unset int) int {
		if p == nil {
			return unset
		}
		return int(*p)
	}
	const defaultShares = 30 // for limited levels
	if s.Limited == nil {
		return value(s.Exempt.NominalConcurrencyShares, 0), value(s.Exempt.LendablePercent, 0), nil
	}
	return value(s.Limited.NominalConcurrencyShares, defaultShares), value(s.Limited.LendablePercent, 0), s.Limited.BorrowingLimitPercent
}

// levelBounds returns the number of seats that a level has by default, at least and at most, if
// seats are divided in proportion to the shares, whose total is sum.
func levelBounds(s *flowcontrolv1.PriorityLevelConfigurationSpec, seats, sum int) seatLimits {
	shares, lends, borrows := shareSettings(s)
	part := func(of int, percent int) int { return int(math.Round(float64(of) * float64(percent) / 100)) }
	var b seatLimits
	if sum > 0 {
		b.nominal = int(math.Ceil(float64(seats) * float64(shares) / float64(sum)))
	}
	b.min = b.nominal - part(b.nominal, lends)
	b.max = b.nominal + seats
	if borrows != nil {
		b.max = b.nominal + part(b.nominal, int(*borrows))
	}
	return b
}

// maxSeatsPerRequest returns the maximum width of one request of a level: 15 percent of its
// seats, and few enough that requests in all queues of one flow leave seats to other flows.
func maxSeatsPerRequest(nominal int, q queuingConfig) int {
	if q.mode != modeQueue {
		return 0
	}
	return max(1, min(int(math.Ceil(float64(nominal)*0.15)), nominal/q.hand))
}

// Configure replaces the configuration. Waiting requests keep waiting until they are served,
// even in levels that are deleted.
func (l *Limiter) Configure(schemas []*flowcontrolv1.FlowSchema, levels []*flowcontrolv1.PriorityLevelConfiguration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	levels, schemas = withMandatory(levels, schemas)
	wanted := map[string]bool{}
	for _, p := range levels {
		if err := validateLevel(p); err != nil {
			l.log.Warn("invalid priority level ignored", "name", p.Name, "error", err)
			continue
		}
		wanted[p.Name] = true
		l.applyLevel(now, p)
	}
	l.current.Store(l.classifierOf(schemas, wanted))
	for name, v := range l.levels {
		if wanted[name] {
			continue
		}
		v.quiescing.Store(true)
		l.removeIfIdle(name, v)
	}
	l.allocateSeats(now)
}

// withMandatory adds the mandatory objects that are missing and sorts the schemas by precedence.
func withMandatory(levels []*flowcontrolv1.PriorityLevelConfiguration,
	schemas []*flowcontrolv1.FlowSchema) ([]*flowcontrolv1.PriorityLevelConfiguration, []*flowcontrolv1.FlowSchema) {
	levels, schemas = slices.Clone(levels), slices.Clone(schemas)
	d := mandatoryObjects()
	for _, m := range d.levels {
		if !slices.ContainsFunc(levels, func(p *flowcontrolv1.PriorityLevelConfiguration) bool {
			return p.Name == m.Name && validateLevel(p) == nil
		}) {
			levels = append(levels, m)
		}
	}
	for _, m := range d.schemas {
		if !slices.ContainsFunc(schemas, func(s *flowcontrolv1.FlowSchema) bool { return s.Name == m.Name }) {
			schemas = append(schemas, m)
		}
	}
	slices.SortFunc(schemas, byPrecedence)
	return levels, schemas
}

// applyLevel creates or updates a level from its object; allocateSeats sets its seats later.
func (l *Limiter) applyLevel(now time.Time, p *flowcontrolv1.PriorityLevelConfiguration) {
	v, config := l.levels[p.Name], queuingConfigOf(&p.Spec)
	if v == nil {
		v = &level{name: p.Name, set: newQueueSet(p.Name, config, now), borrower: borrower{exempt: config.mode == modeExempt}}
		if past, ok := l.past[p.Name]; ok {
			v.set.stats.resume(past)
			delete(l.past, p.Name)
		}
		l.levels[p.Name] = v
	}
	v.uid, v.spec = string(p.UID), *p.Spec.DeepCopy()
	v.quiescing.Store(false)
	v.set.reconfigure(now, config)
	v.set.beginFlows()
}

// classifierOf compiles the schemas whose levels exist.
func (l *Limiter) classifierOf(schemas []*flowcontrolv1.FlowSchema, levels map[string]bool) *classifier {
	c := newClassifier()
	for _, s := range schemas {
		name := s.Spec.PriorityLevelConfiguration.Name
		if !levels[name] {
			continue
		}
		v := l.levels[name]
		f := &flowSchema{name: s.Name, uid: []string{string(s.UID)}, level: v, levelUID: []string{v.uid},
			stats: v.set.flow(s.Name), hashed: queuingConfigOf(&v.spec).deck > 1}
		if m := s.Spec.DistinguisherMethod; m != nil {
			f.by = m.Type
		}
		c.add(f, s.Spec.DeepCopy().Rules)
	}
	return c
}

// allocateSeats divides all seats among all levels, including quiescing ones.
func (l *Limiter) allocateSeats(now time.Time) {
	sum := 0
	for _, v := range l.levels {
		shares, _, _ := shareSettings(&v.spec)
		sum += shares
	}
	l.seats = 0
	places := 0
	for _, v := range l.levels {
		v.seatLimits = levelBounds(&v.spec, l.total, sum)
		v.maxRequestSeats.Store(int64(maxSeatsPerRequest(v.nominal, queuingConfigOf(&v.spec))))
		l.seats += v.nominal
		places += queuingConfigOf(&v.spec).capacity()
	}
	l.inflight.setLimits(places, l.seats)
	l.adjustSeats(now)
}

// adjustSeats moves seats between levels by their demand in the last period.
func (l *Limiter) adjustSeats(now time.Time) {
	var all []*borrower
	for _, v := range l.levels {
		v.seen = v.set.resetDemand(now)
		v.forecast.update(v.seen)
		all = append(all, &v.borrower)
	}
	l.multiple = adjustSeats(l.seats, all)
	for _, v := range l.levels {
		denominator := v.seats
		if denominator <= 0 {
			denominator = max(1, int(math.Round(float64(l.total)/10)))
		}
		v.set.setLimit(now, v.seats, denominator)
	}
}

// maxPastLevels is the maximum number of removed levels whose statistics are kept.
const maxPastLevels = 100

// removeIfIdle removes a level if it is idle.
func (l *Limiter) removeIfIdle(name string, v *level) bool {
	if !v.set.retire() {
		return false
	}
	delete(l.levels, name)
	l.retry.forget(name)
	if len(l.past) < maxPastLevels {
		l.past[name] = v.set.stats // nobody else uses them any more
	}
	return true
}

// removeIdleLevels removes the deleted levels that are idle now and divides their seats.
func (l *Limiter) removeIdleLevels() {
	l.mu.Lock()
	defer l.mu.Unlock()
	reaped := false
	for name, v := range l.levels {
		reaped = v.quiescing.Load() && l.removeIfIdle(name, v) || reaped
	}
	if reaped {
		l.allocateSeats(l.clock.Now())
	}
}
