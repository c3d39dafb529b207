package declarative

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Merge joins the errors of rules written by hand with those of declarative rules, which take
// the place of errors about the same fault: of the same field and type, and for an invalid
// value of the same origin or with the same message. hubPath converts the paths of declared to
// those of byHand, unless it is nil.
func Merge(byHand, declared field.ErrorList, hubPath func(path string) string) field.ErrorList {
	if len(declared) == 0 {
		return byHand
	}
	if hubPath == nil {
		hubPath = func(path string) string { return path }
	}
	kept := slices.DeleteFunc(slices.Clone(byHand), func(h *field.Error) bool {
		return slices.ContainsFunc(declared, func(d *field.Error) bool { return isSameFault(h, d, hubPath) })
	})
	return append(kept, declared...)
}

func isSameFault(h, d *field.Error, hubPath func(path string) string) bool {
	return h.Type == d.Type && (h.Field == d.Field || h.Field == hubPath(d.Field)) &&
		(h.Type != field.ErrorTypeInvalid || h.Origin != "" && h.Origin == d.Origin || h.Detail == d.Detail)
}
