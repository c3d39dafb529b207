package api

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// Write is a write of an object of type T, as the functions of its kind see it: Prepare changes
// Object, and then the checks find errors in it and warnings about it.
type Write[T Object] struct {
	// Object is the new state. Old is the stored state, which must not change; the zero T for a
	// new object.
	Object, Old T
	*Attempt
}

// Attempt is the part of a Write that does not depend on the type of the object. The registry makes
// one for each attempt to write an object.
type Attempt struct {
	Context context.Context
	// Version is the version of the request, or nil for the hub version.
	Version *Version
	// Status: the write is one of the status subresource.
	Status bool
	// User is the user of the request, or nil.
	User *request.User
	// Access has the data that the object does not contain, or is nil, which permits everything.
	Access Access
	// Errors are the errors that the checks found so far. Warnings are returned if there are none.
	Errors   field.ErrorList
	Warnings []string

	resource *Resource
	// plain is the cached answer of isPlain.
	plain plainness
}

// IsNew reports whether the object is new.
func (w *Write[T]) IsNew() bool { return IsNew(w.Old) }

// Add adds errors.
func (a *Attempt) Add(errs ...*field.Error) { a.Errors = append(a.Errors, errs...) }

// WarnNow warns the client even if the object turns out to be invalid.
func (a *Attempt) WarnNow(texts ...string) {
	for _, text := range texts {
		request.From(a.Context).Warn(text)
	}
}

// Gates returns the feature gates of the server.
func (a *Attempt) Gates() features.Gates { return a.resource.gates }

// A Check finds errors in a written object. The checks of a kind are a list, which says in which order
// their errors are reported and which of them depend on earlier ones.
type Check[T Object] func(w *Write[T])

// Checks returns a list of checks. It exists because Go infers T from its arguments.
func Checks[T Object](checks ...Check[T]) []Check[T] { return checks }

// Rules is a check of new and updated objects.
func Rules[T Object](rules func(at *validation.Path, obj T)) Check[T] {
	return func(w *Write[T]) {
		w.Add(validation.CheckWith(w.Gates(), func(at *validation.Path) { rules(at, w.Object) })...)
	}
}

// Changes is a check of updated objects.
func Changes[T Object](rules func(at *validation.Path, obj, old T)) Check[T] {
	return OnUpdate(RulesOfChange(rules))
}

// RulesOfChange is a check of new and updated objects; old is the zero T for a new object.
func RulesOfChange[T Object](rules func(at *validation.Path, obj, old T)) Check[T] {
	return func(w *Write[T]) {
		w.Add(validation.CheckWith(w.Gates(), func(at *validation.Path) { rules(at, w.Object, w.Old) })...)
	}
}

// WithAccess is a check that depends on what the user may do, or on the namespace.
func WithAccess[T Object](check func(ctx context.Context, access Access, obj, old T) field.ErrorList) Check[T] {
	return func(w *Write[T]) {
		if w.Access != nil {
			w.Add(check(w.Context, w.Access, w.Object, w.Old)...)
		}
	}
}

// OnCreate restricts a check to new objects.
func OnCreate[T Object](check Check[T]) Check[T] {
	return func(w *Write[T]) {
		if w.IsNew() {
			check(w)
		}
	}
}

// OnUpdate restricts a check to updated objects.
func OnUpdate[T Object](check Check[T]) Check[T] {
	return func(w *Write[T]) {
		if !w.IsNew() {
			check(w)
		}
	}
}

// IfValid restricts a check to objects in which the checks before found no error.
func IfValid[T Object](check Check[T]) Check[T] {
	return func(w *Write[T]) {
		if len(w.Errors) == 0 {
			check(w)
		}
	}
}

// Warn warns about an object. The warnings are dropped if a check finds an error.
func Warn[T Object](warnings func(obj T) []string) Check[T] {
	return func(w *Write[T]) { w.Warnings = append(w.Warnings, warnings(w.Object)...) }
}

