package registry

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Change returns the new state of an object; old is its stored state, or nil if it does not
// exist. Both are of the hub type. It is called again, with another copy of the stored
// state, if another write came first.
type Change func(ctx context.Context, old api.Object) (api.Object, error)

// UpdateOptions are the options of an update.
type UpdateOptions struct {
	WriteOptions
	// AuthorizeCreate authorizes the creation of a missing object, which takes place if the
	// kind allows it. If it is nil, a missing object is an error.
	AuthorizeCreate func(context.Context) error
	// IsApply means that the change is an apply, which sets managedFields itself and can
	// create objects of any kind. It gets the stored object itself and must not change it.
	IsApply bool
	// SkipStrategy skips the kind's preparation and validation, and the separation of spec
	// and status. It is for changes that the server itself makes.
	SkipStrategy bool
	// Preconditions are preconditions on the stored object. The uid in an object that a
	// client sends as the new state (a PUT) is one.
	Preconditions metav1.Preconditions
}

// Update replaces the object that t names by the result of change. If another write comes
// first it retries, unless the new state has a resourceVersion.
func (r *Registry) Update(ctx context.Context, t Target, change Change, o UpdateOptions) (Outcome, error) {
	if err := t.CheckName(); err != nil {
		return Outcome{}, err
	}
	c := r.collection(t.Resource)
	item, err := c.Get(ctx, t.Key(), storage.Read{})
	for n := attempts(0); ; {
		if err := n.next(ctx); err != nil {
			return Outcome{}, err
		}
		if errors.Is(err, storage.ErrNotFound) {
			out, err2 := r.updateMissing(ctx, t, change, o, err)
			if !apierrors.IsAlreadyExists(err2) {
				return out, err2
			}
			item, err = c.Get(ctx, t.Key(), storage.Read{})
			continue
		}
		if err != nil {
			return Outcome{}, r.StatusError(t, err)
		}
		out, err2 := r.updateOnce(ctx, t, c, item, change, o)
		var conflict *storage.ConflictError
		switch {
		case errors.As(err2, &conflict):
			item, err = conflict.Current, nil
		case errors.Is(err2, storage.ErrNotFound):
			err = err2
		case err2 != nil:
			recordFailedWrite(ctx, err2)
			return Outcome{}, r.StatusError(t, err2)
		default:
			return out, nil
		}
	}
}

// updateMissing creates a missing object if the options allow it. The caller retries if
// another client has created it meanwhile.
func (r *Registry) updateMissing(ctx context.Context, t Target, change Change, o UpdateOptions, missing error) (Outcome, error) {
	mayCreate := t.Resource.AllowCreateOnUpdate || o.IsApply && canCreate(t.Resource) && (!t.Status || t.Resource.Status.CreatedByApply)
	if o.AuthorizeCreate == nil || !mayCreate || t.Sub != nil {
		return Outcome{}, r.StatusError(t, missing)
	}
	obj, err := change(ctx, nil)
	if err != nil {
		return Outcome{}, err
	}
	if uid := o.Preconditions.UID; uid != nil {
		return Outcome{}, r.preconditionError(t, o.DryRun, "UID", string(*uid), "")
	}
	w := &creation{write: write{r: r, t: t, obj: obj, o: o.WriteOptions}, fromUpdate: true, applied: o.IsApply}
	w.o.authorize = o.AuthorizeCreate
	return r.createOnce(ctx, w)
}

// canCreate reports whether clients can create objects of a resource.
func canCreate(res *api.Resource) bool {
	return len(res.Verbs) == 0 || slices.Contains(res.Verbs, api.VerbCreate)
}

// update is one attempt to change a stored object.
type update struct {
	write
	options    UpdateOptions
	change     Change
	collection *storage.Collection
	item       *storage.Item
	view       *viewWrite // nil unless the request writes an object of another kind
}

// updateSteps are the steps of an update in their order. The first step that fails ends it. Update repeats all steps if another
// write of the object came first.
var updateSteps = []func(*update, context.Context) error{
	(*update).readStored,
	(*update).checkPreconditions,
	(*update).applyChange, // the sent object, a patch or an apply, and managedFields
	(*update).recordChange,
	(*update).checkEncodable,
	(*update).mutate,
	(*update).readMetadata, // after admission, as in kube-apiserver
	(*update).prepare,
	(*update).setGeneration,
	(*update).recordPrepared,
	(*update).allocate,
	(*update).recordAllocated,
	(*update).validate,
	(*update).admit,
	(*update).revertTimeChanges,
	(*update).commit,
}

