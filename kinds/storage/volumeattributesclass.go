package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
)

// VolumeAttributesClass describes the kind VolumeAttributesClass, which has the mutable
// attributes of volumes.
func VolumeAttributesClass() *api.Resource {
	return api.NewResource(api.Kind[*storagev1.VolumeAttributesClass]{
		Names: api.Names{
			Name: "volumeattributesclasses", Singular: "volumeattributesclass", Kind: "VolumeAttributesClass",
			ShortNames: []string{"vac"},
		},
		Versions: api.WithOlderVersions(api.Served(storagev1.SchemeGroupVersion),
			api.SameFields[storagev1.VolumeAttributesClass, storagev1beta1.VolumeAttributesClass](storagev1beta1.SchemeGroupVersion),
			api.OnlyFaithful(api.SameFields[storagev1.VolumeAttributesClass,
				storagev1alpha1.VolumeAttributesClass](storagev1alpha1.SchemeGroupVersion))),
		Storage: api.Storage{Prefix: "volumeattributesclasses"},
		Checks: api.Checks(
			api.Metadata,
			api.Changes(volumeAttributesClassChanges),
			api.RevalidatedMetadata,
			api.Rules(volumeAttributesClassRules),
			api.Declared,
		),
		Delete: api.Deletion{ReturnDeletedObject: true},
		Table:  api.Rows(volumeAttributesClassRow),
	})
}

func volumeAttributesClassRow(row *table.Row, c *storagev1.VolumeAttributesClass) {
	row.Name(table.NameCell(c, "volumeattributesclass.alpha.kubernetes.io/is-default-class"))
	row.Text("DriverName", ".driverName", c.DriverName)
	row.Age(c)
}
