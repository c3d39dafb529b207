package api

import (
	"fmt"
	"strconv"

	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func resourcePoolStatusRequestColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Driver", "The driver to query pools for."),
		textColumn("Total", "Total number of devices across all pools."),
		textColumn("Available", "Number of available devices across all pools."),
		textColumn("Allocated", "Number of allocated devices across all pools."),
		textColumn("Unavailable", "Number of unavailable devices across all pools."),
		textColumn("Errors", "Number of pools with validation errors."),
		numberColumn("Pools", "Total number of matching pools."),
		textColumn("Status", "Processing status."),
		textColumn("Completed", "Time since the observation completed."),
	}
}

func resourcePoolStatusRequestCells(obj Object) []any {
	r := obj.(*resourcev1alpha3.ResourcePoolStatusRequest)
	counts := poolCounts(r.Status)
	state, completed, pools := "Pending", any(cellNone), int32(0)
	if s := r.Status; s != nil {
		pools = orEmpty(s.PoolCount)
		if c := endOfPoolRequest(s.Conditions); c != nil {
			state = c.Type
			if c.Type == resourcev1alpha3.ResourcePoolStatusRequestConditionComplete {
				completed = Elapsed{Since: c.LastTransitionTime.Time}
				if shown := len(s.Pools); int(pools) > shown {
					state = fmt.Sprintf("Complete (%d/%d pools)", shown, pools)
				}
			}
		}
	}
	return []any{r.Name, r.Spec.Driver, counts[0], counts[1], counts[2], counts[3], counts[4], int64(pools), state, completed}
}

// endOfPoolRequest returns the condition that ended a request; nil means none.
func endOfPoolRequest(conditions []metav1.Condition) *metav1.Condition {
	for i := range conditions {
		if c := &conditions[i]; c.Status == metav1.ConditionTrue && among(c.Type,
			resourcev1alpha3.ResourcePoolStatusRequestConditionComplete, resourcev1alpha3.ResourcePoolStatusRequestConditionFailed) {
			return c
		}
	}
	return nil
}

// poolCounts adds up the devices of all pools, in the order of the columns. There
// is nothing to add up before an answer was given, or when there is none.
func poolCounts(s *resourcev1alpha3.ResourcePoolStatusRequestStatus) (cells [5]string) {
	for i := range cells {
		cells[i] = "-"
	}
	if s == nil {
		return cells
	}
	if c := endOfPoolRequest(s.Conditions); c != nil && c.Type == resourcev1alpha3.ResourcePoolStatusRequestConditionFailed {
		return cells
	}
	var sums [5]int32
	for _, p := range s.Pools {
		for i, n := range []*int32{p.TotalDevices, p.AvailableDevices, p.AllocatedDevices, p.UnavailableDevices} {
			sums[i] += orEmpty(n)
		}
		if p.ValidationError != nil {
			sums[4]++
		}
	}
	for i, sum := range sums {
		cells[i] = strconv.Itoa(int(sum))
	}
	return cells
}
