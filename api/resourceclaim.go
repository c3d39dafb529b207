package api

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
)

// resourceClaim is a request for devices, and what it got.
func resourceClaim() *Resource {
	return &Resource{
		Name: "resourceclaims", Singular: "resourceclaim", Kind: "ResourceClaim",
		Namespaced: true,
		Versions: older(served(resourcev1.SchemeGroupVersion),
			alike[resourcev1.ResourceClaim, resourcev1beta2.ResourceClaim](resourcev1beta2.SchemeGroupVersion),
			claimV1beta1()),
		New:                  func() Object { return &resourcev1.ResourceClaim{} },
		Rows:                 &Table{Columns: resourceClaimColumns, Cells: resourceClaimCells},
		Prefix:               "resourceclaims",
		Default:              func(obj Object) { defaultDeviceClaim(&obj.(*resourcev1.ResourceClaim).Spec.Devices) },
		ValidateCreate:       rulesOf(resourceClaimRules),
		ValidateUpdate:       changesOf(resourceClaimChanges),
		PrepareStatusUpdate:  prepareClaimStatus,
		ValidateStatusUpdate: changesOf(resourceClaimStatusRules),
		CheckAccess:          checkClaimAccess,
		MetadataRevalidated:  true,
		ReturnDeletedObject:  true,
		HasStatus:            true,
	}
}
