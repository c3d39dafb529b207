package registry

import (
	"context"
	"crypto/rand"
	"errors"
	"math/big"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// A generated name is the prefix, cut so that the name fits a DNS label, and five
// characters without vowels, so that they form no words.
const (
	nameAlphabet     = "bcdfghjklmnpqrstvwxz2456789"
	nameSuffix       = 5
	maxGeneratedName = 63
	nameTries        = 8
)

// WriteOptions are common to all writes.
type WriteOptions struct {
	// DryRun runs all steps of the write, but stores nothing.
	DryRun bool
	// Manager is the field manager that owns the written fields.
	Manager string
	// FieldManager and FieldValidation are the options as the client sent them, for
	// admission.
	FieldManager, FieldValidation string
	// SkipAdmission is for writes within a write that admission has already admitted.
	SkipAdmission bool

	// authorize authorizes a creation that is not the verb of the request. Nil means that
	// the request was authorized for it.
	authorize func(context.Context) error
}

// Create stores a new object. obj is of the hub type, and the registry may change it. The
// name of t is ignored.
func (r *Registry) Create(ctx context.Context, t Target, obj api.Object, o WriteOptions) (Outcome, error) {
	t.Name = obj.GetName()
	return r.createOnce(ctx, &creation{write: write{r: r, t: t, obj: obj, o: o}})
}

// creation is the write of a new object.
type creation struct {
	write
	// applied means that the object results from an apply, which has set managedFields.
	applied bool
	// generated means that the server generates the name.
	generated bool
}

// createOnce lists the steps of a creation in their order. The first step that fails ends
// it. If a generated name is taken, the steps from generateName on are repeated.
func (r *Registry) createOnce(ctx context.Context, w *creation) (Outcome, error) {
	if err := inOrder(ctx,
		w.setNamespace,
		w.clearSystemFields,
		w.manageFields,
		w.checkCreatable,
		w.checkShowable,
		w.mutate,
		w.readName,
	); err != nil {
		return Outcome{}, err
	}
	for try := 1; ; try++ {
		err := w.finish(ctx, inOrder(ctx,
			w.generateName,
			w.prepare,
			w.allocate,
			w.validate,
			w.authorize, // after validation, as in kube-apiserver
			w.admit,
			w.commit,
		))
		if !w.generated || !apierrors.IsAlreadyExists(err) {
			return w.out, err
		}
		if try == nameTries {
			return Outcome{}, w.t.errGeneratedNameTaken(w.obj.GetGenerateName())
		}
	}
}

func (w *creation) setNamespace(context.Context) error { return setNamespace(w.t, w.obj) }

func (w *creation) clearSystemFields(context.Context) error {
	if !w.applied {
		clearSystemFields(w.obj)
	}
	return nil
}

// manageFields sets managedFields from the object as sent, before admission or the server
// changes it.
func (w *creation) manageFields(context.Context) error {
	if !w.applied {
		w.r.updateManagedFields(w.t, nil, w.obj, w.o)
	}
	return nil
}

// checkCreatable refuses objects of kinds that cannot currently be created.
func (w *creation) checkCreatable(context.Context) error {
	if w.t.Resource.Create.RefusesNew == nil {
		return nil
	}
	if err := w.t.Resource.Create.RefusesNew(); err != nil {
		return apierrors.NewForbidden(w.t.groupResource(), w.t.Name, err)
	}
	return nil
}

func (w *creation) checkShowable(ctx context.Context) error {
	return w.r.checkShowable(w.t, w.obj, func(obj api.Object) error {
		if obj.GetName() == "" && obj.GetGenerateName() != "" {
			obj.SetName(generateName(obj.GetGenerateName()))
		}
		return w.r.prepareCreate(ctx, w.t, obj)
	})
}

// mutate runs mutating admission. Plugins see a name only if the client chose it, because a
// generated name may change.
func (w *creation) mutate(ctx context.Context) error {
	w.attributes = w.r.newAttributes(ctx, w.t, api.VerbCreate, w.obj, nil, w.o)
	return w.r.mutate(ctx, w.attributes)
}

// readName reads the name and the namespace, which plugins may have changed.
func (w *creation) readName(context.Context) error {
	if name := w.obj.GetName(); name != "" {
		w.t.Name = name
	}
	w.generated = w.obj.GetName() == "" && w.obj.GetGenerateName() != ""
	return setNamespace(w.t, w.obj)
}

func (w *creation) generateName(context.Context) error {
	if w.generated {
		w.t.Name = generateName(w.obj.GetGenerateName())
		w.obj.SetName(w.t.Name)
	}
	if w.attributes != nil {
		w.attributes.Name = w.t.Name
	}
	return nil
}

func (w *creation) prepare(ctx context.Context) error { return w.r.prepareCreate(ctx, w.t, w.obj) }

func (w *creation) validate(ctx context.Context) error { return w.r.checkCreate(ctx, w.t, w.obj) }

// authorize authorizes a creation that is not the verb of the request.
func (w *creation) authorize(ctx context.Context) error {
	if w.o.authorize == nil {
		return nil
	}
	return w.o.authorize(ctx)
}

func (w *creation) commit(ctx context.Context) (err error) {
	w.out, err = w.r.storeNew(ctx, w.t, w.obj, w.o)
	return err
}

// storeNew stores a new object that is complete and valid.
func (r *Registry) storeNew(ctx context.Context, t Target, obj api.Object, o WriteOptions) (Outcome, error) {
	c := r.collection(t.Resource)
	if o.DryRun {
		switch existing, err := c.Get(ctx, t.Key(), storage.Read{}); {
		case err == nil:
			return Outcome{}, r.errAlreadyExists(t, existing)
		case !errors.Is(err, storage.ErrNotFound):
			return Outcome{}, r.StatusError(t, err)
		}
		obj, err := t.roundTripStored(ctx, obj)
		return Outcome{Object: obj, Created: true}, err
	}
	// As in kube-apiserver, a dry run accepts a resourceVersion and returns it.
	if v, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64); err == nil && v != 0 {
		return Outcome{}, errors.New("resourceVersion should not be set on objects to be created")
	}
	stored, err := t.toStored(ctx, obj)
	if err != nil {
		return Outcome{}, err
	}
	item, err := c.Create(ctx, t.Key(), stored, r.ttl(t.Resource))
	if errors.Is(err, storage.ErrExists) {
		existing, _ := c.Get(ctx, t.Key(), storage.Read{})
		return Outcome{}, r.errAlreadyExists(t, existing)
	}
	if err != nil {
		return Outcome{}, r.StatusError(t, err)
	}
	if t.Resource.Storage.ConvertFromStored != nil {
		out, err := t.outcome(ctx, item)
		out.Created = true
		return out, err
	}
	return Outcome{Object: obj, Item: item, Created: true}, nil
}

