package api

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation/declarative"
)

// ApplyDeclaredRules makes r validate objects by the rules of its Go type, besides those that
// are written by hand. They are compiled when the first object is validated.
func (r *Resource) ApplyDeclaredRules(rules func() *declarative.Table) {
	for i := range r.Versions {
		v := &r.Versions[i]
		v.declared = sync.OnceValues(func() (*declarative.Program, error) {
			return rules().Program(reflect.TypeOf(r.NewOf(v)))
		})
	}
}

// Declared is the check by the rules of the Go type of the version of the request, or of the hub version
// for a write without one. It joins its errors with those of the checks before, which are written by
// hand. As in kube-apiserver, the paths are those of that version. Each error is returned once, unlike those of
// updated objects of kinds without declared rules and of kinds with RepeatsErrors.
func Declared[T Object](w *Write[T]) {
	r, v := w.resource, w.Version
	if v == nil || v.FromHub == nil {
		v = &r.Versions[0]
	}
	if len(w.Errors) > 1 && (w.IsNew() || v.declared != nil) {
		w.Errors = distinct(w.Errors, r.RepeatsErrors)
	}
	if v.declared == nil {
		return
	}
	program, err := v.declared()
	if program == nil && err == nil {
		return
	}
	var obj, old Object = w.Object, nil
	if !w.IsNew() {
		old = w.Old
	}
	if v.FromHub != nil && err == nil {
		if obj, err = r.As(v, obj); err == nil && old != nil {
			old, err = r.As(v, old)
		}
	}
	if err != nil {
		w.Add(field.InternalError(nil, err))
		return
	}
	var stored any
	if old != nil {
		stored = old
	}
	w.Errors = declarative.Merge(w.Errors, program.Validate(obj, stored), v.HubPath)
}

// maxCompared is the length of messages, in bytes, that distinct compares. It is more than a response
// contains: the message of an error can repeat a list that has as many errors as elements.
const maxCompared = 2 << 20

// distinct returns errors without those that are equal to an earlier one, which come from
// validation functions that overlap. With metadataOnly it compares the errors of metadata only.
func distinct(errs field.ErrorList, metadataOnly bool) field.ErrorList {
	seen, length := make(map[string]bool, len(errs)), 0
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		if length > maxCompared || metadataOnly && !strings.HasPrefix(err.Field, "metadata.") {
			return false
		}
		text := err.Error()
		length += len(text)
		isRepeated := seen[text]
		seen[text] = true
		return isRepeated
	})
}
