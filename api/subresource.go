package api

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Subresource is a path below an object: a part of the object that has its own writes, a
// view of it as another kind (scale), or an action (eviction).
type Subresource struct {
	// Name is the last part of the path, Verbs the served verbs.
	Name  string
	Verbs []string
	// NoTable: the subresource has no representation as a table.
	NoTable bool
	// Kind is the kind of requests and responses, unless they carry the object itself.
	// Only its names, versions and New are used; responses have the first version.
	Kind *Resource

	// PrepareForUpdate restores the fields of obj that a write through the subresource
	// does not change, and Validate returns the errors of the others. Kind must be nil.
	PrepareForUpdate func(obj, old Object)
	Validate         func(obj, old Object) field.ErrorList
	// RevalidateMetadata is that of UpdateStrategy, for writes through the subresource.
	RevalidateMetadata bool

	// View returns an object as Kind, and Change applies a request of that kind to an
	// object. ChangesSpecAndStatus: Change may change spec and status at once.
	View                 func(obj Object) (Object, error)
	Change               func(obj, requested Object) (Object, error)
	ChangesSpecAndStatus bool
	// PreviousView is View for the object before a write, to which a patch is applied. It is set with
	// Replicas.
	PreviousView func(obj Object) (Object, error)
	// Unreadable returns the reason for which View cannot convert an object, or nil. Writes
	// are possible nevertheless. A nil function means that View can convert all objects.
	Unreadable func(obj Object) error

	// Replicas is the field path of the object that Kind shows as spec.replicas, by
	// apiVersion of the object. The owner of one of these fields in managedFields owns
	// the other too.
	Replicas map[string]string

	// Source names the function of the server that answers a POST of Kind, as
	// Virtual.Source does for resources.
	Source string

	// Connection connects the client to a kubelet, pod or service, in place of all fields
	// above except Name and Verbs.
	Connection *Connection

	// KeepsSystemFields: the uid and the times in the posted object are parameters, so they
	// are not cleared.
	KeepsSystemFields bool
	// Check may reject or complete the posted object. It runs between mutating and
	// validating admission.
	Check func(p *Posted) error

	// Act performs a POST that Change cannot describe because it affects several objects.
	Act func(ctx context.Context, do Actions, name string, requested Object) error
}

// Part describes a subresource whose requests carry the object itself and change a
// part of it.
type Part[T Object] struct {
	// Name is the last part of the path, Verbs the served verbs.
	Name  string
	Verbs []string
	// PrepareForUpdate restores the fields that a write through the subresource does
	// not change, and ValidateUpdate returns the faults of the others.
	PrepareForUpdate func(obj, old T)
	ValidateUpdate   func(obj, old T) field.ErrorList
	// RevalidateMetadata is that of UpdateStrategy.
	RevalidateMetadata bool
}

// NewPart returns the subresource that p describes.
func NewPart[T Object](p Part[T]) *Subresource {
	return &Subresource{Name: p.Name, Verbs: p.Verbs, NoTable: true, PrepareForUpdate: eraseChange(p.PrepareForUpdate),
		Validate: eraseChangeResult(p.ValidateUpdate), RevalidateMetadata: p.RevalidateMetadata}
}

// Posting describes a subresource to which clients post objects of type K in order
// to do something with an object of type T.
type Posting[T, K Object] struct {
	// Name is the last part of the path, Kind the kind of the posted objects.
	Name string
	Kind *Resource
	// KeepsSystemFields: the uid and the times in the posted object are not cleared.
	KeepsSystemFields bool
	// Check may refuse or complete the posted object, between mutating and
	// validating admission.
	Check func(p *Posted, sent K) error
	// One of these performs a POST: Change changes the object (spec and status), Act may
	// change several objects, Source names a function of the server.
	Change func(obj T, requested K) (T, error)
	Act    func(ctx context.Context, do Actions, name string, requested K) error
	Source string
}

// NewPosting returns the subresource that p describes.
func NewPosting[T, K Object](p Posting[T, K]) *Subresource {
	s := &Subresource{
		Name: p.Name, Verbs: []string{VerbCreate}, Kind: p.Kind, Source: p.Source,
		KeepsSystemFields: p.KeepsSystemFields, ChangesSpecAndStatus: p.Change != nil,
	}
	if p.Check != nil {
		s.Check = func(posted *Posted) error { return p.Check(posted, posted.Sent.(K)) }
	}
	if p.Change != nil {
		s.Change = func(obj, requested Object) (Object, error) { return p.Change(obj.(T), requested.(K)) }
	}
	if p.Act != nil {
		s.Act = func(ctx context.Context, do Actions, name string, requested Object) error {
			return p.Act(ctx, do, name, requested.(K))
		}
	}
	return s
}

// Posted is a POST to a subresource.
type Posted struct {
	// Name is the name of the object in the URL.
	Name string
	// Sent is the posted object, of Subresource.Kind; Check may change it.
	Sent Object
	// DryRun: nothing is stored. Check sets it if the posted object asks for a dry run.
	DryRun bool
	// Object reads the object that has the subresource.
	Object func() (Object, error)
}

// CheckName returns an error if the name in the body differs from the name in the URL.
func (p *Posted) CheckName(kind string) error {
	if p.Sent.GetName() != p.Name {
		return apierrors.NewBadRequest("name in URL does not match name in " + kind + " object")
	}
	return nil
}

// Actions are the operations of Subresource.Act, in the namespace of the request. They are
// not authorized again, store nothing in a dry run, and skip admission unless documented
// otherwise.
type Actions interface {
	// Get returns an object; it must not be changed.
	Get(resource, group, name string) (Object, error)
	// List returns all objects of a resource.
	List(resource, group string) ([]Object, error)
	// Update changes spec and status of an object and returns the result. It records no
	// field manager. On a conflict with another write it calls change again.
	Update(resource, group, name string, change func(Object) (Object, error)) (Object, error)
	// UpdateStatus changes the status of an object as the server: admission is called, and
	// the server is the field manager.
	UpdateStatus(resource, group, name string, change func(Object) (Object, error)) error
	// Delete deletes an object. It returns an error if the options are invalid.
	Delete(resource, group, name string, options *metav1.DeleteOptions) error
	// DryRun reports whether the request is a dry run.
	DryRun() bool
}

// Typed adapts a function of a Go type to the signature of Actions.Update.
func Typed[T Object](f func(T) (T, error)) func(Object) (Object, error) {
	return func(obj Object) (Object, error) { return f(obj.(T)) }
}

// Subresource returns the subresource of a name, or nil.
func (r *Resource) Subresource(name string) *Subresource {
	for _, s := range r.Subresources {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// ReadWrite returns the verbs get, patch and update.
func ReadWrite() []string { return []string{VerbGet, VerbPatch, VerbUpdate} }
