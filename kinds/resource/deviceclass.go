package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// DeviceClass describes the kind DeviceClass, which selects a class of devices for claims.
func DeviceClass(rules *Rules) *api.Resource {
	return api.NewResource(api.Kind[*resourcev1.DeviceClass]{
		Names: api.Names{Name: "deviceclasses", Singular: "deviceclass", Kind: "DeviceClass"},
		Versions: api.WithOlderVersions(api.Served(resourcev1.SchemeGroupVersion),
			api.SameFields[resourcev1.DeviceClass, resourcev1beta2.DeviceClass](resourcev1beta2.SchemeGroupVersion),
			api.SameFields[resourcev1.DeviceClass, resourcev1beta1.DeviceClass](resourcev1beta1.SchemeGroupVersion)),
		Storage:      api.Storage{Prefix: "deviceclasses"},
		ValidateName: validation.LongName,
		Checks: api.Checks(
			api.Metadata,
			api.Changes(rules.deviceClassChanges),
			api.OnCreate(api.Rules(rules.deviceClassRules)),
			api.Declared,
		),
		HasGeneration: true,
		Delete:        api.Deletion{ReturnDeletedObject: true},
		Table:         api.NameAndAge[*resourcev1.DeviceClass](),
	})
}
