package flowcontrol

import (
	"fmt"
	"maps"
	"math"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// PriorityLevelConfiguration describes the kind PriorityLevelConfiguration, the share of the
// server's concurrency for a class of requests.
func PriorityLevelConfiguration() *api.Resource {
	return api.NewResource(api.Kind[*flowcontrolv1.PriorityLevelConfiguration]{
		Names: api.Names{
			Name: "prioritylevelconfigurations", Singular: "prioritylevelconfiguration", Kind: "PriorityLevelConfiguration",
		},
		Versions:      api.WithOlderVersions(api.Served(flowcontrolv1.SchemeGroupVersion), olderPriorityLevelVersions()...),
		Default:       defaultPriorityLevel,
		Storage:       api.Storage{Prefix: "prioritylevelconfigurations"},
		Checks:        api.Checks(api.Metadata, api.RevalidatedMetadata, api.Rules(priorityLevelRules), api.Declared),
		HasGeneration: true,
		Status: api.NewStatus(
			keepMetadata[*flowcontrolv1.PriorityLevelConfiguration],
			api.Changes(priorityLevelStatusRules), api.Declared,
		),
		Reset: map[string][]string{"status": {"metadata", "spec"}},
		Table: api.Rows(priorityLevelConfigurationRow),
	})
}

func priorityLevelConfigurationRow(row *table.Row, l *flowcontrolv1.PriorityLevelConfiguration) {
	var shares, queues, handSize, queueLength any = table.CellNone, table.CellNone, table.CellNone, table.CellNone
	if limited := l.Spec.Limited; limited != nil {
		shares = int64(table.ValueOrZero(limited.NominalConcurrencyShares))
		if q := limited.LimitResponse.Queuing; q != nil {
			queues, handSize, queueLength = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
		}
	}
	row.Name(l.Name)
	row.Text("Type", ".spec.type", string(l.Spec.Type))
	row.Text("NominalConcurrencyShares", ".spec.limited.nominalConcurrencyShares", shares)
	row.Text("Queues", ".spec.limited.limitResponse.queuing.queues", queues)
	row.Text("HandSize", ".spec.limited.limitResponse.queuing.handSize", handSize)
	row.Text("QueueLengthLimit", ".spec.limited.limitResponse.queuing.queueLengthLimit", queueLength)
	row.Age(l)
}

// Zero shares in older versions, where 0 means the default, because a missing number decodes
// as 0. The annotation marks a 0 that means 0.
const (
	zeroSharesAnnotation = flowcontrolv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey
	zeroSharesValue      = "true"
)

// olderPriorityLevelVersions returns the versions before v1. The oldest two have another name
// for the shares.
func olderPriorityLevelVersions() []api.Version {
	type hub = flowcontrolv1.PriorityLevelConfiguration
	return []api.Version{
		api.ConvertedVersion(flowcontrolv1beta3.SchemeGroupVersion,
			func(h *hub, old *flowcontrolv1beta3.PriorityLevelConfiguration) {
				if limited := old.Spec.Limited; limited != nil {
					sharesToHub(h, limited.NominalConcurrencyShares)
				}
			},
			func(old *flowcontrolv1beta3.PriorityLevelConfiguration, h *hub) {
				if limited := old.Spec.Limited; limited != nil {
					limited.NominalConcurrencyShares, old.Annotations = sharesFromHub(h)
				}
			}),
		api.ConvertedVersion(flowcontrolv1beta2.SchemeGroupVersion,
			func(h *hub, old *flowcontrolv1beta2.PriorityLevelConfiguration) {
				if limited := old.Spec.Limited; limited != nil {
					sharesToHub(h, limited.AssuredConcurrencyShares)
				}
			},
			func(old *flowcontrolv1beta2.PriorityLevelConfiguration, h *hub) {
				if limited := old.Spec.Limited; limited != nil {
					limited.AssuredConcurrencyShares, old.Annotations = sharesFromHub(h)
				}
			}),
		api.ConvertedVersion(flowcontrolv1beta1.SchemeGroupVersion,
			func(h *hub, old *flowcontrolv1beta1.PriorityLevelConfiguration) {
				if limited := old.Spec.Limited; limited != nil {
					sharesToHub(h, limited.AssuredConcurrencyShares)
				}
			},
			func(old *flowcontrolv1beta1.PriorityLevelConfiguration, h *hub) {
				if limited := old.Spec.Limited; limited != nil {
					limited.AssuredConcurrencyShares, old.Annotations = sharesFromHub(h)
				}
			}),
	}
}

// sharesToHub sets the shares in a hub object, and removes the annotation. Annotations may be
// shared with another object, so they are copied first.
func sharesToHub(hub *flowcontrolv1.PriorityLevelConfiguration, shares int32) {
	limited := hub.Spec.Limited
	marker, marked := hub.Annotations[zeroSharesAnnotation]
	if shares != 0 || marked && marker == zeroSharesValue {
		limited.NominalConcurrencyShares = &shares
	}
	if marked && marker == zeroSharesValue {
		hub.Annotations = maps.Clone(hub.Annotations)
		delete(hub.Annotations, zeroSharesAnnotation)
		if len(hub.Annotations) == 0 {
			hub.Annotations = nil
		}
	}
}

// sharesFromHub returns the shares and annotations for an older version.
func sharesFromHub(hub *flowcontrolv1.PriorityLevelConfiguration) (shares int32, annotations map[string]string) {
	annotations = hub.Annotations
	if limited := hub.Spec.Limited; limited != nil && limited.NominalConcurrencyShares != nil {
		shares = *limited.NominalConcurrencyShares
		if shares == 0 {
			annotations = maps.Clone(annotations)
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[zeroSharesAnnotation] = zeroSharesValue
		}
	}
	return shares, annotations
}

const (
	maxQueues = 10_000_000
	// maxHashBits is the number of bits of a flow's hash that are used for shuffle sharding.
	maxHashBits = 60

	defaultShares      = 30
	defaultQueues      = 64
	defaultHandSize    = 8
	defaultQueueLength = 50
)

func priorityLevelRules(at *validation.Path, p *flowcontrolv1.PriorityLevelConfiguration) {
	spec := at.Child("spec")
	priorityLevelSpecRules(spec, p.Name, &p.Spec)
	if want := MandatoryPriorityLevel(p); want != nil && !equality.Semantic.DeepEqual(p.Spec, *want) {
		except := ""
		if p.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt {
			except = " except the 'spec.exempt' field"
		}
		spec.Invalid(p.Spec, fmt.Sprintf("spec of '%s'%s must equal the fixed value", p.Name, except))
	}
	priorityLevelStatusRules(at, p, nil)
}

func priorityLevelSpecRules(at *validation.Path, name string, s *flowcontrolv1.PriorityLevelConfigurationSpec) {
	kind := at.Child("type")
	if (name == flowcontrolv1.PriorityLevelConfigurationNameExempt) != (s.Type == flowcontrolv1.PriorityLevelEnablementExempt) {
		kind.Invalid(s.Type, "must be 'Exempt' if and only if `name` is 'exempt'")
	}
	switch s.Type {
	case flowcontrolv1.PriorityLevelEnablementExempt:
		if s.Limited != nil {
			at.Child("limited").Forbidden("must be nil if the type is not Limited")
		}
		validation.IfPresent(at.Child("exempt"), s.Exempt, exemptRules)
	case flowcontrolv1.PriorityLevelEnablementLimited:
		if s.Exempt != nil {
			at.Child("exempt").Forbidden("must be nil if the type is Limited")
		}
		if s.Limited == nil {
			at.Child("limited").Required("must not be empty when type is Limited")
		}
		validation.IfPresent(at.Child("limited"), s.Limited, limitedRules)
	default:
		validation.Enum(kind, s.Type, flowcontrolv1.PriorityLevelEnablementExempt, flowcontrolv1.PriorityLevelEnablementLimited)
	}
}

func exemptRules(at *validation.Path, e *flowcontrolv1.ExemptPriorityLevelConfiguration) {
	shareRules(at, e.NominalConcurrencyShares, e.LendablePercent)
}

func limitedRules(at *validation.Path, l *flowcontrolv1.LimitedPriorityLevelConfiguration) {
	shareRules(at, l.NominalConcurrencyShares, nil)
	limitResponseRules(at.Child("limitResponse"), &l.LimitResponse)
	shareRules(at, nil, l.LendablePercent)
	if b := l.BorrowingLimitPercent; b != nil && *b < 0 {
		at.Child("borrowingLimitPercent").Invalid(*b, "if specified, must be a non-negative integer")
	}
}

func shareRules(at *validation.Path, shares, lendable *int32) {
	if shares != nil && *shares < 0 {
		at.Child("nominalConcurrencyShares").Invalid(*shares, "must be a non-negative integer")
	}
	if lendable != nil && (*lendable < 0 || *lendable > 100) {
		at.Child("lendablePercent").Invalid(*lendable, "must be between 0 and 100, inclusive")
	}
}

func limitResponseRules(at *validation.Path, r *flowcontrolv1.LimitResponse) {
	queuing := at.Child("queuing")
	switch r.Type {
	case flowcontrolv1.LimitResponseTypeReject:
		if r.Queuing != nil {
			queuing.Forbidden("must be nil if limited.limitResponse.type is not Limited")
		}
	case flowcontrolv1.LimitResponseTypeQueue:
		if r.Queuing == nil {
			queuing.Required("must not be empty if limited.limitResponse.type is Limited")
		}
		validation.IfPresent(queuing, r.Queuing, queuingRules)
	default:
		validation.Enum(at.Child("type"), r.Type, flowcontrolv1.LimitResponseTypeQueue, flowcontrolv1.LimitResponseTypeReject)
	}
}

func queuingRules(at *validation.Path, q *flowcontrolv1.QueuingConfiguration) {
	const low = "must be positive"
	if q.QueueLengthLimit <= 0 {
		at.Child("queueLengthLimit").Invalid(q.QueueLengthLimit, low)
	}
	switch queues := at.Child("queues"); {
	case q.Queues <= 0:
		queues.Invalid(q.Queues, low)
	case q.Queues > maxQueues:
		queues.Invalid(q.Queues, fmt.Sprintf("must not be greater than %d", maxQueues))
	}
	switch hand := at.Child("handSize"); {
	case q.HandSize <= 0:
		hand.Invalid(q.HandSize, low)
	case q.HandSize > q.Queues:
		hand.Invalid(q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues))
	case handBits(q.Queues, q.HandSize) > maxHashBits:
		hand.Invalid(q.HandSize, fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d",
			q.Queues, q.HandSize, maxHashBits))
	}
}

