package apf

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
)

// level is a priority level. Requests know it by what does not change, its set,
// and the atomic values; the rest is guarded by Limiter.mu.
type level struct {
	name string
	set  *queueSet
	// most is the most seats that one request is estimated to take; 0 means
	// that the level sets no bound.
	most atomic.Int64
	// quiescing: the level is deleted, but requests of it are still here.
	quiescing atomic.Bool

	uid  string
	spec flowcontrolv1.PriorityLevelConfigurationSpec
	borrower
	seen demand // over the last adjustment period
}

// sound tells what is wrong with a priority level, that validation should have
// found. Those that are not sound are as if they were not there.
func sound(p *flowcontrolv1.PriorityLevelConfiguration) error {
	s := &p.Spec
	switch isExempt := s.Type == flowcontrolv1.PriorityLevelEnablementExempt; {
	case isExempt != (p.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt):
		return errors.New("the level named exempt, and no other, is exempt")
	case isExempt != (s.Exempt != nil) || isExempt == (s.Limited != nil):
		return errors.New("the type is not that of the settings")
	case isExempt:
		return nil
	}
	q := s.Limited.LimitResponse.Queuing
	if (q != nil) != (s.Limited.LimitResponse.Type == flowcontrolv1.LimitResponseTypeQueue) {
		return errors.New("the type of the limit response is not that of its settings")
	}
	if q == nil {
		return nil
	}
	_, err := newDealer(int(q.Queues), int(q.HandSize))
	return err
}

// queuingOf is how requests of a sound level queue.
func queuingOf(s *flowcontrolv1.PriorityLevelConfigurationSpec) queuing {
	if s.Limited == nil {
		return queuing{mode: exempt}
	}
	q := s.Limited.LimitResponse.Queuing
	if q == nil {
		return queuing{mode: rejecting}
	}
	return queuing{mode: queueing, dealer: dealer{int(q.Queues), int(q.HandSize)}, length: int(q.QueueLengthLimit)}
}

// terms are what levels of both kinds have: the share of the seats, and the
// percentages of it that may be lent and borrowed.
func terms(s *flowcontrolv1.PriorityLevelConfigurationSpec) (shares int, lends int, borrows *int32) {
	value := func(p *int32, unset int) int {
		if p == nil {
			return unset
		}
		return int(*p)
	}
	const defaultShares = 30 // of limited levels
	if s.Limited == nil {
		return value(s.Exempt.NominalConcurrencyShares, 0), value(s.Exempt.LendablePercent, 0), nil
	}
	return value(s.Limited.NominalConcurrencyShares, defaultShares), value(s.Limited.LendablePercent, 0), s.Limited.BorrowingLimitPercent
}

// boundsOf shares out all seats.
func boundsOf(s *flowcontrolv1.PriorityLevelConfigurationSpec, seats, sum int) bounds {
	shares, lends, borrows := terms(s)
	part := func(of int, percent int) int { return int(math.Round(float64(of) * float64(percent) / 100)) }
	var b bounds
	if sum > 0 {
		b.nominal = int(math.Ceil(float64(seats) * float64(shares) / float64(sum)))
	}
	b.least = b.nominal - part(b.nominal, lends)
	b.most = b.nominal + seats
	if borrows != nil {
		b.most = b.nominal + part(b.nominal, int(*borrows))
	}
	return b
}

// mostSeats is the most that one request of a level takes: 15 percent of its
// seats, and so few that the queues of one flow leave some to the others.
func mostSeats(nominal int, q queuing) int {
	if q.mode != queueing {
		return 0
	}
	return max(1, min(int(math.Ceil(float64(nominal)*0.15)), nominal/q.hand))
}

// Configure makes what the objects say hold at once. Requests that wait go on
// waiting, in levels that are no more too, until they are served.
func (l *Limiter) Configure(schemas []*flowcontrolv1.FlowSchema, levels []*flowcontrolv1.PriorityLevelConfiguration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	levels, schemas = completed(levels, schemas)
	wanted := map[string]bool{}
	for _, p := range levels {
		if err := sound(p); err != nil {
			l.log.Warn("a priority level is ignored", "name", p.Name, "error", err)
			continue
		}
		wanted[p.Name] = true
		l.take(now, p)
	}
	l.current.Store(l.classifierOf(schemas, wanted))
	for name, v := range l.levels {
		if wanted[name] {
			continue
		}
		v.quiescing.Store(true)
		l.drop(name, v)
	}
	l.share(now)
}

