package storage

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
)

// StorageClass describes the kind StorageClass, which configures the provisioning of
// volumes.
func StorageClass() *api.Resource {
	return api.NewResource(api.Kind[*storagev1.StorageClass]{
		Names: api.Names{Name: "storageclasses", Singular: "storageclass", Kind: "StorageClass", ShortNames: []string{"sc"}},
		Versions: api.WithOlderVersions(api.Served(storagev1.SchemeGroupVersion),
			api.SameFields[storagev1.StorageClass, storagev1beta1.StorageClass](storagev1beta1.SchemeGroupVersion)),
		Default: defaultStorageClass,
		Storage: api.Storage{Prefix: "storageclasses"},
		Checks: api.Checks(
			api.Metadata,
			api.Changes(storageClassChanges),
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(storageClassRules)),
			api.Declared,
			api.Warn(storageClassWarnings),
		),
		Delete: api.Deletion{ReturnDeletedObject: true},
		Table:  api.Rows(storageClassRow),
	})
}

func defaultStorageClass(c *storagev1.StorageClass) {
	api.SetDefault(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	api.SetDefault(&c.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}

func storageClassRow(row *table.Row, c *storagev1.StorageClass) {
	reclaim, binding := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate
	if c.ReclaimPolicy != nil {
		reclaim = *c.ReclaimPolicy
	}
	if c.VolumeBindingMode != nil {
		binding = *c.VolumeBindingMode
	}
	row.Name(table.NameCell(c,
		"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"))
	row.Text("Provisioner", ".provisioner", c.Provisioner)
	row.Text("ReclaimPolicy", ".reclaimPolicy", string(reclaim))
	row.Text("VolumeBindingMode", ".volumeBindingMode", string(binding))
	row.Text("AllowVolumeExpansion", ".allowVolumeExpansion", table.ValueOrZero(c.AllowVolumeExpansion))
	row.Age(c)
}