// handBits returns the number of bits that a shuffle sharding dealer needs for a deck and hand
// of these sizes.
func handBits(deck, hand int32) int {
	return int(math.Ceil(math.Log2(float64(deck)) * float64(hand)))
}

func priorityLevelStatusRules(at *validation.Path, p, _ *flowcontrolv1.PriorityLevelConfiguration) {
	var types validation.Unique[flowcontrolv1.PriorityLevelConfigurationConditionType]
	validation.Each(at.Child("status").Child("conditions"), p.Status.Conditions,
		func(at *validation.Path, c *flowcontrolv1.PriorityLevelConfigurationCondition) {
			conditionType(at.Child("type"), c.Type, &types)
		})
}

// MandatoryPriorityLevel returns the required spec of the mandatory level with p's name; nil
// for other names. The shares of the exempt level are not prescribed; they are those of p.
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

func defaultPriorityLevel(obj *flowcontrolv1.PriorityLevelConfiguration) {
	s := &obj.Spec
	if s.Type == flowcontrolv1.PriorityLevelEnablementExempt && s.Exempt == nil {
		s.Exempt = &flowcontrolv1.ExemptPriorityLevelConfiguration{}
	}
	if e := s.Exempt; e != nil {
		api.SetDefault(&e.NominalConcurrencyShares, 0)
		api.SetDefault(&e.LendablePercent, 0)
	}
	l := s.Limited
	if l == nil {
		return
	}
	api.SetDefault(&l.NominalConcurrencyShares, defaultShares)
	api.SetDefault(&l.LendablePercent, 0)
	if q := l.LimitResponse.Queuing; q != nil {
		for _, f := range []struct {
			value  *int32
			preset int32
		}{{&q.Queues, defaultQueues}, {&q.HandSize, defaultHandSize}, {&q.QueueLengthLimit, defaultQueueLength}} {
			if *f.value == 0 {
				*f.value = f.preset
			}
		}
	}
}
