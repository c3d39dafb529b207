package quota

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
)

// Charge is the usage that one write adds to the quotas of its namespace.
type Charge struct {
	Resource schema.GroupResource
	// Object is the object to be stored, Old the one it replaces; nil for a create.
	Object, Old api.Object
	// Name is the object's name and Replaces the resourceVersion of Old, recorded because both
	// objects may change later.
	Name, Replaces string
	excluded       Exclusions
	// usage is the usage of Object, and increase its part that exceeds the usage of Old.
	usage, increase corev1.ResourceList
	// unlimited charges are added beyond the limits of quotas.
	unlimited bool
}

// newCharge computes the charge of a write. It returns an error for negative usage.
func newCharge(gr schema.GroupResource, obj, old api.Object, now time.Time, x Exclusions) (*Charge, error) {
	c := &Charge{Resource: gr, Object: obj, Old: old, Name: obj.GetName(), excluded: x, usage: usageOf(gr, obj, now, x)}
	var negative []corev1.ResourceName
	for name, q := range c.usage {
		if q.Sign() < 0 {
			negative = append(negative, name)
		}
	}
	if len(negative) > 0 {
		return nil, fmt.Errorf("quota usage is negative for resource(s): %s", formatNames(negative))
	}
	c.increase = c.usage
	if old != nil {
		c.Replaces = old.GetResourceVersion()
		c.increase = excess(c.usage, usageOf(gr, old, now, x))
	}
	return c, nil
}

// Names returns the resource names of which the object uses an amount.
func (c *Charge) Names() []corev1.ResourceName {
	var out []corev1.ResourceName
	for name, q := range c.usage {
		if q.Sign() > 0 {
			out = append(out, name)
		}
	}
	return out
}

// added returns the usage that the write adds to a quota that matches the object: all of it if the
// write moves the object into the scopes of the quota, else the increase. Usage that decreases is not
// released before the object is stored; the controller counts it then.
func (c *Charge) added(q *corev1.ResourceQuota) (corev1.ResourceList, error) {
	if c.Old == nil {
		return c.usage, nil
	}
	was, err := isInScopes(q, c.Old, c.excluded)
	if err != nil || !was {
		return c.usage, err
	}
	return c.increase, nil
}

// raises reports whether the write adds usage to one of the quotas that cover its object or, if none
// does, uses more than before.
func (c *Charge) raises(quotas []*corev1.ResourceQuota) bool {
	covered := false
	for _, q := range quotas {
		if names, err := c.covers(q); err != nil || len(names) == 0 {
			continue
		}
		covered = true
		if added, err := c.added(q); err != nil || len(withoutZeros(maps.Clone(added))) > 0 {
			return true
		}
	}
	return !covered && len(withoutZeros(maps.Clone(c.increase))) > 0
}

