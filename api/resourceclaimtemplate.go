package api

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
)

// resourceClaimTemplate is a pattern for the claims of pods.
func resourceClaimTemplate() *Resource {
	return &Resource{
		Name: "resourceclaimtemplates", Singular: "resourceclaimtemplate", Kind: "ResourceClaimTemplate",
		Namespaced: true,
		Versions: older(served(resourcev1.SchemeGroupVersion),
			alike[resourcev1.ResourceClaimTemplate, resourcev1beta2.ResourceClaimTemplate](resourcev1beta2.SchemeGroupVersion),
			claimTemplateV1beta1()),
		New:                 func() Object { return &resourcev1.ResourceClaimTemplate{} },
		Rows:                nameAndAge(),
		Prefix:              "resourceclaimtemplates",
		Default:             func(obj Object) { defaultDeviceClaim(&obj.(*resourcev1.ResourceClaimTemplate).Spec.Spec.Devices) },
		ValidateCreate:      rulesOf(resourceClaimTemplateRules),
		ValidateUpdate:      changesOf(resourceClaimTemplateChanges),
		CheckAccess:         checkTemplateAccess,
		ReturnDeletedObject: true,
	}
}
