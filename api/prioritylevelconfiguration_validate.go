package api

import (
	"fmt"
	"math"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

const (
	maxQueues = 10_000_000
	// maxHashBits is how much of a flow's hash can serve to deal its hand.
	maxHashBits = 60

	defaultShares      = 30
	defaultQueues      = 64
	defaultHandSize    = 8
	defaultQueueLength = 50
)

func priorityLevelRules(at *place, p *flowcontrolv1.PriorityLevelConfiguration) {
	spec := at.of("spec")
	priorityLevelSpecRules(spec, p.Name, &p.Spec)
	if want := MandatoryPriorityLevel(p); want != nil && !equality.Semantic.DeepEqual(p.Spec, *want) {
		except := ""
		if p.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt {
			except = " except the 'spec.exempt' field"
		}
		spec.invalid(p.Spec, fmt.Sprintf("spec of '%s'%s must equal the fixed value", p.Name, except))
	}
	priorityLevelStatusRules(at, p, nil)
}

func priorityLevelSpecRules(at *place, name string, s *flowcontrolv1.PriorityLevelConfigurationSpec) {
	kind := at.of("type")
	if (name == flowcontrolv1.PriorityLevelConfigurationNameExempt) != (s.Type == flowcontrolv1.PriorityLevelEnablementExempt) {
		kind.invalid(s.Type, "must be 'Exempt' if and only if `name` is 'exempt'")
	}
	switch s.Type {
	case flowcontrolv1.PriorityLevelEnablementExempt:
		if s.Limited != nil {
			at.of("limited").forbidden("must be nil if the type is not Limited")
		}
		present(at.of("exempt"), s.Exempt, exemptRules)
	case flowcontrolv1.PriorityLevelEnablementLimited:
		if s.Exempt != nil {
			at.of("exempt").forbidden("must be nil if the type is Limited")
		}
		if s.Limited == nil {
			at.of("limited").required("must not be empty when type is Limited")
		}
		present(at.of("limited"), s.Limited, limitedRules)
	default:
		enum(kind, s.Type, flowcontrolv1.PriorityLevelEnablementExempt, flowcontrolv1.PriorityLevelEnablementLimited)
	}
}

func exemptRules(at *place, e *flowcontrolv1.ExemptPriorityLevelConfiguration) {
	shareRules(at, e.NominalConcurrencyShares, e.LendablePercent)
}

func limitedRules(at *place, l *flowcontrolv1.LimitedPriorityLevelConfiguration) {
	shareRules(at, l.NominalConcurrencyShares, nil)
	limitResponseRules(at.of("limitResponse"), &l.LimitResponse)
	shareRules(at, nil, l.LendablePercent)
	if b := l.BorrowingLimitPercent; b != nil && *b < 0 {
		at.of("borrowingLimitPercent").invalid(*b, "if specified, must be a non-negative integer")
	}
}

func shareRules(at *place, shares, lendable *int32) {
	if shares != nil && *shares < 0 {
		at.of("nominalConcurrencyShares").invalid(*shares, "must be a non-negative integer")
	}
	if lendable != nil && (*lendable < 0 || *lendable > 100) {
		at.of("lendablePercent").invalid(*lendable, "must be between 0 and 100, inclusive")
	}
}

func limitResponseRules(at *place, r *flowcontrolv1.LimitResponse) {
	queuing := at.of("queuing")
	switch r.Type {
	case flowcontrolv1.LimitResponseTypeReject:
		if r.Queuing != nil {
			queuing.forbidden("must be nil if limited.limitResponse.type is not Limited")
		}
	case flowcontrolv1.LimitResponseTypeQueue:
		if r.Queuing == nil {
			queuing.required("must not be empty if limited.limitResponse.type is Limited")
		}
		present(queuing, r.Queuing, queuingRules)
	default:
		enum(at.of("type"), r.Type, flowcontrolv1.LimitResponseTypeQueue, flowcontrolv1.LimitResponseTypeReject)
	}
}

func queuingRules(at *place, q *flowcontrolv1.QueuingConfiguration) {
	const low = "must be positive"
	if q.QueueLengthLimit <= 0 {
		at.of("queueLengthLimit").invalid(q.QueueLengthLimit, low)
	}
	switch queues := at.of("queues"); {
	case q.Queues <= 0:
		queues.invalid(q.Queues, low)
	case q.Queues > maxQueues:
		queues.invalid(q.Queues, fmt.Sprintf("must not be greater than %d", maxQueues))
	}
	switch hand := at.of("handSize"); {
	case q.HandSize <= 0:
		hand.invalid(q.HandSize, low)
	case q.HandSize > q.Queues:
		hand.invalid(q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues))
	case handBits(q.Queues, q.HandSize) > maxHashBits:
		hand.invalid(q.HandSize, fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d",
			q.Queues, q.HandSize, maxHashBits))
	}
}

// handBits is how many bits it takes to number the hands of a deck.
func handBits(deck, hand int32) int {
	return int(math.Ceil(math.Log2(float64(deck)) * float64(hand)))
}

func priorityLevelStatusRules(at *place, p, _ *flowcontrolv1.PriorityLevelConfiguration) {
	var types unique[flowcontrolv1.PriorityLevelConfigurationConditionType]
	each(at.of("status").of("conditions"), p.Status.Conditions, func(at *place, c *flowcontrolv1.PriorityLevelConfigurationCondition) {
		conditionType(at.of("type"), c.Type, &types)
	})
}

// MandatoryPriorityLevel is the one form of the two levels that no server can do
// without, which has p's name; nil for any other name. How many seats the exempt
// one counts as having is free, and as in p.
func MandatoryPriorityLevel(p *flowcontrolv1.PriorityLevelConfiguration) *flowcontrolv1.PriorityLevelConfigurationSpec {
	switch p.Name {
	case flowcontrolv1.PriorityLevelConfigurationNameExempt:
		exempt := p.Spec.Exempt
		if exempt == nil {
			exempt = &flowcontrolv1.ExemptPriorityLevelConfiguration{NominalConcurrencyShares: new(int32), LendablePercent: new(int32)}
		}
		return &flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementExempt, Exempt: exempt}
	case flowcontrolv1.PriorityLevelConfigurationNameCatchAll:
		shares, lendable := int32(5), int32(0)
		return &flowcontrolv1.PriorityLevelConfigurationSpec{
			Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: &shares,
				LendablePercent:          &lendable,
				LimitResponse:            flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
			},
		}
	}
	return nil
}

func defaultPriorityLevel(obj Object) {
	s := &obj.(*flowcontrolv1.PriorityLevelConfiguration).Spec
	if s.Type == flowcontrolv1.PriorityLevelEnablementExempt && s.Exempt == nil {
		s.Exempt = &flowcontrolv1.ExemptPriorityLevelConfiguration{}
	}
	if e := s.Exempt; e != nil {
		setDefault(&e.NominalConcurrencyShares, 0)
		setDefault(&e.LendablePercent, 0)
	}
	l := s.Limited
	if l == nil {
		return
	}
	setDefault(&l.NominalConcurrencyShares, defaultShares)
	setDefault(&l.LendablePercent, 0)
	if q := l.LimitResponse.Queuing; q != nil {
		for _, f := range []struct {
			value *int32
			is    int32
		}{{&q.Queues, defaultQueues}, {&q.HandSize, defaultHandSize}, {&q.QueueLengthLimit, defaultQueueLength}} {
			if *f.value == 0 {
				*f.value = f.is
			}
		}
	}
}
