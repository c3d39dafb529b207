package api

import (
	"fmt"
	"math"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Rules for how much there is of a device that several may have a share of, and
// how much of it each may ask for.

func deviceCapacityRules(at *place, d *resourcev1.Device) {
	shared := d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations
	for _, name := range sortedKeys(d.Capacity) {
		attributeName(at, string(name))
		c := d.Capacity[name]
		policy := at.key(shortened(string(name))).of("requestPolicy")
		switch {
		case c.RequestPolicy == nil:
		case !shared:
			policy.forbidden("allowMultipleAllocations must be true")
		default:
			requestPolicyRules(policy, c.Value, c.RequestPolicy)
		}
	}
}

func requestPolicyRules(at *place, capacity resource.Quantity, p *resourcev1.CapacityRequestPolicy) {
	switch {
	case len(p.ValidValues) > 0 && p.ValidRange != nil:
		at.forbidden(`exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`)
	case len(p.ValidValues) > 0 && p.Default == nil:
		at.of("default").required("required when validValues is defined")
	case len(p.ValidValues) > 0:
		validValueRules(at.of("validValues"), capacity, p)
	case p.ValidRange != nil && p.Default == nil:
		at.of("default").required("required when validRange is defined")
	case p.ValidRange != nil:
		validRangeRules(at.of("validRange"), capacity, *p.Default, p.ValidRange)
	}
}

const maxValidValues = 10

func validValueRules(at *place, capacity resource.Quantity, p *resourcev1.CapacityRequestPolicy) {
	values, found := p.ValidValues, false
	for i := 1; i < len(values); i++ {
		if values[i-1].Cmp(values[i]) > 0 {
			at.item(i).invalid(values[i].String(), "values must be sorted in ascending order")
		}
	}
	distinct(at, values, maxValidValues, func(q *resource.Quantity) int64 { return q.Value() }, func(at *place, q *resource.Quantity) {
		if q.Cmp(capacity) > 0 {
			at.invalid(q.String(), "option is larger than capacity value: "+capacity.String())
		}
		found = found || q.Cmp(*p.Default) == 0
	})
	if !found {
		at.invalid(p.Default.String(), "default value is not valid according to the requestPolicy")
	}
}

func validRangeRules(at *place, capacity, standard resource.Quantity, r *resourcev1.CapacityRequestPolicyRange) {
	if r.Min == nil {
		at.of("min").required("required when validRange is defined")
		return
	}
	if r.Min.Cmp(capacity) > 0 {
		at.of("min").invalid(r.Min.String(), "min is larger than capacity value: "+capacity.String())
	}
	if standard.Cmp(*r.Min) < 0 {
		at.of("default").invalid(standard.String(), "default is less than min: "+r.Min.String())
	}
	if r.Max != nil {
		if r.Min.Cmp(*r.Max) > 0 {
			at.of("max").invalid(r.Min.String(), "min is larger than max: "+r.Max.String())
		}
		if r.Max.Cmp(capacity) > 0 {
			at.of("max").invalid(r.Max.String(), "max is larger than capacity value: "+capacity.String())
		}
		if standard.Cmp(*r.Max) > 0 {
			at.of("default").invalid(standard.String(), "default is more than max: "+r.Max.String())
		}
	}
	if r.Step != nil {
		stepRules(at.of("step"), capacity, standard, r)
	}
}

// stepRules: the default and the maximum are whole steps above the minimum.
func stepRules(at *place, capacity, standard resource.Quantity, r *resourcev1.CapacityRequestPolicyRange) {
	if r.Step.Sign() <= 0 {
		at.invalid(r.Step.String(), "must be greater than zero")
		return
	}
	first := r.Min.DeepCopy()
	first.Add(*r.Step)
	if first.Cmp(capacity) > 0 {
		at.invalid(r.Step.String(), fmt.Sprintf("one step %s is larger than capacity value: %s", first.String(), capacity.String()))
	}
	ends := []resource.Quantity{standard}
	if r.Max != nil {
		ends = append(ends, *r.Max)
	}
	for _, end := range ends {
		// Beyond what is counted in, nothing can be said of steps.
		if step := r.Step.Value(); step > 0 && end.CmpInt64(math.MaxInt64) <= 0 && (end.Value()-r.Min.Value())%step != 0 {
			at.invalid(end.String(), fmt.Sprintf("value is not a multiple of a given step (%s) from (%s)", r.Step.String(), r.Min.String()))
		}
	}
}