// errAlreadyExists returns the error for a name that is taken. It mentions that the
// existing object is being deleted, since a retry may succeed then.
func (r *Registry) errAlreadyExists(t Target, existing *storage.Item) error {
	err := apierrors.NewAlreadyExists(t.groupResource(), t.Name)
	if existing != nil {
		if obj, decodeErr := existing.Object(); decodeErr == nil && obj.GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
	}
	return err
}

// prepareCreate sets the fields of a new object that the server owns.
func (r *Registry) prepareCreate(ctx context.Context, t Target, obj api.Object) error {
	if err := t.checkUsable(obj, nil); err != nil {
		return err
	}
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	obj.SetUID(types.UID(request.NewUUID()))
	obj.SetCreationTimestamp(metav1.NewTime(r.o.Now().UTC()).Rfc3339Copy())
	if t.Resource.Update.HasGeneration {
		obj.SetGeneration(1)
	}
	if t.Resource.Status.Served && !t.Resource.Create.KeepStatusOnCreate {
		resetStatus(obj)
	}
	if user := request.From(ctx).User; t.Resource.Create.RecordUser != nil && user != nil {
		t.Resource.Create.RecordUser(obj, user)
	}
	if t.Resource.Create.PrepareForCreate != nil {
		t.Resource.Create.PrepareForCreate(obj)
	}
	dedupOwnerReferences(ctx, obj)
	return nil
}

