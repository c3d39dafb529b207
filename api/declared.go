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

// withDeclared joins the errors of the rules written by hand with those of the Go type of
// version v, or of the hub version if v is nil; old is nil for a new object. As in
// kube-apiserver, the rules are those of the version of the request, and so are the paths. Each
// error is returned once, unlike those of updated objects of custom kinds and of kinds with
// RepeatsErrors.
func (r *Resource) withDeclared(v *Version, obj, old Object, byHand field.ErrorList) field.ErrorList {
	if v == nil || v.FromHub == nil {
		v = &r.Versions[0]
	}
	if len(byHand) > 1 && (old == nil || v.declared != nil) {
		byHand = distinct(byHand, r.RepeatsErrors)
	}
	if v.declared == nil {
		return byHand
	}
	program, err := v.declared()
	if program == nil && err == nil {
		return byHand
	}
	var stored any
	if v.FromHub != nil && err == nil {
		if obj, err = r.As(v, obj); err == nil && old != nil {
			old, err = r.As(v, old)
		}
	}
	if err != nil {
		return append(byHand, field.InternalError(nil, err))
	}
	if old != nil {
		stored = old
	}
	return declarative.Merge(byHand, program.Validate(obj, stored), v.HubPath)
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
