package registry

import (
	"context"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// VerbConnect is the admission verb of requests that connect to a pod, a node or a service
// (exec, attach, proxy ...), whatever their HTTP method.
const VerbConnect = "connect"

// Attributes describe a write to admission.
type Attributes struct {
	// Verb is create, update, delete or connect.
	Verb string
	// Resource and Version are those of the request. The objects are of the hub version,
	// Resource.Versions[0].
	Resource    *api.Resource
	Version     *api.Version
	Subresource string
	// Kind is the kind of the request body: that of the resource, or that of the
	// subresource if it has one.
	Kind schema.GroupVersionKind
	// Name is empty until a generated name is known.
	Namespace, Name string
	// Object is the object to be stored, of the hub type, or the body of a request to a
	// subresource of another kind; nil for a deletion. Old is the stored object; nil for a
	// creation.
	Object, Old api.Object
	// Connect has the options of a connection, which has no object.
	Connect runtime.Object
	User    *request.User
	DryRun  bool
	// Scope is the scope of the request, which collects warnings and audit annotations.
	Scope *request.Scope

	admission  Admission
	write      WriteOptions
	deletion   *DeleteOptions
	onWriteEnd []func(ctx context.Context, written bool)
	guard      Guard // of a creation

	reinvocationRequested, isReinvocation bool
	pluginState                           map[any]any
}

// GroupResource returns the resource as error messages name it.
func (a *Attributes) GroupResource() schema.GroupResource {
	return a.Resource.GroupResource()
}

// Warn adds a warning to the response.
func (a *Attributes) Warn(text string) { a.Scope.Warn(text) }

// Annotate adds an annotation to the audit event of the request.
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

// RecordState records, for the account of the request, the state of the object that by made.
func (a *Attributes) RecordState(by string) {
	if a.Object != nil && a.Kind.Kind == a.Resource.Kind && a.Scope.Account != nil {
		a.Resource.RecordState(a.Scope.Account, by, a.Object)
	}
}

// OnWriteEnd registers a function that is called when the outcome of the write is known.
// Plugins that reserve something before the object exists, such as quota, release it there.
func (a *Attributes) OnWriteEnd(f func(ctx context.Context, written bool)) {
	a.onWriteEnd = append(a.onWriteEnd, f)
}

// RequestReinvocation requests a second run of the mutating plugins, because the object has
// changed since the earlier ones saw it. There is at most one such run.
func (a *Attributes) RequestReinvocation() { a.reinvocationRequested = true }

// IsReinvocation reports whether the mutating plugins run for the second time.
func (a *Attributes) IsReinvocation() bool { return a.isReinvocation }

// BeginReinvocation reports whether the mutating plugins must run again. If so,
// IsReinvocation reports true from then on.
func (a *Attributes) BeginReinvocation() bool {
	if !a.reinvocationRequested || a.isReinvocation {
		return false
	}
	a.isReinvocation = true
	return true
}

// SetPluginState stores state of a plugin for its reinvocation. The type of key is the
// plugin's own.
func (a *Attributes) SetPluginState(key, value any) {
	if a.pluginState == nil {
		a.pluginState = map[any]any{}
	}
	a.pluginState[key] = value
}

// PluginState returns the state that was stored for key, or nil.
func (a *Attributes) PluginState(key any) any { return a.pluginState[key] }

// Unreadable reports whether the write deletes an object that cannot be decoded. Old has
// only a namespace and a name then.
func (a *Attributes) Unreadable() bool { return a.deletion != nil && a.deletion.IgnoreReadErrors }

// Options returns the options of the request as an object of meta.k8s.io: CreateOptions,
// UpdateOptions (also for a patch) or DeleteOptions; nil for a connection.
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
		return &metav1.CreateOptions{TypeMeta: kind("CreateOptions"), DryRun: dryRun,
			FieldManager: a.write.FieldManager, FieldValidation: a.write.FieldValidation}
	case a.Verb == api.VerbUpdate:
		return &metav1.UpdateOptions{TypeMeta: kind("UpdateOptions"), DryRun: dryRun,
			FieldManager: a.write.FieldManager, FieldValidation: a.write.FieldValidation}
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

// Admission decides about each write before it is stored.
type Admission interface {
	// Mutate runs before the kind's own validation and may change the object.
	Mutate(ctx context.Context, a *Attributes) error
	// Validate runs after the kind's own validation and may only refuse.
	Validate(ctx context.Context, a *Attributes) error
}

// newAttributes describes a write to admission. It returns nil if admission does not apply.
func (r *Registry) newAttributes(ctx context.Context, t Target, verb string, obj, old api.Object, o WriteOptions) *Attributes {
	if r.o.Admission == nil || o.SkipAdmission {
		return nil
	}
	admission := r.o.Admission()
	if admission == nil {
		return nil
	}
	scope := request.From(ctx)
	a := &Attributes{
		Verb: verb, Resource: t.Resource, Version: t.Version, Subresource: t.subresource(), Namespace: t.Namespace, Name: t.Name,
		Kind:   t.Version.WithKind(t.Resource.Kind),
		Object: obj, Old: old, User: scope.User, DryRun: o.DryRun, Scope: scope, write: o, admission: admission,
	}
	if kind := api.BodyKind(t.Sub); kind != nil {
		a.Kind = kind.Versions[0].WithKind(kind.Kind)
	}
	if a.User == nil {
		a.User = &request.User{}
	}
	return a
}

// mutate runs mutating admission, and validate runs validating admission. Both do nothing
// if a is nil.
func (r *Registry) mutate(ctx context.Context, a *Attributes) error {
	if a == nil {
		return nil
	}
	if a.Scope.Traced {
		var span *request.Span
		ctx, span = a.startSpan(ctx, "Mutating admission")
		defer span.End()
	}
	if a.Object == nil {
		return a.admission.Mutate(ctx, a)
	}
	before := slices.Clone(a.Object.GetManagedFields())
	if err := a.admission.Mutate(ctx, a); err != nil {
		return err
	}
	a.keepManagedFields(before)
	return nil
}

// startSpan begins a span of the admission of a traced request.
func (a *Attributes) startSpan(ctx context.Context, name string) (context.Context, *request.Span) {
	return request.StartSpan(ctx, name, attribute.String("operation", a.Verb))
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
	if a.Scope.Traced {
		var span *request.Span
		ctx, span = a.startSpan(ctx, "Validating admission")
		defer span.End()
	}
	return a.admission.Validate(ctx, a)
}

// Connect runs admission for a connection to the object that t names. The options are those
// of the connection, such as PodExecOptions.
func (r *Registry) Connect(ctx context.Context, t Target, options runtime.Object) error {
	a := r.newAttributes(ctx, t, VerbConnect, nil, nil, WriteOptions{})
	if a == nil {
		return nil
	}
	a.Connect = options
	if c, ok := t.Sub.(*api.Connection); ok && c.Kind != "" {
		a.Kind.Kind = c.Kind
	}
	if err := r.mutate(ctx, a); err != nil {
		return err
	}
	return r.validate(ctx, a)
}
