package registry

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// VerbConnect is the verb of admission for what leads a client to a pod, a node
// or a service (exec, attach, proxy ...), whatever its HTTP method.
const VerbConnect = "connect"

// Attributes are what admission knows of a write.
type Attributes struct {
	// Verb is create, update, delete or connect.
	Verb string
	// Resource and Version are what the client asked for; the objects are of the
	// hub, whose version is Resource.Versions[0].
	Resource    *api.Resource
	Version     *api.Version
	Subresource string
	// Kind is of what the client sends: of the resource or, at subresources that
	// have one, of their own.
	Kind schema.GroupVersionKind
	// Name is empty while a name is still to be generated.
	Namespace, Name string
	// Object is what is to be stored, of the hub type, or what is sent to a
	// subresource of another kind; nil for a deletion. Old is what is stored, nil
	// for a creation.
	Object, Old api.Object
	// Connect are the options of a connection, in place of an object.
	Connect runtime.Object
	User    *request.User
	DryRun  bool
	// Scope is that of the request, where warnings and annotations go.
	Scope *request.Scope

	write      WriteOptions
	deletion   *DeleteOptions
	onWriteEnd []func(ctx context.Context, written bool)

	reinvocationRequested, isReinvocation bool
	kept                                  map[any]any
}

// GroupResource names the resource in messages.
func (a *Attributes) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: a.Resource.Versions[0].Group, Resource: a.Resource.Name}
}

// Warn adds a warning to the answer.
func (a *Attributes) Warn(text string) { a.Scope.Warn(text) }

// Annotate says something of the request for its audit event.
func (a *Attributes) Annotate(key, value string) { a.Scope.Annotate(key, value) }

// AuthorizeCreate returns an error if the user may not create the object. Plugins
// call it before they write anything on behalf of a creation, since the registry
// authorizes an update that creates only after mutating admission.
func (a *Attributes) AuthorizeCreate(ctx context.Context) error {
	if a.write.authorize == nil {
		return nil
	}
	return a.write.authorize(ctx)
}

// OnWriteEnd has f called when it is known whether the write took place. It is for
// plugins that take something into account before the object is there.
func (a *Attributes) OnWriteEnd(f func(ctx context.Context, written bool)) {
	a.onWriteEnd = append(a.onWriteEnd, f)
}

// RequestReinvocation asks that mutating plugins are run once more after all were, for the
// object is not any more what those before saw. They are run twice at most.
func (a *Attributes) RequestReinvocation() { a.reinvocationRequested = true }

// IsReinvocation tells whether mutating plugins are run for the second time.
func (a *Attributes) IsReinvocation() bool { return a.isReinvocation }

// BeginReinvocation tells whether mutating plugins are to be run once more, and begins
// that.
func (a *Attributes) BeginReinvocation() bool {
	if !a.reinvocationRequested || a.isReinvocation {
		return false
	}
	a.isReinvocation = true
	return true
}

// SetPluginState keeps what a plugin wants to know when it is run again; key is its own.
func (a *Attributes) SetPluginState(key, value any) {
	if a.kept == nil {
		a.kept = map[any]any{}
	}
	a.kept[key] = value
}

// PluginState is what was kept under key; nil if nothing was.
func (a *Attributes) PluginState(key any) any { return a.kept[key] }

// Unreadable reports whether the write deletes an object that cannot be decoded. Old
// has only a name then.
func (a *Attributes) Unreadable() bool { return a.deletion != nil && a.deletion.IgnoreReadErrors }

// finish tells how the write ended; a may be nil.
func (a *Attributes) finish(ctx context.Context, written bool) {
	if a == nil || len(a.onWriteEnd) == 0 {
		return
	}
	ends := a.onWriteEnd
	a.onWriteEnd = nil
	ctx = context.WithoutCancel(ctx)
	for _, f := range ends {
		f(ctx, written)
	}
}

// Options are those of the request, as a kind of meta.k8s.io: CreateOptions,
// UpdateOptions (of a patch too) or DeleteOptions; nil for a connection.
func (a *Attributes) Options() runtime.Object {
	var dryRun []string
	if a.DryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	kind := func(name string) metav1.TypeMeta {
		return metav1.TypeMeta{Kind: name, APIVersion: metav1.SchemeGroupVersion.String()}
	}
	switch {
	case a.Verb == api.VerbCreate:
		return &metav1.CreateOptions{TypeMeta: kind("CreateOptions"), DryRun: dryRun, FieldManager: a.write.FieldManager, FieldValidation: a.write.FieldValidation}
	case a.Verb == api.VerbUpdate:
		return &metav1.UpdateOptions{TypeMeta: kind("UpdateOptions"), DryRun: dryRun, FieldManager: a.write.FieldManager, FieldValidation: a.write.FieldValidation}
	case a.deletion != nil:
		o := &metav1.DeleteOptions{TypeMeta: kind("DeleteOptions"), DryRun: dryRun,
			GracePeriodSeconds: a.deletion.GracePeriodSeconds, Preconditions: a.deletion.Preconditions}
		if a.deletion.IgnoreReadErrors {
			o.IgnoreStoreReadErrorWithClusterBreakingPotential = &a.deletion.IgnoreReadErrors
		}
		if p := a.deletion.Propagation; p != "" {
			o.PropagationPolicy = &p
		}
		return o
	}
	return nil
}

