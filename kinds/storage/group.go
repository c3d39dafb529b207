// Package storage describes the kinds for provisioning and attaching volumes: StorageClass,
// VolumeAttributesClass, VolumeAttachment and the kinds that CSI drivers publish. It is
// named after the API group storage.k8s.io; the module's package storage stores objects.
package storage

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group for the feature gates.
func Kinds(gates features.Gates) []*api.Resource {
	return []*api.Resource{
		CSIDriver(gates),
		CSINode(gates),
		CSIStorageCapacity(),
		StorageClass(),
		VolumeAttachment(),
		VolumeAttributesClass(),
	}
}
