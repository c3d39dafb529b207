package api

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Subresource is a path below an object: a part of it that is written on its
// own, another kind that shows it, or something that can be done to it.
type Subresource struct {
	// Name is the last part of the path, Verbs what it answers.
	Name  string
	Verbs []string
	// Kind is what goes in and out, when that is not the object itself. Only
	// its names, versions and New are used; the first version is what is shown.
	Kind *Resource

	// Keep puts back into obj whatever this path may not change, and Validate
	// checks the rest. For paths that go without Kind.
	Keep     func(obj, old Object)
	Validate func(obj, old Object) field.ErrorList

	// View shows an object as Kind, and Change makes of an object what was asked
	// for in that kind. Whole: the change may be of spec and status alike.
	View   func(obj Object) (Object, error)
	Change func(obj, asked Object) (Object, error)
	Whole  bool
	// Unreadable tells why a GET cannot show an object, which a write may mend;
	// nil means that all can be shown.
	Unreadable func(obj Object) error

	// Replicas is where an object keeps what Kind shows as spec.replicas, as names
	// with dots between them, by apiVersion of the object. Who writes Kind owns
	// that field of the object, and who owns it owns that of Kind.
	Replicas map[string]string

	// Source names which of the server's own answers a POST gets, which is a
	// question in the form of Kind, as Virtual.Source does for resources.
	Source string

	// Connection leads the client on to somewhere else, in place of all of these.
	Connection *Connection

	// KeepsSystemFields: the uid and the times in what is posted mean something,
	// and are not cleared as they are elsewhere.
	KeepsSystemFields bool
	// Check may refuse or complete what is posted. It runs between mutating and
	// validating admission.
	Check func(p *Posted) error

	// Act is what a POST does, when that is more than Change.
	Act func(ctx context.Context, do Actions, name string, asked Object) error
}

// Posted is what a client posts to a subresource.
type Posted struct {
	// Name is the one in the URL.
	Name string
	// Sent is of Subresource.Kind; Check may change it.
	Sent Object
	// DryRun: nothing is to be stored. Check sets it where the body asks for it.
	DryRun bool
	// Object reads the object that the subresource belongs to.
	Object func() (Object, error)
}

// checkName refuses a name in the body that is not the one in the URL.
func (p *Posted) checkName(kind string) error {
	if p.Sent.GetName() != p.Name {
		return apierrors.NewBadRequest("name in URL does not match name in " + kind + " object")
	}
	return nil
}

// Actions are what Subresource.Act can do, in the namespace of the request. None
// of it is authorized again, nothing is stored in a dry run, and admission is not
// asked except where a method says so.
type Actions interface {
	// Get returns an object; it must not be changed.
	Get(resource, group, name string) (Object, error)
	// List returns all objects of a resource.
	List(resource, group string) ([]Object, error)
	// Update changes an object, with spec and status alike, and returns it as it
	// is then. No field manager is noted. The change may be called again when
	// others write at the same time.
	Update(resource, group, name string, change func(Object) (Object, error)) (Object, error)
	// UpdateStatus changes the status of an object as the server itself does it:
	// admission is asked, and the fields belong to the server.
	UpdateStatus(resource, group, name string, change func(Object) (Object, error)) error
	// Delete removes an object. Options that are not valid are refused.
	Delete(resource, group, name string, options *metav1.DeleteOptions) error
	// DryRun tells that nothing is to be stored.
	DryRun() bool
}

// Subresource finds a subresource by its name.
func (r *Resource) Subresource(name string) *Subresource {
	for _, s := range r.Subresources {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// readWrite are the verbs of most subresources.
func readWrite() []string { return []string{VerbGet, VerbPatch, VerbUpdate} }
