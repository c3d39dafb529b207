package quota

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
)

// Charge is what one write adds to the usage of its namespace.
type Charge struct {
	Resource schema.GroupResource
	// Object is what is to be stored, Old what it replaces; nil for a new object.
	Object, Old api.Object
	// Name is the object's, and Replaces the resourceVersion of Old, as they are
	// when the write is charged.
	Name, Replaces string
	// more is what the write adds, without what stays as it is.
	more corev1.ResourceList
}

// NewCharge works out what a write adds. It fails for a negative amount.
func NewCharge(gr schema.GroupResource, obj, old api.Object, now time.Time) (*Charge, error) {
	c := &Charge{Resource: gr, Object: obj, Old: old, Name: obj.GetName(), more: Usage(gr, obj, now)}
	var negative []corev1.ResourceName
	for name, q := range c.more {
		if q.Sign() < 0 {
			negative = append(negative, name)
		}
	}
	if len(negative) > 0 {
		return nil, fmt.Errorf("quota usage is negative for resource(s): %s", showNames(negative))
	}
	if old != nil {
		c.Replaces = old.GetResourceVersion()
		subtract(c.more, Usage(gr, old, now))
	}
	for name, q := range c.more {
		if q.IsZero() {
			delete(c.more, name)
		}
	}
	return c, nil
}

// Names are those of what the write adds.
func (c *Charge) Names() []corev1.ResourceName {
	var out []corev1.ResourceName
	for name := range c.more {
		out = append(out, name)
	}
	return out
}

// matches tells whether a quota is about the object, by which of its names.
func (c *Charge) matches(q *corev1.ResourceQuota, hard corev1.ResourceList) ([]corev1.ResourceName, error) {
	var names []corev1.ResourceName
	for name := range hard {
		if Concerns(name, c.Resource) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	for _, s := range Scopes(&q.Spec) {
		if in, err := InScope(s, c.Object); err != nil || !in {
			return nil, err
		}
	}
	return names, nil
}

// Covers are the names by which a quota is about the object, and for which it
// has a limit in force.
func (c *Charge) Covers(q *corev1.ResourceQuota) ([]corev1.ResourceName, error) {
	return c.matches(q, q.Status.Hard)
}

// Check tells whether a quota allows the write, and returns what it adds to the
// quota's usage; nil when it adds nothing.
func (c *Charge) Check(q *corev1.ResourceQuota) (corev1.ResourceList, error) {
	names, err := c.Covers(q)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	if pod, ok := c.Object.(*corev1.Pod); ok {
		if err := podConstraint(pod, names); err != nil {
			return nil, fmt.Errorf("failed quota: %s: %w", q.Name, err)
		}
	}
	for _, name := range names {
		if _, known := q.Status.Used[name]; !known {
			return nil, fmt.Errorf("status unknown for quota: %s, resources: %s", q.Name, showNames(names))
		}
	}
	asked := mask(c.more, names)
	var over []corev1.ResourceName
	for name, q2 := range asked {
		if q2.Sign() < 0 {
			continue // giving back is always allowed
		}
		sum := q.Status.Used[name].DeepCopy()
		sum.Add(q2)
		if hard := q.Status.Hard[name]; sum.Cmp(hard) > 0 {
			over = append(over, name)
		}
	}
	if len(over) > 0 {
		return nil, fmt.Errorf("exceeded quota: %s, requested: %s, used: %s, limited: %s", q.Name,
			Show(mask(asked, over)), Show(mask(q.Status.Used, over)), Show(mask(q.Status.Hard, over)))
	}
	if len(asked) == 0 {
		return nil, nil
	}
	return asked, nil
}

// Apply adds what Check returned to the usage of a quota, which is changed.
func Apply(q *corev1.ResourceQuota, more corev1.ResourceList) {
	used := q.Status.Used.DeepCopy()
	if used == nil {
		used = corev1.ResourceList{}
	}
	add(used, more)
	q.Status.Used = used
}

// Count sums up what objects of a resource use of a quota.
type Count struct {
	quota *corev1.ResourceQuota
	now   time.Time
	// Used is the sum so far, by the names of the quota that were counted.
	Used corev1.ResourceList
}

// NewCount begins to count for a quota; names that are about gr begin at none.
func NewCount(q *corev1.ResourceQuota, now time.Time) *Count {
	return &Count{quota: q, now: now, Used: corev1.ResourceList{}}
}

// Begin tells whether the quota is about objects of a resource, and if so that
// they are going to be counted.
func (c *Count) Begin(gr schema.GroupResource) bool {
	about := false
	for name := range c.quota.Spec.Hard {
		if Concerns(name, gr) {
			about = true
			none := one()
			none.Sub(one())
			c.Used[name] = none
		}
	}
	return about
}

// Object counts an object.
func (c *Count) Object(gr schema.GroupResource, obj api.Object) error {
	charge := &Charge{Resource: gr, Object: obj}
	names, err := charge.matches(c.quota, c.quota.Spec.Hard)
	if err != nil || len(names) == 0 {
		return err
	}
	add(c.Used, mask(Usage(gr, obj, c.now), names))
	return nil
}

// Pending counts a charge whose object is not stored yet.
func (c *Count) Pending(p *Charge) error {
	names, err := p.matches(c.quota, c.quota.Spec.Hard)
	if err != nil || len(names) == 0 {
		return err
	}
	add(c.Used, mask(p.more, names))
	return nil
}

// Status is what the status of the quota ought to be. What was not counted,
// since nobody knows what it is about, stays as it was.
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

// Same tells whether two lists have the same amounts.
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

// Ignored are resources that come and go too fast to be counted.
func Ignored(gr schema.GroupResource) bool {
	return slices.Contains([]schema.GroupResource{corev1.Resource("events"), {Group: "events.k8s.io", Resource: "events"}}, gr)
}
