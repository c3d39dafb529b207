package api

import (
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// ApplyFeatureGates makes r drop the fields of disabled features before anything else
// is done to a written object.
func (r *Resource) ApplyFeatureGates(gates features.Gates) {
	drop, create, update := r.DropDisabledFields, r.Create.PrepareForCreate, r.Update.PrepareForUpdate
	if drop == nil {
		return
	}
	r.Create.PrepareForCreate = func(obj Object) {
		drop(gates, obj, nil)
		if create != nil {
			create(obj)
		}
	}
	r.Update.PrepareForUpdate = func(obj, old Object) {
		drop(gates, obj, old)
		if update != nil {
			update(obj, old)
		}
	}
}
