package resource

import (
	"fmt"
	"math"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Validation of device capacities, and of the policies for requests of a share of them.

func deviceCapacityRules(at *validation.Path, d *resourcev1.Device) {
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
			requestPolicyRules(policy, c.Value, c.RequestPolicy)
		}
	}
}

func requestPolicyRules(at *validation.Path, capacity resource.Quantity, p *resourcev1.CapacityRequestPolicy) {
	switch {
	case len(p.ValidValues) > 0 && p.ValidRange != nil:
		at.Forbidden(`exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`)
	case len(p.ValidValues) > 0 && p.Default == nil:
		at.Child("default").Required("required when validValues is defined")
	case len(p.ValidValues) > 0:
		validValueRules(at.Child("validValues"), capacity, p)
	case p.ValidRange != nil && p.Default == nil:
		at.Child("default").Required("required when validRange is defined")
	case p.ValidRange != nil:
		validRangeRules(at.Child("validRange"), capacity, *p.Default, p.ValidRange)
	}
}

const maxValidValues = 10

func validValueRules(at *validation.Path, capacity resource.Quantity, p *resourcev1.CapacityRequestPolicy) {
	values, found := p.ValidValues, false
	for i := 1; i < len(values); i++ {
		if values[i-1].Cmp(values[i]) > 0 {
			at.Index(i).Invalid(values[i].String(), "values must be sorted in ascending order")
		}
	}
	eachDistinct(at, values, maxValidValues, func(q *resource.Quantity) string { return validation.FormatInteger(q.Value()) }, func(at *validation.Path, q *resource.Quantity) {
		if q.Cmp(capacity) > 0 {
			at.Invalid(q.String(), "option is larger than capacity value: "+capacity.String())
		}
		found = found || q.Cmp(*p.Default) == 0
	})
	if !found {
		at.Invalid(p.Default.String(), "default value is not valid according to the requestPolicy")
	}
}

func validRangeRules(at *validation.Path, capacity, standard resource.Quantity, r *resourcev1.CapacityRequestPolicyRange) {
	if r.Min == nil {
		at.Child("min").Required("required when validRange is defined")
		return
	}
	if r.Min.Cmp(capacity) > 0 {
		at.Child("min").Invalid(r.Min.String(), "min is larger than capacity value: "+capacity.String())
	}
	if standard.Cmp(*r.Min) < 0 {
		at.Child("default").Invalid(standard.String(), "default is less than min: "+r.Min.String())
	}
	if r.Max != nil {
		if r.Min.Cmp(*r.Max) > 0 {
			at.Child("max").Invalid(r.Min.String(), "min is larger than max: "+r.Max.String())
		}
		if r.Max.Cmp(capacity) > 0 {
			at.Child("max").Invalid(r.Max.String(), "max is larger than capacity value: "+capacity.String())
		}
		if standard.Cmp(*r.Max) > 0 {
			at.Child("default").Invalid(standard.String(), "default is more than max: "+r.Max.String())
		}
	}
	if r.Step != nil {
		stepRules(at.Child("step"), capacity, standard, r)
	}
}

// stepRules checks that the default and the maximum are multiples of the step above the
// minimum.
func stepRules(at *validation.Path, capacity, standard resource.Quantity, r *resourcev1.CapacityRequestPolicyRange) {
	if r.Step.Sign() <= 0 {
		at.Invalid(r.Step.String(), "must be greater than zero")
		return
	}
	first := r.Min.DeepCopy()
	first.Add(*r.Step)
	if first.Cmp(capacity) > 0 {
		at.Invalid(r.Step.String(), fmt.Sprintf("one step %s is larger than capacity value: %s", first.String(), capacity.String()))
	}
	computable := isComputable(at.Parent.Child("default"), standard)
	computable = isComputable(at.Parent.Child("min"), *r.Min) && computable
	if r.Max != nil {
		computable = isComputable(at.Parent.Child("max"), *r.Max) && computable
	}
	if !isComputable(at, *r.Step) || !computable {
		return
	}
	isMultiple := func(end resource.Quantity) {
		if (end.Value()-r.Min.Value())%r.Step.Value() != 0 {
			at.Invalid(end.String(), fmt.Sprintf("value is not a multiple of a given step (%s) from (%s)", r.Step.String(), r.Min.String()))
		}
	}
	isMultiple(standard)
	if r.Max != nil {
		isMultiple(*r.Max)
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