// updateOnce runs the steps of an update.
func (r *Registry) updateOnce(ctx context.Context, t Target, c *storage.Collection, item *storage.Item, change Change,
	o UpdateOptions) (Outcome, error) {
	w := &update{write: write{r: r, t: t, o: o.WriteOptions}, options: o, change: change, collection: c, item: item}
	w.prepareCopy = w.prepareOther
	request.From(ctx).Account.BeginAttempt(t.Resource, o.Manager, o.DryRun)
	err := w.finish(ctx, inOrder(ctx, w, updateSteps))
	return w.out, err
}

func (w *update) readStored(ctx context.Context) (err error) {
	w.old, err = w.t.object(ctx, w.item)
	if err != nil && !w.o.DryRun {
		err = w.r.errUnreadable(w.item, err)
	}
	if account := request.From(ctx).Account; err == nil && (account.HasPatch() || w.t.Sub != nil) {
		w.t.Resource.RecordState(account, "", w.old) // to which the patch is applied
	}
	return err
}

// recordChange records what applyChange made, for the account of the request.
func (w *update) recordChange(ctx context.Context) error {
	by := request.ChangedByFields // of the sent object, which is recorded
	switch {
	case w.options.IsApply:
		by = request.ChangedByApply
	case request.From(ctx).Account.HasPatch():
		by = request.ChangedByPatch
	}
	return w.recordState(ctx, by)
}

