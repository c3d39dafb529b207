package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"

	"github.com/miniapiserver/miniapiserver/api"
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
		Checks: api.Checks(
			api.OnCreate(api.WithAccess(checkTemplateAccess)),
			api.Metadata,
			api.Changes(rules.resourceClaimTemplateChanges),
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(rules.resourceClaimTemplateRules)),
			api.Declared,
		),
		Delete: api.Deletion{ReturnDeletedObject: true},
		Table:  api.NameAndAge[*resourcev1.ResourceClaimTemplate](),
	})
}