// completed adds the mandatory objects where they are missing.
func completed(levels []*flowcontrolv1.PriorityLevelConfiguration, schemas []*flowcontrolv1.FlowSchema) ([]*flowcontrolv1.PriorityLevelConfiguration, []*flowcontrolv1.FlowSchema) {
	levels, schemas = slices.Clone(levels), slices.Clone(schemas)
	d := mandatory()
	for _, m := range d.levels {
		if !slices.ContainsFunc(levels, func(p *flowcontrolv1.PriorityLevelConfiguration) bool { return p.Name == m.Name && sound(p) == nil }) {
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

// take makes a level what its object says, but for its seats.
func (l *Limiter) take(now time.Time, p *flowcontrolv1.PriorityLevelConfiguration) {
	v, how := l.levels[p.Name], queuingOf(&p.Spec)
	if v == nil {
		v = &level{name: p.Name, set: newQueueSet(p.Name, how, now), borrower: borrower{exempt: how.mode == exempt}}
		l.levels[p.Name] = v
	}
	v.uid, v.spec = string(p.UID), *p.Spec.DeepCopy()
	v.quiescing.Store(false)
	v.set.reconfigure(now, how)
	v.set.beginFlows()
}

// classifierOf compiles the schemas that lead to a level that is there.
func (l *Limiter) classifierOf(schemas []*flowcontrolv1.FlowSchema, levels map[string]bool) *classifier {
	c := newClassifier()
	for _, s := range schemas {
		name := s.Spec.PriorityLevelConfiguration.Name
		if !levels[name] {
			continue
		}
		v := l.levels[name]
		f := &flowSchema{name: s.Name, uid: []string{string(s.UID)}, level: v, levelUID: []string{v.uid},
			stats: v.set.flow(s.Name), hashed: queuingOf(&v.spec).deck > 1}
		if m := s.Spec.DistinguisherMethod; m != nil {
			f.by = m.Type
		}
		c.add(f, s.Spec.DeepCopy().Rules)
	}
	return c
}

// share gives every level, those that quiesce too, its part of all seats.
func (l *Limiter) share(now time.Time) {
	sum := 0
	for _, v := range l.levels {
		shares, _, _ := terms(&v.spec)
		sum += shares
	}
	l.seats = 0
	places := 0
	for _, v := range l.levels {
		v.bounds = boundsOf(&v.spec, l.total, sum)
		v.most.Store(int64(mostSeats(v.nominal, queuingOf(&v.spec))))
		l.seats += v.nominal
		places += queuingOf(&v.spec).places()
	}
	l.inflight.setLimits(places, l.seats)
	l.adjust(now)
}

// adjust moves seats between levels by what was seen of their demand.
func (l *Limiter) adjust(now time.Time) {
	var all []*borrower
	for _, v := range l.levels {
		v.seen = v.set.takeDemand(now)
		v.outlook.update(v.seen)
		all = append(all, &v.borrower)
	}
	l.multiple = adjust(l.seats, all)
	for _, v := range l.levels {
		denominator := v.seats
		if denominator <= 0 {
			denominator = max(1, int(math.Round(float64(l.total)/10)))
		}
		v.set.setLimit(now, v.seats, denominator)
	}
}

// drop removes a level if it is empty.
func (l *Limiter) drop(name string, v *level) bool {
	if !v.set.retire() {
		return false
	}
	delete(l.levels, name)
	l.retry.forget(name)
	return true
}

// reap removes levels that were deleted and are empty now, and shares out what
// they had.
func (l *Limiter) reap() {
	l.mu.Lock()
	defer l.mu.Unlock()
	reaped := false
	for name, v := range l.levels {
		reaped = v.quiescing.Load() && l.drop(name, v) || reaped
	}
	if reaped {
		l.share(l.clock.Now())
	}
}
