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
	d := dropper{gates: gates, program: sync.OnceValue(func() *gated.Program { return gatedFields(r.New, fields) }), byHand: r.DropDisabledFields}
	r.Create.PrepareForCreate = d.beforeCreate(r.Create.PrepareForCreate)
	if r.Status.PrepareForCreate != nil {
		r.Status.PrepareForCreate = d.beforeCreate(r.Status.PrepareForCreate)
	}
	r.Update.PrepareForUpdate = d.before(r.Update.PrepareForUpdate)
	if r.Update.GenerationCountsDropped {
		prepare := r.Update.PrepareForUpdate
		r.Update.PrepareForUpdate = func(obj, old Object) {
			if r.IncrementsGeneration(obj, old) {
				obj.SetGeneration(old.GetGeneration() + 1)
			}
			prepare(obj, old)
		}
	}
	for _, sub := range r.Subresources {
		if sub.PrepareForUpdate != nil {
			sub.PrepareForUpdate = d.before(sub.PrepareForUpdate)
		}
	}
	if r.Status.Served {
		onlyTable := d
		onlyTable.byHand = nil
		r.Status.PrepareForUpdate = onlyTable.before(r.Status.PrepareForUpdate)
	}
}

// dropper drops fields of disabled features: those of a program, which is compiled when the first
// object is written and nil for a kind without such fields, and what a function drops.
type dropper struct {
	gates   features.Gates
	program func() *gated.Program
	byHand  func(gates features.Gates, obj, old Object) // or nil
}

// beforeCreate returns a PrepareForCreate that drops the fields of a new object, and then calls prepare
// unless it is nil.
func (d dropper) beforeCreate(prepare func(Object)) func(Object) {
	return func(obj Object) {
		if p := d.program(); p != nil {
			p.DropFromNew(obj)
		}
		if d.byHand != nil {
			d.byHand(d.gates, obj, nil)
		}
		if prepare != nil {
			prepare(obj)
		}
	}
}

// before returns the function that drops the fields of obj and then prepares it.
func (d dropper) before(prepare func(obj, old Object)) func(obj, old Object) {
	return func(obj, old Object) {
		if p := d.program(); p != nil {
			p.Drop(obj, old)
		}
		if d.byHand != nil {
			d.byHand(d.gates, obj, old)
		}
		if prepare != nil {
			prepare(obj, old)
		}
	}
}

// gatedFields compiles the table for a kind.
func gatedFields(newObject func() Object, fields func() (*gated.Table, error)) *gated.Program {
	table, err := fields()
	if err != nil {
		panic(err) // the table is part of the program, and tests compile it for all kinds
	}
	p, err := table.Program(reflect.TypeOf(newObject()))
	if err != nil {
		panic(err)
	}
	return p
}
