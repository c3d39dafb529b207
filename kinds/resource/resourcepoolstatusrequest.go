package resource

import (
	"fmt"
	"strconv"

	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// ResourcePoolStatusRequest describes the kind ResourcePoolStatusRequest, which requests the
// numbers of available and allocated devices of a driver. A controller writes them to the
// status once.
func ResourcePoolStatusRequest() *api.Resource {
	return api.NewResource(api.Kind[*resourcev1alpha3.ResourcePoolStatusRequest]{
		Names:    api.Names{Name: "resourcepoolstatusrequests", Singular: "resourcepoolstatusrequest", Kind: "ResourcePoolStatusRequest"},
		Versions: api.Preview[resourcev1alpha3.ResourcePoolStatusRequest](resourcev1alpha3.SchemeGroupVersion, ""),
		Default: func(obj *resourcev1alpha3.ResourcePoolStatusRequest) {
			api.SetDefault(&obj.Spec.Limit, resourcev1alpha3.ResourcePoolStatusRequestLimitDefault)
		},
		Storage:                api.Storage{Prefix: "resourcepoolstatusrequests"},
		RequireResourceVersion: true,
		Status: api.NewStatus(
			api.KeepMetadataOf,
			api.Metadata, api.Changes(poolStatusChanges), api.Declared,
		).WithoutTable(),
		Reset:  map[string][]string{"status": {"metadata", "spec"}},
		Delete: api.Deletion{ReturnDeletedObject: true},
		Table:  api.Rows(resourcePoolStatusRequestRow),
	})
}

func resourcePoolStatusRequestRow(row *table.Row, r *resourcev1alpha3.ResourcePoolStatusRequest) {
	counts := poolCounts(r.Status)
	state, completed, pools := "Pending", any(table.CellNone), int32(0)
	if s := r.Status; s != nil {
		pools = table.ValueOrZero(s.PoolCount)
		if c := terminalCondition(s.Conditions); c != nil {
			state = c.Type
			if c.Type == resourcev1alpha3.ResourcePoolStatusRequestConditionComplete {
				completed = table.Elapsed{Since: c.LastTransitionTime.Time}
				if shown := len(s.Pools); int(pools) > shown {
					state = fmt.Sprintf("Complete (%d/%d pools)", shown, pools)
				}
			}
		}
	}
	row.Name(r.Name)
	row.Text("Driver", "The driver to query pools for.", r.Spec.Driver)
	row.Text("Total", "Total number of devices across all pools.", counts[0])
	row.Text("Available", "Number of available devices across all pools.", counts[1])
	row.Text("Allocated", "Number of allocated devices across all pools.", counts[2])
	row.Text("Unavailable", "Number of unavailable devices across all pools.", counts[3])
	row.Text("Errors", "Number of pools with validation errors.", counts[4])
	row.Number("Pools", "Total number of matching pools.", int64(pools))
	row.Text("Status", "Processing status.", state)
	row.Text("Completed", "Time since the observation completed.", completed)
}

// terminalCondition returns the condition that completes a request; nil if none is true.
func terminalCondition(conditions []metav1.Condition) *metav1.Condition {
	for i := range conditions {
		if c := &conditions[i]; c.Status == metav1.ConditionTrue && validation.IsOneOf(c.Type,
			resourcev1alpha3.ResourcePoolStatusRequestConditionComplete, resourcev1alpha3.ResourcePoolStatusRequestConditionFailed) {
			return c
		}
	}
	return nil
}

// poolCounts returns the sums of the devices of all pools, in the order of the columns.
// All cells are "-" before the status is set and for a failed request.
func poolCounts(s *resourcev1alpha3.ResourcePoolStatusRequestStatus) (cells [5]string) {
	for i := range cells {
		cells[i] = "-"
	}
	if s == nil {
		return cells
	}
	if c := terminalCondition(s.Conditions); c != nil && c.Type == resourcev1alpha3.ResourcePoolStatusRequestConditionFailed {
		return cells
	}
	var sums [5]int32
	for _, p := range s.Pools {
		for i, n := range []*int32{p.TotalDevices, p.AvailableDevices, p.AllocatedDevices, p.UnavailableDevices} {
			sums[i] += table.ValueOrZero(n)
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

// poolStatusChanges validates what no marker declares of a status, which is immutable once it is set.
func poolStatusChanges(at *validation.Path, obj, stored *resourcev1alpha3.ResourcePoolStatusRequest) {
	status := at.Child("status")
	if equality.Semantic.DeepEqual(obj.Status, stored.Status) {
		return
	}
	if stored.Status != nil {
		status.Invalid(obj.Status, apivalidation.FieldImmutableErrorMsg)
	}
	if obj.Status == nil {
		return
	}
	if stored.Status == nil {
		validation.ConditionRules(status.Child("conditions"), obj.Status.Conditions)
	}
}
