package storage

import (
	storagev1 "k8s.io/api/storage/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

func storageClassWarnings(obj *storagev1.StorageClass) []string {
	return validation.Warn(func(at *validation.Path) {
		for i, t := range obj.AllowedTopologies {
			for j, e := range t.MatchLabelExpressions {
				if instead := validation.NodeLabelDeprecation(e.Key); instead != "" {
					at.Child("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j).Child("key").Warn(instead)
				}
			}
		}
	})
}

func capacityWarnings(obj *storagev1.CSIStorageCapacity) []string {
	return validation.Warn(func(at *validation.Path) {
		validation.NodeLabelSelectorWarnings(at.Child("nodeTopology"), obj.NodeTopology)
	})
}
