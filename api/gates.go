package api

import (
	"reflect"
	"sync"

	"github.com/miniapiserver/miniapiserver/api/gated"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// ApplyFeatureGates makes r apply its rules with feature gates, and drop the fields of disabled features before
// anything else is done to a written object: those in the table, and what DropDisabledFields drops. Status
// has only fields in the table.
func (r *Resource) ApplyFeatureGates(gates features.Gates, fields func() (*gated.Table, error)) {
	r.gates = gates
	program := sync.OnceValue(func() *gated.Program { return gatedFields(r.New, fields) })
	inTable := func(w *Write[Object]) {
		if p := program(); p == nil {
			return
		} else if w.IsNew() {
			p.DropFromNew(w.Object)
		} else {
			p.Drop(w.Object, w.Old)
		}
	}
	all := inTable
	if byHand := r.DropDisabledFields; byHand != nil {
		all = func(w *Write[Object]) {
			inTable(w)
			byHand(gates, w.Object, w.Old)
		}
	}
	r.Prepare = after(all, r.Prepare)
	if r.GenerationCountsDropped {
		r.Prepare = after(func(w *Write[Object]) {
			if !w.IsNew() && r.Generation(w.Object, w.Old) {
				w.Object.SetGeneration(w.Old.GetGeneration() + 1)
			}
		}, r.Prepare)
	}
	for _, f := range r.fields() {
		drop := all
		if f == r.Status {
			drop = inTable
		}
		f.Prepare = after(drop, f.Prepare)
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