// checkPreconditions compares the stored object with the preconditions of the request.
func (w *update) checkPreconditions(context.Context) error {
	old, p := w.old, &w.options.Preconditions
	if p.UID != nil && *p.UID != old.GetUID() {
		return w.r.preconditionError(w.t, w.o.DryRun, "UID", string(*p.UID), string(old.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion() {
		return w.r.preconditionError(w.t, w.o.DryRun, "ResourceVersion", *p.ResourceVersion, old.GetResourceVersion())
	}
	return nil
}

// applyChange makes the new state with its managedFields, which are those of the object as
// the request changed it, before admission or the server changes it. At a subresource of another
// kind it is an object of that kind that changes.
func (w *update) applyChange(ctx context.Context) (err error) {
	view, ok := w.t.Sub.(*api.View)
	if !ok {
		w.obj, err = w.changed(ctx, w.old)
		return err
	}
	if w.view, err = startViewWrite(view, w.old); err != nil {
		return err
	}
	w.obj = w.old.DeepCopyObject().(api.Object)
	w.view.after, err = w.changed(ctx, w.view.before)
	return err
}

// changed returns what the request makes of old, with its managedFields.
func (w *update) changed(ctx context.Context, old api.Object) (api.Object, error) {
	if w.options.IsApply { // which reads old, and sets managedFields
		return w.change(ctx, old)
	}
	obj, err := w.change(ctx, old.DeepCopyObject().(api.Object))
	if err == nil {
		w.r.updateManagedFields(w.t, old, obj, w.o)
	}
	return obj, err
}

// readMetadata reads the metadata that plugins may have changed. It compares the stored object with the
// resourceVersion that the new state names, and with the uid of a view of another kind.
func (w *update) readMetadata(ctx context.Context) error {
	t, obj, old := w.t, w.obj, w.old
	api.DedupOwnerReferences(obj, true, request.From(ctx).Warn)
	if uid := obj.GetUID(); uid != "" && uid != old.GetUID() && w.view != nil {
		if !t.Resource.IsCustom() {
			return t.errViewOfOther(uid, old.GetUID())
		}
		obj.SetUID(old.GetUID()) // as in kube-apiserver
	}
	var sent uint64
	rv := obj.GetResourceVersion()
	if rv != "" {
		var err error
		if sent, err = strconv.ParseUint(rv, 10, 64); err != nil {
			return errUnparsedVersion(err)
		}
	}
	if sent == 0 {
		// A subresource without a resourceVersion keeps the stored one.
		if (t.Sub == nil || rv != "") && (t.Resource.RequireResourceVersion || t.Version.RequireResourceVersion) {
			// As in kube-apiserver, the error has the resource in place of the kind.
			named := schema.GroupKind{Group: t.groupKind().Group, Kind: t.Resource.Name}
			return apierrors.NewInvalid(named, obj.GetName(), field.ErrorList{
				field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
		}
		return nil
	}
	if strconv.FormatUint(sent, 10) != old.GetResourceVersion() {
		return apierrors.NewConflict(t.groupResource(), t.Name, errors.New(modifiedMessage))
	}
	return nil
}

// prepareOther is prepare for another object.
func (w *update) prepareOther(ctx context.Context, obj api.Object) error {
	other := *w
	other.obj = obj
	return other.prepare(ctx)
}

// mutate runs mutating admission. At a subresource of another kind, admission sees an object
// of that kind, which then changes the stored one.
func (w *update) mutate(ctx context.Context) error {
	a := w.r.newAttributes(ctx, w.t, api.VerbUpdate, w.obj, w.old, w.o)
	w.attributes = a
	if a != nil && w.view != nil {
		a.Object, a.Old = w.view.after, w.view.before
	}
	if err := w.r.mutate(ctx, a); err != nil || w.view == nil {
		return err
	}
	if err := w.changeByView(ctx); err != nil {
		return err
	}
	return w.recordState(ctx, request.ChangedByView)
}

// admit runs validating admission, which sees views too.
func (w *update) admit(ctx context.Context) error {
	if w.view != nil {
		if err := w.showViews(); err != nil {
			return err
		}
	}
	return w.write.admit(ctx)
}

// prepare restores the fields that the request cannot change.
func (w *update) prepare(ctx context.Context) error {
	if w.options.SkipStrategy {
		return nil
	}
	t, obj, old := w.t, w.obj, w.old
	if err := t.MatchNamespace(obj); err != nil {
		return err
	}
	obj.SetResourceVersion(old.GetResourceVersion())
	keepMetadata(obj, old)
	_, isPart := t.Sub.(*api.Field)
	switch {
	case t.Status:
		restoreAllButStatus(obj, old)
	case !isPart && t.Resource.Status != nil && t.Resource.KeepStatus != api.KeepAlways:
		copyStatus(obj, old)
	}
	if prepare := t.rules().Prepare; prepare != nil {
		prepare(w.ofKind(ctx, obj))
	}
	return t.checkUsable(obj, old)
}

// setGeneration increments the generation if the desired state changed.
func (w *update) setGeneration(context.Context) error {
	changes := w.t.Resource.Generation
	if !w.options.SkipStrategy && !w.t.Status && changes != nil && changes(w.obj, w.old) {
		w.obj.SetGeneration(w.old.GetGeneration() + 1)
	}
	return nil
}

func (w *update) validate(ctx context.Context) error {
	if w.options.SkipStrategy {
		return nil
	}
	return w.check(ctx, w.t.rules())
}

// revertTimeChanges reverts managedFields in which nothing but times changed.
func (w *update) revertTimeChanges(context.Context) error {
	if m := w.r.fields.forResource(w.t.Resource); m != nil {
		start := time.Now()
		w.r.comparisons.observe(m.KeepTimes(w.old, w.obj), time.Since(start))
	}
	return nil
}

// commit stores the new state, or removes the object if the update completes its deletion.
func (w *update) commit(ctx context.Context) (err error) {
	if err := ctx.Err(); err != nil { // nothing was written yet
		return err
	}
	if err := w.fenceScope(ctx); err != nil {
		return err
	}
	switch {
	case completesDeletion(w.t.Resource, w.obj, w.old):
		w.out, err = w.r.finishDelete(ctx, w.t, w.collection, w.item, w.old, w.obj, w.o.DryRun)
	case w.o.DryRun:
		w.out.Object, err = w.t.roundTripStored(ctx, w.obj)
	default:
		w.out, err = w.r.replace(ctx, w.t, w.collection, w.item, w.obj)
		if errors.Is(err, storage.ErrTooLarge) && w.dropManagedFields(w.options.IsApply) {
			return w.commit(ctx)
		}
		if written := w.t.Resource.Written; written != nil && err == nil {
			written(ctx)
		}
	}
	return err
}

// replace stores obj in place of item, and writes the fences.
func (r *Registry) replace(ctx context.Context, t Target, c *storage.Collection, item *storage.Item, obj api.Object,
	fences ...string) (Outcome, error) {
	obj.SetSelfLink("") // as in kube-apiserver, only the response of a dry run has it
	stored, err := t.toStored(ctx, obj)
	if err != nil {
		return Outcome{}, err
	}
	after, err := c.Update(ctx, item, stored, fences...)
	if err != nil {
		return Outcome{}, err
	}
	return t.outcome(ctx, after)
}

// keepMetadata restores the metadata that only the server sets. Changes of immutable
// fields, such as the uid, are left for validation to report.
func keepMetadata(obj, old api.Object) {
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	obj.SetGeneration(old.GetGeneration())
	if obj.GetUID() == "" {
		obj.SetUID(old.GetUID())
	}
	if old.GetDeletionTimestamp() != nil {
		obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	}
	if obj.GetDeletionGracePeriodSeconds() == nil {
		obj.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
}

// attempts counts the attempts of one write.
type attempts int

// maxAttempts is the maximum number of attempts of a write that other writes interrupt.
// kube-apiserver retries until the request times out; this limit also ends writes without a
// deadline.
const maxAttempts = 1000

// next counts an attempt. It returns an error if ctx is done or the attempts are exhausted.
func (n *attempts) next(ctx context.Context) error {
	if *n++; *n > maxAttempts {
		return apierrors.NewTooManyRequests("the object changes faster than it can be written, please try again later", 1)
	}
	return ctx.Err()
}
