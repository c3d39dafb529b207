package api

import (
	"context"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Subresource is a path below an object, or what replaces storage for a virtual kind: a *Field, *View,
// *Action, *Connection or *Download. No other package implements it.
type Subresource interface {
	// Path returns the last part of the path and the served verbs.
	Path() (name string, verbs []string)
	sealed()
}

// Field is a part of the object that has its own writes. Requests and responses carry the object itself.
type Field struct {
	Name  string
	Verbs []string
	WriteRules
	// NoTable: the subresource has no representation as a table.
	NoTable bool
	// CreatedByApply, of the status: an apply to a missing object creates the object.
	CreatedByApply bool
}

// NewField returns the field of a name. The function keep restores the parts of an object that the field does
// not have; nil restores nothing. Without checks, metadata and the rules of the Go type are checked.
func NewField[T Object](name string, verbs []string, keep func(obj, old T), checks ...Check[T]) *Field {
	if checks == nil {
		checks = []Check[T]{Metadata[T], Declared[T]}
	}
	var prepare func(*Write[T])
	if keep != nil {
		prepare = PrepareChange(keep)
	}
	return &Field{Name: name, Verbs: verbs, WriteRules: writeRules(prepare, checks), NoTable: true}
}

// NewStatus returns the field status. The registry restores everything but metadata and status before it calls keep.
func NewStatus[T Object](keep func(obj, old T), checks ...Check[T]) *Field {
	f := NewField("status", ReadWrite(), keep, checks...)
	f.NoTable = false
	return f
}

// WithoutTable returns f without a representation as a table.
func (f *Field) WithoutTable() *Field {
	f.NoTable = true
	return f
}

// AlsoCreatedByApply returns f such that an apply to a missing object creates the object.
func (f *Field) AlsoCreatedByApply() *Field {
	f.CreatedByApply = true
	return f
}

// View shows an object as another kind, such as Scale, and writes it by objects of that kind. The view of
// a virtual kind has only a Source.
type View struct {
	Name  string
	Verbs []string
	// Kind is the kind of requests and responses. Only its names, versions, New and Table are used;
	// responses have the first version.
	Kind *Resource
	// View returns an object as Kind, and Change applies a request of that kind to an object.
	View   func(obj Object) (Object, error)
	Change func(obj, requested Object) (Object, error)
	// Previous is View for the object before a write, to which a patch is applied.
	Previous func(obj Object) (Object, error)
	// Unreadable returns the reason for which View cannot convert an object, or nil. Writes
	// are possible nevertheless. A nil function means that View can convert all objects.
	Unreadable func(obj Object) error
	// Replicas is the field path of the object that Kind shows as spec.replicas, by
	// apiVersion of the object. The owner of one of these fields in managedFields owns
	// the other too.
	Replicas map[string]string
	// Source names the function of the server that computes the objects of a virtual kind. The
	// server registers functions by names, because the catalogue cannot import them.
	Source string
}

// Action does something with an object when a client posts an object of another kind. For a virtual kind the
// posted object is one of the kind itself, such as a TokenReview.
type Action struct {
	Name string
	// Kind is the kind of the posted objects.
	Kind *Resource
	// KeepsSystemFields: the uid and the times in the posted object are parameters, so they
	// are not cleared.
	KeepsSystemFields bool
	// Check may refuse or complete the posted object. It runs between mutating and
	// validating admission.
	Check func(p *ActionRequest) error

	// One of these answers a POST. Change changes the object, spec and status at once. Do may change
	// several objects. Source names a function of the server, as View.Source does. At is RESOURCE/SUBRESOURCE
	// of the same group and version: the posted object is an action on the object with its name.
	Change func(obj, requested Object) (Object, error)
	Do     func(ctx context.Context, do Actions, name string, requested Object) error
	Source string
	At     string
}

// Path returns the last part of the path and the served verbs.
func (f *Field) Path() (name string, verbs []string) { return f.Name, f.Verbs }

// Path returns the last part of the path and the served verbs.
func (v *View) Path() (name string, verbs []string) { return v.Name, v.Verbs }

// Path returns the last part of the path and the served verbs.
func (a *Action) Path() (name string, verbs []string) { return a.Name, []string{VerbCreate} }

// Path returns the last part of the path and the served verbs.
func (c *Connection) Path() (name string, verbs []string) { return c.Name, c.Verbs }

// Download is a file that belongs to an object and is not one, such as the data of a checkpoint.
type Download struct {
	Name string
	// ContentType is the media type of the file.
	ContentType string
	// Formats are the media types of other forms of the file, by the value of the query parameter format.
	Formats map[string]string
	// Write writes the file of an object in a format; empty is that of ContentType. An error before the first byte is the response;
	// one after it cuts the connection.
	Write func(ctx context.Context, obj Object, format string, w io.Writer) error
}

// Path returns the last part of the path and the served verbs.
func (d *Download) Path() (name string, verbs []string) { return d.Name, []string{VerbGet} }

func (*Download) sealed()   {}
func (*Field) sealed()      {}
func (*View) sealed()       {}
func (*Action) sealed()     {}
func (*Connection) sealed() {}

// BodyKind returns the kind of the objects in requests to a subresource and in its responses, or nil if
// these are objects of the resource itself. s may be nil.
func BodyKind(s Subresource) *Resource {
	switch s := s.(type) {
	case *View:
		return s.Kind
	case *Action:
		return s.Kind
	}
	return nil
}

// BodyKinds returns the BodyKind of each subresource that has one.
func (r *Resource) BodyKinds() (kinds []*Resource) {
	for _, s := range r.Subresources {
		if kind := BodyKind(s); kind != nil {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Checking adapts a function of a Go type to Action.Check.
func Checking[K Object](check func(p *ActionRequest, sent K) error) func(*ActionRequest) error {
	return func(p *ActionRequest) error { return check(p, p.Sent.(K)) }
}

// Changing adapts a function of Go types to Action.Change.
func Changing[T, K Object](change func(obj T, requested K) (T, error)) func(obj, requested Object) (Object, error) {
	return func(obj, requested Object) (Object, error) { return change(obj.(T), requested.(K)) }
}

// Doing adapts a function of a Go type to Action.Do.
func Doing[K Object](
	do func(ctx context.Context, by Actions, name string, requested K) error,
) func(context.Context, Actions, string, Object) error {
	return func(ctx context.Context, by Actions, name string, requested Object) error {
		return do(ctx, by, name, requested.(K))
	}
}

// ActionRequest is a POST to an action.
type ActionRequest struct {
	// Name is the name of the object in the URL.
	Name string
	// Sent is the posted object, of Action.Kind; Check may change it.
	Sent Object
	// DryRun: nothing is stored. Check sets it if the posted object asks for a dry run.
	DryRun bool
	// Object reads the object that has the subresource.
	Object func() (Object, error)
}

// CheckName returns an error if the name in the body differs from the name in the URL.
func (p *ActionRequest) CheckName(kind string) error {
	if p.Sent.GetName() != p.Name {
		return apierrors.NewBadRequest("name in URL does not match name in " + kind + " object")
	}
	return nil
}

// Actions are the operations of Action.Do, in the namespace of the request. They are
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

// Subresource returns the subresource of a name besides status, or nil.
func (r *Resource) Subresource(name string) Subresource {
	for _, s := range r.Subresources {
		if own, _ := s.Path(); own == name {
			return s
		}
	}
	return nil
}

// fields returns the parts of objects that have their own writes, status first.
func (r *Resource) fields() (fields []*Field) {
	if r.Status != nil {
		fields = append(fields, r.Status)
	}
	for _, s := range r.Subresources {
		if f, ok := s.(*Field); ok {
			fields = append(fields, f)
		}
	}
	return fields
}

// ReadWrite returns the verbs get, patch and update.
func ReadWrite() []string { return []string{VerbGet, VerbPatch, VerbUpdate} }
