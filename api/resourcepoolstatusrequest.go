package api

import resourcev1alpha3 "k8s.io/api/resource/v1alpha3"

// resourcePoolStatusRequest asks how many devices of a driver are free. The answer
// is its status, which is given once.
func resourcePoolStatusRequest() *Resource {
	return &Resource{
		Name: "resourcepoolstatusrequests", Singular: "resourcepoolstatusrequest", Kind: "ResourcePoolStatusRequest",
		Versions: preview[resourcev1alpha3.ResourcePoolStatusRequest](resourcev1alpha3.SchemeGroupVersion, ""),
		New:      func() Object { return &resourcev1alpha3.ResourcePoolStatusRequest{} },
		Rows:     &Table{Columns: resourcePoolStatusRequestColumns, Cells: resourcePoolStatusRequestCells},
		Prefix:   "resourcepoolstatusrequests",
		Default: func(obj Object) {
			setDefault(&obj.(*resourcev1alpha3.ResourcePoolStatusRequest).Spec.Limit, resourcev1alpha3.ResourcePoolStatusRequestLimitDefault)
		},
		ValidateCreate:         rulesOf(poolStatusRequestRules),
		ValidateUpdate:         changesOf(poolStatusRequestChanges),
		HasStatus:              true,
		PrepareStatusUpdate:    keepMetadataOf,
		ValidateStatusUpdate:   changesOf(poolStatusChanges),
		ResetFields:            map[string][]string{"status": {"metadata", "spec"}},
		RequireResourceVersion: true,
		ReturnDeletedObject:    true,
	}
}