// WarnOfChange is Warn for warnings that depend on the stored object too, which is the zero T for a new
// object.
func WarnOfChange[T Object](warnings func(obj, old T) []string) Check[T] {
	return func(w *Write[T]) { w.Warnings = append(w.Warnings, warnings(w.Object, w.Old)...) }
}

// Prepare returns a function that prepares new objects by one function and updated ones by another. Either
// may be nil.
func Prepare[T Object](create func(obj T), update func(obj, old T)) func(*Write[T]) {
	return func(w *Write[T]) {
		switch {
		case !w.IsNew():
			if update != nil {
				update(w.Object, w.Old)
			}
		case create != nil:
			create(w.Object)
		}
	}
}

// PrepareChange is Prepare for a function of both; old is the zero T for a new object.
func PrepareChange[T Object](prepare func(obj, old T)) func(*Write[T]) {
	return func(w *Write[T]) { prepare(w.Object, w.Old) }
}

// WriteRules are what a kind does to the objects of a write and finds in them: of the object itself,
// or of a part of it that has a subresource.
type WriteRules struct {
	// Prepare sets the fields that the server owns, and restores the fields that the write cannot change.
	// Nil changes nothing.
	Prepare func(*Write[Object])
	// Checks find errors and warnings.
	Checks []Check[Object]
}

// writeRules adapts the functions of a kind to Object.
func writeRules[T Object](prepare func(*Write[T]), checks []Check[T]) WriteRules {
	var r WriteRules
	if prepare != nil {
		r.Prepare = func(w *Write[Object]) { prepare(of[T](w)) }
	}
	r.Checks = []Check[Object]{func(w *Write[Object]) {
		typed := of[T](w)
		for _, check := range checks {
			check(typed)
		}
	}}
	return r
}

// of returns a write as one of the Go type of its object.
func of[T Object](w *Write[Object]) *Write[T] {
	return &Write[T]{Object: w.Object.(T), Old: typed[T](w.Old), Attempt: w.Attempt}
}

// Rules returns the rules of writes of the object itself. Its parts that have a subresource have their own.
func (r *Resource) Rules() WriteRules { return WriteRules{r.Prepare, r.Checks} }

// after returns a function that prepares objects after first did; prepare may be nil.
func after(first, prepare func(*Write[Object])) func(*Write[Object]) {
	return func(w *Write[Object]) {
		first(w)
		if prepare != nil {
			prepare(w)
		}
	}
}

// AddCheck adds a check to all writes of objects, their status and their other parts.
func (r *Resource) AddCheck(check Check[Object]) {
	// Other resources may have the same checks.
	add := func(checks []Check[Object]) []Check[Object] { return append(slices.Clip(checks), check) }
	r.Checks = add(r.Checks)
	for _, f := range r.fields() {
		f.Checks = add(f.Checks)
	}
}

// NewWrite returns an attempt to write obj through the rules of r; old is nil for a new object.
func (r *Resource) NewWrite(a Attempt, obj, old Object) *Write[Object] {
	a.resource = r
	if a.Context == nil {
		a.Context = context.Background()
	}
	return &Write[Object]{Object: obj, Old: old, Attempt: &a}
}

// CheckCreate returns the errors of a new object that all servers find, whoever writes it.
func (r *Resource) CheckCreate(v *Version, obj Object) field.ErrorList {
	w := r.NewWrite(Attempt{Version: v}, obj, nil)
	r.Check(r.Rules(), w)
	return w.Errors
}

// Check validates an object that is written through rules, which are those of the object itself or of a
// part of it. The server must have set all fields that it owns; an updated object has a resourceVersion.
// Like kube-apiserver it lists some errors in the metadata of custom kinds several times, because
// validation functions overlap; the message to the client contains each once.
func (r *Resource) Check(rules WriteRules, w *Write[Object]) {
	if w.Old != nil {
		checkSharedMetadata(w)
	}
	for _, check := range rules.Checks {
		check(w)
	}
	if w.Old == nil && len(w.Errors) == 0 {
		w.Add(checkSegments(w.Object)...)
	}
}