// Admission is asked before anything is stored.
type Admission interface {
	// Mutate comes before the kind's own rules and may change the object.
	Mutate(ctx context.Context, a *Attributes) error
	// Validate comes after them and may only refuse.
	Validate(ctx context.Context, a *Attributes) error
}

// newAttributes describes a write to admission; nil when there is nothing to ask.
func (r *Registry) newAttributes(ctx context.Context, t Target, verb string, obj, old api.Object, o WriteOptions) *Attributes {
	if r.o.Admission == nil || o.SkipAdmission {
		return nil
	}
	scope := request.From(ctx)
	a := &Attributes{
		Verb: verb, Resource: t.Resource, Version: t.Version, Subresource: t.subresource(), Namespace: t.Namespace, Name: t.Name,
		Kind:   t.Version.WithKind(t.Resource.Kind),
		Object: obj, Old: old, User: scope.User, DryRun: o.DryRun, Scope: scope, write: o,
	}
	if t.Sub != nil && t.Sub.Kind != nil {
		a.Kind = t.Sub.Kind.Versions[0].WithKind(t.Sub.Kind.Kind)
	}
	if a.User == nil {
		a.User = &request.User{}
	}
	return a
}

// mutate and validate are the two phases; both do nothing for nil.
func (r *Registry) mutate(ctx context.Context, a *Attributes) error {
	if a == nil {
		return nil
	}
	if a.Object == nil {
		return r.o.Admission.Mutate(ctx, a)
	}
	before := slices.Clone(a.Object.GetManagedFields())
	if err := r.o.Admission.Mutate(ctx, a); err != nil {
		return err
	}
	a.keepManagedFields(before)
	return nil
}

// keepManagedFields restores the managedFields from before admission if plugins made
// them undecodable. A stored object must be readable.
func (a *Attributes) keepManagedFields(before []metav1.ManagedFieldsEntry) {
	after := a.Object.GetManagedFields()
	if equality.Semantic.DeepEqual(before, after) {
		return
	}
	if err := ssa.Validate(after); err != nil {
		a.Object.SetManagedFields(before)
		a.Warn(fmt.Sprintf(".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: %v", err))
	}
}

func (r *Registry) validate(ctx context.Context, a *Attributes) error {
	if a == nil {
		return nil
	}
	return r.o.Admission.Validate(ctx, a)
}

// mutateUpdate has the new state of an object mutated, and returns it with what
// admission knows. At a subresource that shows the object as another kind,
// admission sees that kind, and what it makes of it is what is asked for.
func (r *Registry) mutateUpdate(ctx context.Context, t Target, obj, old api.Object, o WriteOptions) (*Attributes, api.Object, error) {
	a := r.newAttributes(ctx, t, api.VerbUpdate, obj, old, o)
	if a == nil || t.Sub == nil || t.Sub.View == nil {
		return a, obj, r.mutate(ctx, a)
	}
	var err error
	if a.Object, err = t.Sub.View(obj); err != nil {
		return nil, nil, err
	}
	if a.Old, err = t.Sub.View(old); err != nil {
		return nil, nil, err
	}
	if err := r.mutate(ctx, a); err != nil {
		return nil, nil, err
	}
	obj, err = t.Sub.Change(obj, a.Object)
	return a, obj, err
}

// Connect asks admission whether a connection to what t names may be made.
// Options are those of the connection, such as a PodExecOptions.
func (r *Registry) Connect(ctx context.Context, t Target, options runtime.Object) error {
	a := r.newAttributes(ctx, t, VerbConnect, nil, nil, WriteOptions{})
	if a == nil {
		return nil
	}
	a.Connect = options
	if t.Sub.Connects() && t.Sub.Connection.Kind != "" {
		a.Kind.Kind = t.Sub.Connection.Kind
	}
	if err := r.mutate(ctx, a); err != nil {
		return err
	}
	return r.validate(ctx, a)
}
