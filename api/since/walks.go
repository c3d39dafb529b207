package since

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// walks are the two walks over objects of one Go type.
type walks struct {
	// omit clears the newer fields. Its state is their paths.
	omit *gotype.Walk[[]string]
	// validate collects the errors of newer values of enums.
	validate *gotype.Walk[field.ErrorList]
}

// walksOf returns the walks over objects of a struct type, which are compiled at their first use.
func (r *Release) walksOf(t reflect.Type) *walks {
	if w, ok := r.walks.Load(t); ok {
		return w.(*walks)
	}
	w, _ := r.walks.LoadOrStore(t, &walks{
		omit: gotype.Compile(t, gotype.Rules[[]string]{Field: r.omission}),
		validate: gotype.Compile(t, gotype.Rules[field.ErrorList]{Type: r.refusal, Field: func(owner reflect.Type, f *gotype.Field) gotype.Action[field.ErrorList] {
			if r.isNewer(owner, f) {
				return func(*gotype.Visitor[field.ErrorList], reflect.Value) bool { return false } // which omit clears
			}
			return nil
		}}),
	})
	return w.(*walks)
}

func (r *Release) isNewer(owner reflect.Type, f *gotype.Field) bool {
	return slices.Contains(r.fields[gotype.Name(owner)], f.Name)
}

// omission returns the action that clears a newer field.
func (r *Release) omission(owner reflect.Type, f *gotype.Field) gotype.Action[[]string] {
	if !r.isNewer(owner, f) {
		return nil
	}
	return func(to *gotype.Visitor[[]string], v reflect.Value) bool {
		if v.IsZero() {
			return false
		}
		to.State = append(to.State, to.Path().String())
		v.SetZero()
		return true
	}
}

// refusal returns the action that reports a newer value of an enum.
func (r *Release) refusal(t reflect.Type) (do gotype.Action[field.ErrorList], isLeaf bool) {
	if r.newer[gotype.Name(t)] == nil {
		return nil, false
	}
	supported := r.values[gotype.Name(t)]
	return func(to *gotype.Visitor[field.ErrorList], v reflect.Value) bool {
		if value := v.String(); value != "" && !slices.Contains(supported, value) {
			to.State = append(to.State, field.NotSupported(to.Path(), value, supported))
		}
		return false
	}, true
}
