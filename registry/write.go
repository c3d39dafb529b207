package registry

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/request"
)

// write is one attempt of a creation or an update. Its methods are steps, which createOnce
// and updateOnce list in their order.
type write struct {
	r *Registry
	t Target
	// obj is the new state of the object. old is the stored state, which must not be
	// changed; nil for a creation.
	obj, old api.Object
	o        WriteOptions

	// prepareCopy does what the step prepare does, for a copy of obj.
	prepareCopy func(context.Context, api.Object) error
	attributes  *Attributes // nil if admission does not apply
	// endAllocation releases the values that the write did not need; nil if it allocated none.
	endAllocation func(context.Context, error) error
	out           Outcome
}

// Steps that record, for the account of the request, how the steps before them changed the object.

func (w *write) recordPrepared(ctx context.Context) error {
	return w.recordState(ctx, request.ChangedByServer)
}
func (w *write) recordAllocated(ctx context.Context) error {
	return w.recordState(ctx, request.ChangedByAllocation)
}

// recordState records the state of the object that by made.
func (w *write) recordState(ctx context.Context, by string) error {
	if account := request.From(ctx).Account; account != nil {
		w.t.Resource.RecordState(account, by, w.obj)
	}
	return nil
}

// inOrder runs the steps of a write until one fails. The steps are methods of the type of the write, listed once for all writes: a list
// of bound methods would be made, on the stack, for each.
func inOrder[W any](ctx context.Context, w W, steps []func(W, context.Context) error) error {
	for _, step := range steps {
		if err := step(w, ctx); err != nil {
			return err
		}
	}
	return nil
}

// ServerManager is the field manager of the server's own writes.
const ServerManager = "kube-apiserver"

// Allocator allocates the values of a resource's objects that must be unique, such as the addresses of
// services.
type Allocator interface {
	// Allocate allocates the values of a new object, for which old is nil, or changes those of an updated
	// one. The registry calls end with the error of the write, also if Allocate fails: it releases the
	// values that are not in use, and returns the error for the client.
	Allocate(ctx context.Context, obj, old api.Object, dryRun bool) (end func(context.Context, error) error, err error)
	// Release releases the values of a deleted object.
	Release(ctx context.Context, obj api.Object) error
}

// allocate allocates the values of the object, which validation and validating
// admission then see. A write of the status allocates nothing.
func (w *write) allocate(ctx context.Context) (err error) {
	allocator := w.r.allocators[w.t.Resource.GroupResource()]
	if allocator == nil || w.t.Status {
		return nil
	}
	w.endAllocation, err = allocator.Allocate(ctx, w.obj, w.old, w.o.DryRun)
	return err
}

// dropManagedFields removes the managedFields of an object that is too large for etcd, and reports
// whether there were any: who does not apply has not asked for them, and they can be as large as the
// rest. After an apply the error stands.
func (w *write) dropManagedFields(applied bool) bool {
	if applied || len(w.obj.GetManagedFields()) == 0 {
		return false
	}
	w.obj.SetManagedFields(nil)
	return true
}

// ofKind returns the write of obj as the functions of its kind see it.
func (w *write) ofKind(ctx context.Context, obj api.Object) *api.Write[api.Object] {
	return w.t.Resource.NewWrite(api.Attempt{
		Context: ctx, Version: w.t.Version, Status: w.t.Status, User: request.From(ctx).User, Access: w.r.o.Access,
	}, obj, w.old)
}

// rules returns the rules for an update of the object or the subresource that t names.
func (t Target) rules() api.WriteRules {
	if t.Status {
		return t.Resource.Status.WriteRules
	}
	if f, ok := t.Sub.(*api.Field); ok {
		return f.WriteRules
	}
	return t.Resource.Rules()
}