// matches returns the names in hard that count the object, or none if a scope of the quota does not
// match it.
func (c *Charge) matches(q *corev1.ResourceQuota, hard corev1.ResourceList) ([]corev1.ResourceName, error) {
	var names []corev1.ResourceName
	for name := range hard {
		if countsResource(name, c.Resource) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	if in, err := isInScopes(q, c.Object, c.excluded); err != nil || !in {
		return nil, err
	}
	return names, nil
}

// covers returns the names that count the object and for which the quota has an effective limit.
func (c *Charge) covers(q *corev1.ResourceQuota) ([]corev1.ResourceName, error) {
	return c.matches(q, q.Status.Hard)
}

// Countable returns the names that count the object, as covers does, and an error if the quota cannot
// count it: a container does not specify what the quota counts, or the usage so far is unknown.
func (c *Charge) Countable(q *corev1.ResourceQuota) ([]corev1.ResourceName, error) {
	names, err := c.covers(q)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	if pod, ok := c.Object.(*corev1.Pod); ok {
		if err := checkContainers(pod, names, c.excluded); err != nil {
			return nil, fmt.Errorf("failed quota: %s: %w", q.Name, err)
		}
	}
	for _, name := range names {
		if _, known := q.Status.Used[name]; !known {
			return nil, fmt.Errorf("status unknown for quota: %s, resources: %s", q.Name, formatNames(names))
		}
	}
	return names, nil
}

// Check returns an error if the quota does not allow the write, or the usage to add to the quota,
// nil if there is none.
func (c *Charge) Check(q *corev1.ResourceQuota) (corev1.ResourceList, error) {
	names, err := c.Countable(q)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	added, err := c.added(q)
	if err != nil {
		return nil, err
	}
	requested := withoutZeros(mask(added, names))
	var over []corev1.ResourceName
	for name, q2 := range requested {
		sum := q.Status.Used[name].DeepCopy()
		sum.Add(q2)
		if hard := q.Status.Hard[name]; sum.Cmp(hard) > 0 {
			over = append(over, name)
		}
	}
	if len(over) > 0 && !c.unlimited {
		return nil, fmt.Errorf("exceeded quota: %s, requested: %s, used: %s, limited: %s", q.Name,
			formatAmounts(mask(requested, over)), formatAmounts(mask(q.Status.Used, over)), formatAmounts(mask(q.Status.Hard, over)))
	}
	if len(requested) == 0 {
		return nil, nil
	}
	return requested, nil
}

// applyUsage adds the result of Check to the used amounts of a quota.
func applyUsage(q *corev1.ResourceQuota, more corev1.ResourceList) {
	used := q.Status.Used.DeepCopy()
	if used == nil {
		used = corev1.ResourceList{}
	}
	addAmounts(used, more)
	q.Status.Used = used
}

// Count sums up the usage of objects for a quota.
type Count struct {
	quota    *corev1.ResourceQuota
	now      time.Time
	excluded Exclusions
	// Used is the sum so far, by the names that were counted.
	Used corev1.ResourceList
}

// NewCount returns an empty count for a quota.
func NewCount(q *corev1.ResourceQuota, now time.Time, x Exclusions) *Count {
	return &Count{quota: q, now: now, excluded: x, Used: corev1.ResourceList{}}
}

// Begin reports whether the quota counts objects of a resource. If so, it initializes their sums to
// zero.
func (c *Count) Begin(gr schema.GroupResource) bool {
	counted := false
	for name := range c.quota.Spec.Hard {
		if countsResource(name, gr) {
			counted = true
			none := quantityOne()
			none.Sub(quantityOne())
			c.Used[name] = none
		}
	}
	return counted
}

// Object counts an object.
func (c *Count) Object(gr schema.GroupResource, obj api.Object) error {
	charge := &Charge{Resource: gr, Object: obj, excluded: c.excluded}
	names, err := charge.matches(c.quota, c.quota.Spec.Hard)
	if err != nil || len(names) == 0 {
		return err
	}
	addAmounts(c.Used, mask(usageOf(gr, obj, c.now, c.excluded), names))
	return nil
}

// Pending counts a charge whose object is not stored yet.
func (c *Count) Pending(p *Charge) error {
	names, err := p.matches(c.quota, c.quota.Spec.Hard)
	if err != nil || len(names) == 0 {
		return err
	}
	added, err := p.added(c.quota)
	if err != nil {
		return err
	}
	addAmounts(c.Used, mask(added, names))
	return nil
}

// Status returns the new status of the quota. Names that were not counted, since their resource is
// unknown, keep their used amounts.
func (c *Count) Status() corev1.ResourceQuotaStatus {
	s := corev1.ResourceQuotaStatus{Hard: c.quota.Spec.Hard.DeepCopy(), Used: corev1.ResourceList{}}
	for name := range s.Hard {
		if q, ok := c.Used[name]; ok {
			s.Used[name] = q
		} else if q, ok := c.quota.Status.Used[name]; ok {
			s.Used[name] = q
		}
	}
	return s
}

// Affects reports whether the change of a stored object from old to obj can change the used amounts of
// quotas: it changes the usage of the object, or the scopes that match it.
func Affects(gr schema.GroupResource, old, obj api.Object, now time.Time, x Exclusions) bool {
	if !Same(usageOf(gr, old, now, x), usageOf(gr, obj, now, x)) {
		return true
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		return isTerminating(old.(*corev1.Pod)) != isTerminating(o)
	case *corev1.PersistentVolumeClaim:
		return !x.AttributesClasses && !slices.Equal(attributesClasses(old.(*corev1.PersistentVolumeClaim)), attributesClasses(o))
	}
	return false
}

// Same reports whether two lists have equal amounts.
func Same(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, q := range a {
		if other, ok := b[name]; !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return true
}

// Ignored reports whether quotas ignore a resource, because its objects change too often.
func Ignored(gr schema.GroupResource) bool {
	return slices.Contains([]schema.GroupResource{corev1.Resource("events"), {Group: "events.k8s.io", Resource: "events"}}, gr)
}
