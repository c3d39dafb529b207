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
	at := make(map[fault][]*field.Error, len(declared))
	for _, d := range declared {
		at[fault{d.Type, d.Field}] = append(at[fault{d.Type, d.Field}], d)
		if hubPath == nil {
			continue
		}
		if path := hubPath(d.Field); path != d.Field {
			at[fault{d.Type, path}] = append(at[fault{d.Type, path}], d)
		}
	}
	kept := slices.DeleteFunc(slices.Clone(byHand), func(h *field.Error) bool {
		return slices.ContainsFunc(at[fault{h.Type, h.Field}], func(d *field.Error) bool {
			return h.Type != field.ErrorTypeInvalid || h.Origin != "" && h.Origin == d.Origin || h.Detail == d.Detail
		})
	})
	return append(kept, declared...)
}

// fault is the type and the field of an error.
type fault struct {
	kind field.ErrorType
	path string
}
