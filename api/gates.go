package api

import (
	"reflect"
	"sync"

	"github.com/miniapiserver/miniapiserver/api/gated"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// ApplyFeatureGates makes r drop the fields of disabled features before anything else
// is done to a written object: those in the table, and what DropDisabledFields drops. Status has only
// fields in the table.
func (r *Resource) ApplyFeatureGates(gates features.Gates, fields func() (*gated.Table, error)) {
	dropFields := fieldDropper(r.New, fields)
	drop := dropFields
	if byHand := r.DropDisabledFields; byHand != nil {
		drop = func(obj, old Object) {
			dropFields(obj, old)
			byHand(gates, obj, old)
		}
	}
	create := r.Create.PrepareForCreate
	r.Create.PrepareForCreate = func(obj Object) {
		drop(obj, nil)
		if create != nil {
			create(obj)
		}
	}
	r.Update.PrepareForUpdate = dropFirst(drop, r.Update.PrepareForUpdate)
	if r.Status.Served {
		r.Status.PrepareForUpdate = dropFirst(dropFields, r.Status.PrepareForUpdate)
	}
	for _, sub := range r.Subresources {
		if sub.PrepareForUpdate != nil {
			sub.PrepareForUpdate = dropFirst(drop, sub.PrepareForUpdate)
		}
	}
}

func dropFirst(drop, prepare func(obj, old Object)) func(obj, old Object) {
	return func(obj, old Object) {
		drop(obj, old)
		if prepare != nil {
			prepare(obj, old)
		}
	}
}

// fieldDropper returns the function that drops the fields of disabled features in the table; old is
// nil for a new object. The table is compiled when the first object is written.
func fieldDropper(newObject func() Object, fields func() (*gated.Table, error)) func(obj, old Object) {
	program := sync.OnceValue(func() *gated.Program {
		table, err := fields()
		if err != nil {
			panic(err) // the table is part of the program, and tests compile it for all kinds
		}
		p, err := table.Program(reflect.TypeOf(newObject()))
		if err != nil {
			panic(err)
		}
		return p
	})
	return func(obj, old Object) {
		switch p := program(); {
		case p == nil:
		case old == nil:
			p.DropFromNew(obj)
		default:
			p.Drop(obj, old)
		}
	}
}
