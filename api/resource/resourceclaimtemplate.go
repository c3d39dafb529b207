package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// ResourceClaimTemplate describes the kind ResourceClaimTemplate, from which the claims of
// pods are created.
func ResourceClaimTemplate(rules *Rules) *api.Resource {
	return api.NewResource(api.Kind[*resourcev1.ResourceClaimTemplate]{
		Names: api.Names{
			Name: "resourceclaimtemplates", Singular: "resourceclaimtemplate", Kind: "ResourceClaimTemplate",
			Namespaced: true,
		},
		Versions: api.WithOlderVersions(api.Served(resourcev1.SchemeGroupVersion),
			api.SameFields[resourcev1.ResourceClaimTemplate, resourcev1beta2.ResourceClaimTemplate](resourcev1beta2.SchemeGroupVersion),
			claimTemplateV1beta1()),
		Default: func(obj *resourcev1.ResourceClaimTemplate) { defaultDeviceClaim(&obj.Spec.Spec.Devices) },
		Storage: api.Storage{Prefix: "resourceclaimtemplates"},
		Create:  api.CreateStrategy[*resourcev1.ResourceClaimTemplate]{ValidateOnCreate: validation.Rules(rules.resourceClaimTemplateRules), ValidateAccess: checkTemplateAccess},
		Update:  api.UpdateStrategy[*resourcev1.ResourceClaimTemplate]{ValidateUpdate: validation.Changes(rules.resourceClaimTemplateChanges), RevalidateMetadata: true},
		Delete:  api.DeleteStrategy[*resourcev1.ResourceClaimTemplate]{ReturnDeletedObject: true},
		Table:   api.NameAndAge[*resourcev1.ResourceClaimTemplate](),
	})
}