// check returns an error if the rules of the kind, or those for all kinds, find errors in the object.
// Otherwise it adds the warnings about it.
func (w *write) check(ctx context.Context, rules api.WriteRules) error {
	of := w.ofKind(ctx, w.obj)
	w.t.Resource.Check(rules, of)
	if errs := append(of.Errors, w.r.encodeFaults.of(w.t.Resource, w.obj)...); len(errs) > 0 {
		return invalid(w.t, w.obj, errs)
	}
	for _, text := range of.Warnings {
		request.From(ctx).Warn(text)
	}
	return nil
}

// admit runs validating admission.
func (w *write) admit(ctx context.Context) error { return w.r.validate(ctx, w.attributes) }

// finish ends an attempt whose steps returned err. It releases allocations of a failed
// attempt and calls the functions of Attributes.OnWriteEnd.
func (w *write) finish(ctx context.Context, err error) error {
	if w.endAllocation != nil {
		err = w.endAllocation(ctx, err)
	}
	if w.attributes == nil || len(w.attributes.onWriteEnd) == 0 {
		return err
	}
	ends := w.attributes.onWriteEnd
	w.attributes.onWriteEnd = nil
	for _, f := range ends {
		f(context.WithoutCancel(ctx), err == nil)
	}
	return err
}

// encodeFaults caches, for each resource, the function that finds the values of an object that
// cannot be encoded.
type encodeFaults struct{ finders sync.Map } // *api.Resource -> func(api.Object) field.ErrorList

// of returns the faults of an object that could be stored but not be encoded.
func (f *encodeFaults) of(res *api.Resource, obj api.Object) field.ErrorList {
	if res.IsCustom() {
		return nil
	}
	find, ok := f.finders.Load(res)
	if !ok {
		find, _ = f.finders.LoadOrStore(res, res.EncodeFaults())
	}
	if find := find.(func(api.Object) field.ErrorList); find != nil { // nil if all objects can be encoded
		return find(obj)
	}
	return nil
}

// checkOf returns storage's check of values that another program wrote; nil if all objects
// of the resource can be encoded.
func checkOf(res *api.Resource) func(api.Object) error {
	faults := res.EncodeFaults()
	if faults == nil {
		return nil
	}
	return func(obj api.Object) error {
		if errs := faults(obj); len(errs) > 0 {
			return validation.JoinFields(errs)
		}
		return nil
	}
}

// checkEncodable refuses an object that could be stored but not be encoded in all served
// versions. It runs before admission, whose plugins encode the object and would report the
// client's mistake as their own failure. The strategy prepares a copy first: it restores
// the fields that the write cannot change, and returns errors of the kind's own
// validation, which take precedence.
func (w *write) checkEncodable(ctx context.Context) error {
	if len(w.r.encodeFaults.of(w.t.Resource, w.obj)) == 0 {
		return nil
	}
	prepared := w.obj.DeepCopyObject().(api.Object)
	if err := w.prepareCopy(ctx, prepared); err != nil {
		return err
	}
	if errs := w.r.encodeFaults.of(w.t.Resource, prepared); len(errs) > 0 {
		return invalid(w.t, prepared, errs)
	}
	return nil
}

// checkUsable returns an internal error for objects that the kind's code cannot handle.
func (t Target) checkUsable(obj, old api.Object) error {
	if t.Resource.Custom == nil || t.Resource.Custom.Unusable == nil {
		return nil
	}
	if err := t.Resource.Custom.Unusable(obj, old); err != nil {
		return apierrors.NewInternalError(err)
	}
	return nil
}

// MatchNamespace sets the namespace of obj to that of the URL. It refuses an object with
// another namespace.
func (t Target) MatchNamespace(obj api.Object) error {
	switch ns := obj.GetNamespace(); {
	case !t.Resource.Namespaced && ns == "", ns == t.Namespace:
		return nil
	case !t.Resource.Namespaced:
		obj.SetNamespace("")
		return nil
	case ns == "":
		obj.SetNamespace(t.Namespace)
		return nil
	}
	return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
}

func invalid(t Target, obj api.Object, errs field.ErrorList) error {
	return validation.NewInvalid(t.groupKind(), obj.GetName(), errs)
}