// checkCreate validates a new object.
func (r *Registry) checkCreate(ctx context.Context, t Target, obj api.Object) error {
	errs := append(r.checkAccess(ctx, t, obj, nil), t.Resource.CheckCreate(t.Version, obj)...)
	errs = append(appendVersionErrors(ctx, t, obj, nil, errs), r.unshowable(t, obj)...)
	if len(errs) > 0 {
		return invalid(t, obj, errs)
	}
	r.addWarnings(ctx, t, obj, nil)
	return nil
}

// checkAccess returns the errors of the kind's permission checks, such as that of a role
// whose writer does not hold its permissions.
func (r *Registry) checkAccess(ctx context.Context, t Target, obj, old api.Object) field.ErrorList {
	if t.Resource.Create.ValidateAccess == nil || r.o.Access == nil {
		return nil
	}
	return t.Resource.Create.ValidateAccess(ctx, r.o.Access, obj, old, t.Status)
}

// checkUsable returns an internal error for objects that the kind's code cannot handle.
func (t Target) checkUsable(obj, old api.Object) error {
	if t.Resource.Update.Unusable == nil {
		return nil
	}
	if err := t.Resource.Update.Unusable(obj, old); err != nil {
		return apierrors.NewInternalError(err)
	}
	return nil
}

// appendVersionErrors appends the errors that a version of a custom kind finds, by schema
// or by CEL rules.
func appendVersionErrors(ctx context.Context, t Target, obj, old api.Object, found field.ErrorList) field.ErrorList {
	if t.Version == nil || t.Version.Check == nil {
		return found
	}
	return append(found, t.Version.Check(ctx, api.Write{Object: obj, Old: old, Status: t.Status, Found: found})...)
}

// setNamespace sets the namespace of obj to that of the URL. It refuses an object with
// another namespace.
func setNamespace(t Target, obj api.Object) error {
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

// dedupOwnerReferences removes duplicate owner references, with a warning.
func dedupOwnerReferences(ctx context.Context, obj api.Object) {
	for _, w := range api.DedupOwnerReferences(obj) {
		request.From(ctx).Warn(w)
	}
}

// addWarnings adds the kind's warnings about a valid object.
func (r *Registry) addWarnings(ctx context.Context, t Target, obj, old api.Object) {
	var warnings []string
	switch {
	case t.Status && t.Resource.Status.WarningsOnUpdate != nil:
		warnings = t.Resource.Status.WarningsOnUpdate(obj)
	case !t.Status && (t.Sub == nil || t.Sub.PrepareForUpdate == nil):
		warnings = t.Resource.Warnings(obj, old)
	}
	for _, w := range warnings {
		request.From(ctx).Warn(w)
	}
}

func invalid(t Target, obj api.Object, errs field.ErrorList) error {
	return apierrors.NewInvalid(t.groupKind(), obj.GetName(), errs)
}

func generateName(prefix string) string {
	if over := len(prefix) - (maxGeneratedName - nameSuffix); over > 0 {
		prefix = prefix[:maxGeneratedName-nameSuffix]
	}
	suffix := make([]byte, nameSuffix)
	for i := range suffix {
		suffix[i] = nameAlphabet[randomBelow(len(nameAlphabet))]
	}
	return prefix + string(suffix)
}

func randomBelow(n int) int64 {
	// rand.Reader does not fail: it ends the process rather than return an error.
	v, _ := rand.Int(rand.Reader, big.NewInt(int64(n)))
	return v.Int64()
}
