package api

import (
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func csiDriverColumns() []metav1.TableColumnDefinition {
	spec := storagev1.CSIDriverSpec{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		boolColumn("AttachRequired", doc(spec, "attachRequired")),
		boolColumn("PodInfoOnMount", doc(spec, "podInfoOnMount")),
		boolColumn("StorageCapacity", doc(spec, "storageCapacity")),
		textColumn("TokenRequests", doc(spec, "tokenRequests")),
		boolColumn("RequiresRepublish", doc(spec, "requiresRepublish")),
		textColumn("Modes", doc(spec, "volumeLifecycleModes")),
		ageColumn(),
	}
}

func csiDriverCells(obj Object) []any {
	d := obj.(*storagev1.CSIDriver)
	s := &d.Spec
	audiences := make([]string, len(s.TokenRequests))
	for i, r := range s.TokenRequests {
		audiences[i] = r.Audience
	}
	tokens := strings.Join(audiences, ",")
	if s.TokenRequests == nil {
		tokens = cellUnset
	}
	modes := make([]string, len(s.VolumeLifecycleModes))
	for i, m := range s.VolumeLifecycleModes {
		modes[i] = string(m)
	}
	attach := s.AttachRequired == nil || *s.AttachRequired
	return []any{
		d.Name, attach, orEmpty(s.PodInfoOnMount), orEmpty(s.StorageCapacity), tokens, orEmpty(s.RequiresRepublish),
		orElse(strings.Join(modes, ","), cellNone), Age(d),
	}
}
