package resource

import (
	"fmt"
	"math"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Validation of device capacities, and of the policies for requests of a share of them.

func (r *Rules) deviceCapacityRules(at *validation.Path, d *resourcev1.Device) {
	shared := d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations
	for _, name := range validation.SortedKeys(d.Capacity) {
		attributeName(at, string(name))
		c := d.Capacity[name]
		policy := at.Key(shortenKey(string(name))).Child("requestPolicy")
		switch {
		case c.RequestPolicy == nil:
		case !shared:
			policy.Forbidden("allowMultipleAllocations must be true")
		default:
			r.requestPolicyRules(policy, c.Value, c.RequestPolicy)
		}
	}
}

func (r *Rules) requestPolicyRules(at *validation.Path, capacity resource.Quantity, p *resourcev1.CapacityRequestPolicy) {
	switch {
	case len(p.ValidValues) > 0 && p.ValidRange != nil:
		at.Forbidden(`exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`)
	case len(p.ValidValues) > 0 && p.Default == nil:
		at.Child("default").Required("required when validValues is defined")
	case len(p.ValidValues) > 0:
		r.validValueRules(at.Child("validValues"), capacity, p)
	case p.ValidRange != nil && p.Default == nil:
		at.Child("default").Required("required when validRange is defined")
	case p.ValidRange != nil:
		offer := requestRange{CapacityRequestPolicyRange: p.ValidRange, capacity: capacity, standard: *p.Default}
		offer.inMilli = r.fractionalCapacity && offer.isFractional()
		offer.rules(at.Child("validRange"))
	}
}

const maxValidValues = 10

func (r *Rules) validValueRules(at *validation.Path, capacity resource.Quantity, p *resourcev1.CapacityRequestPolicy) {
	values, found := p.ValidValues, false
	for i := 1; i < len(values); i++ {
		if values[i-1].Cmp(values[i]) > 0 {
			at.Index(i).Invalid(values[i].String(), "values must be sorted in ascending order")
		}
	}
	key := func(q *resource.Quantity) string { return validation.FormatInteger(q.Value()) }
	if r.fractionalCapacity {
		key = func(q *resource.Quantity) string { c := q.DeepCopy(); return c.AsDec().String() }
	}
	eachDistinct(at, values, maxValidValues, key, func(at *validation.Path, q *resource.Quantity) {
		if q.Cmp(capacity) > 0 {
			at.Invalid(q.String(), "option is larger than capacity value: "+capacity.String())
		}
		found = found || q.Cmp(*p.Default) == 0
	})
	if !found {
		at.Invalid(p.Default.String(), "default value is not valid according to the requestPolicy")
	}
}

// requestRange is a policy that permits requests in a range, of a capacity, with a default.
type requestRange struct {
	*resourcev1.CapacityRequestPolicyRange
	capacity, standard resource.Quantity
	// inMilli reports whether multiples of the step are computed in thousandths.
	inMilli bool
}

// bounds calls f for each quantity of the range that is set, with the name of its field.
func (r *requestRange) bounds(f func(name string, q resource.Quantity)) {
	f("default", r.standard)
	for _, b := range []struct {
		name  string
		value *resource.Quantity
	}{{"min", r.Min}, {"max", r.Max}, {"step", r.Step}} {
		if b.value != nil {
			f(b.name, *b.value)
		}
	}
}

func (r *requestRange) isFractional() bool {
	fractional := false
	r.bounds(func(_ string, q resource.Quantity) {
		whole := q.DeepCopy()
		whole.RoundUp(0)
		fractional = fractional || whole.Cmp(q) != 0
	})
	return fractional
}

func (r *requestRange) rules(at *validation.Path) {
	if r.Min == nil {
		at.Child("min").Required("required when validRange is defined")
		return
	}
	capacity, standard := &r.capacity, &r.standard
	if r.Min.Cmp(*capacity) > 0 {
		at.Child("min").Invalid(r.Min.String(), "min is larger than capacity value: "+capacity.String())
	}
	if standard.Cmp(*r.Min) < 0 {
		at.Child("default").Invalid(standard.String(), "default is less than min: "+r.Min.String())
	}
	if r.Max != nil {
		if r.Min.Cmp(*r.Max) > 0 {
			at.Child("max").Invalid(r.Min.String(), "min is larger than max: "+r.Max.String())
		}
		if r.Max.Cmp(*capacity) > 0 {
			at.Child("max").Invalid(r.Max.String(), "max is larger than capacity value: "+capacity.String())
		}
		if standard.Cmp(*r.Max) > 0 {
			at.Child("default").Invalid(standard.String(), "default is more than max: "+r.Max.String())
		}
	}
	computable := true
	if r.inMilli {
		r.bounds(func(name string, q resource.Quantity) {
			if q.Cmp(*resource.NewMilliQuantity(q.MilliValue(), q.Format)) != 0 {
				at.Child(name).Invalid(q.String(), "value cannot be represented as a milli value")
				computable = false
			}
		})
	}
	if r.Step != nil && computable {
		r.stepRules(at)
	}
}

// stepRules checks that the default and the maximum are multiples of the step above the
// minimum.
func (r *requestRange) stepRules(at *validation.Path) {
	step := at.Child("step")
	if r.Step.Sign() <= 0 {
		step.Invalid(r.Step.String(), "must be greater than zero")
		return
	}
	first := r.Min.DeepCopy()
	first.Add(*r.Step)
	if first.Cmp(r.capacity) > 0 {
		step.Invalid(r.Step.String(), fmt.Sprintf("one step %s is larger than capacity value: %s", first.String(), r.capacity.String()))
	}
	value, computable := (*resource.Quantity).MilliValue, true
	if !r.inMilli {
		value = (*resource.Quantity).Value
		r.bounds(func(name string, q resource.Quantity) { computable = isComputable(at.Child(name), q) && computable })
	}
	if !computable {
		return
	}
	for _, end := range []*resource.Quantity{&r.standard, r.Max} {
		if end != nil && (value(end)-value(r.Min))%value(r.Step) != 0 {
			step.Invalid(end.String(), fmt.Sprintf("value is not a multiple of a given step (%s) from (%s)", r.Step.String(), r.Min.String()))
		}
	}
}

// isComputable requires a quantity that is a non-negative 64-bit integer, rounded up.
func isComputable(at *validation.Path, q resource.Quantity) bool {
	if !validation.NonNegativeQuantity(at, q) {
		return false
	}
	if q.CmpInt64(math.MaxInt64) > 0 {
		at.Invalid(q.String(), fmt.Sprintf("must not be larger than %d", math.MaxInt64))
		return false
	}
	return true
}
