package registry

import (
	"context"
	"crypto/rand"
	"errors"
	"math/big"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	// SkipAdmission is for writes within a write that admission has already admitted.
	SkipAdmission bool
	// Manager is the field manager that owns the written fields.
	Manager string
	// FieldManager and FieldValidation are the options as the client sent them, for
	// admission.
	FieldManager, FieldValidation string
	// Shuffle is ssa.Write.Shuffle; nil for nearly all writes.
	Shuffle func(n int, swap func(i, j int))

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
	// fromUpdate means that an update or an apply creates the object.
	fromUpdate bool
	// applied means that the object results from an apply, which has set managedFields.
	applied bool
	// generated means that the server generates the name.
	generated bool
}

// Steps of a creation in their order. The first step that fails ends it. If a generated name is taken, the named steps are repeated.
var (
	unnamedSteps = []func(*creation, context.Context) error{
		(*creation).setNamespace,
		(*creation).clearSystemFields,
		(*creation).recordPrepared,
		(*creation).manageFields,
		(*creation).checkCreatable,
		(*creation).checkEncodable,
		(*creation).mutate,
		(*creation).readMetadata,
	}
	namedSteps = []func(*creation, context.Context) error{
		(*creation).generateName,
		(*creation).prepare,
		(*creation).recordPrepared,
		(*creation).allocate,
		(*creation).recordAllocated,
		(*creation).validate,
		(*creation).authorize, // after validation, as in kube-apiserver
		(*creation).admit,
		(*creation).commit,
	}
)

// createOnce runs the steps of a creation.
func (r *Registry) createOnce(ctx context.Context, w *creation) (Outcome, error) {
	w.prepareCopy = w.prepareOther
	request.From(ctx).Account.BeginAttempt(w.t.Resource, w.o.Manager, w.o.DryRun)
	if err := inOrder(ctx, w, unnamedSteps); err != nil {
		return Outcome{}, err
	}
	for try := 1; ; try++ {
		err := w.finish(ctx, inOrder(ctx, w, namedSteps))
		switch {
		case !apierrors.IsAlreadyExists(err):
			return w.out, err
		case !w.generated && w.obj.GetGenerateName() != "": // kube-apiserver does not know that it did not generate the name
			return w.out, errNameTaken(err)
		case !w.generated:
			return w.out, err
		}
		if try == nameTries {
			return Outcome{}, w.t.errGeneratedNameTaken(w.obj.GetGenerateName())
		}
	}
}

func (w *creation) setNamespace(context.Context) error { return w.t.MatchNamespace(w.obj) }

// clearSystemFields clears the metadata that only the server sets. As in kube-apiserver, an
// object of an update or an apply keeps it until prepare: managedFields and mutating
// admission see it, but it is never stored.
func (w *creation) clearSystemFields(context.Context) error {
	if !w.fromUpdate {
		clearSystemFields(w.obj)
	}
	return nil
}

// clearSystemFields clears the metadata of a new object that the client cannot set.
func clearSystemFields(obj api.Object) {
	obj.SetUID("")
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
}

// manageFields sets managedFields from the object as sent, before admission or the server
// changes it.
func (w *creation) manageFields(ctx context.Context) error {
	if !w.applied {
		api.DedupOwnerReferences(w.obj, false, request.From(ctx).Warn)
		w.r.updateManagedFields(w.t, nil, w.obj, w.o)
	}
	return nil
}

// checkCreatable refuses objects of kinds that cannot currently be created.
func (w *creation) checkCreatable(ctx context.Context) error {
	if err := w.awaitEstablished(ctx); err != nil {
		return err
	}
	if w.t.Resource.RefusesNew == nil {
		return nil
	}
	if err := w.t.Resource.RefusesNew(); err != nil {
		return apierrors.NewForbidden(w.t.groupResource(), w.t.Name, err)
	}
	return nil
}

// establishWait bounds how long a creation waits for a kind that was just added.
const establishWait = 10 * time.Second

// awaitEstablished waits until the kind is established, which takes a moment after it was added to
// the catalogue. A definition that ends before has no objects to delete.
func (w *creation) awaitEstablished(ctx context.Context) error {
	custom := w.t.Resource.Custom
	if custom == nil || custom.Established == nil {
		return nil
	}
	established := custom.Established
	select {
	case <-established:
		return nil
	default:
	}
	bound := time.NewTimer(establishWait)
	defer bound.Stop()
	select {
	case <-established:
		return nil
	case <-bound.C:
		return errResourceRemoved()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// prepareOther is prepare for another object, which it gives a name.
func (w *creation) prepareOther(ctx context.Context, obj api.Object) error {
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(w.t.newName(obj.GetGenerateName()))
	}
	other := *w
	other.obj = obj
	return other.prepare(ctx)
}

// mutate runs mutating admission. Plugins see a name only if the client chose it, because a
// generated name may change.
func (w *creation) mutate(ctx context.Context) error {
	w.attributes = w.r.newAttributes(ctx, w.t, api.VerbCreate, w.obj, nil, w.o)
	return w.r.mutate(ctx, w.attributes)
}

// readMetadata reads the metadata that plugins may have changed. The resourceVersion of an object that an
// update or an apply creates must be a number, but is no precondition on a missing object, as in
// kube-apiserver.
func (w *creation) readMetadata(ctx context.Context) error {
	api.DedupOwnerReferences(w.obj, true, request.From(ctx).Warn)
	if rv := w.obj.GetResourceVersion(); w.fromUpdate && rv != "" {
		if _, err := strconv.ParseUint(rv, 10, 64); err != nil {
			return errUnparsedVersion(err)
		}
	}
	if name := w.obj.GetName(); name != "" {
		w.t.Name = name
	}
	w.generated = w.obj.GetName() == "" && w.obj.GetGenerateName() != ""
	return w.t.MatchNamespace(w.obj)
}

func (w *creation) generateName(context.Context) error {
	if w.generated {
		w.t.Name = w.t.newName(w.obj.GetGenerateName())
		w.obj.SetName(w.t.Name)
	}
	if w.attributes != nil {
		w.attributes.Name = w.t.Name
	}
	return nil
}

// prepare sets the fields of a new object that the server owns.
func (w *creation) prepare(ctx context.Context) error {
	t, obj := w.t, w.obj
	if err := t.checkUsable(obj, nil); err != nil {
		return err
	}
	clearSystemFields(obj)
	obj.SetUID(types.UID(request.NewUUID()))
	obj.SetCreationTimestamp(metav1.NewTime(w.r.o.Now().UTC()).Rfc3339Copy())
	if t.Resource.Generation != nil {
		obj.SetGeneration(1)
	}
	if t.Resource.Status != nil && t.Resource.KeepStatus == api.KeepNever {
		resetStatus(obj)
	}
	if t.Resource.Prepare != nil {
		t.Resource.Prepare(w.ofKind(ctx, obj))
	}
	w.adoptName()
	return nil
}

// adoptName makes a name that the kind gave to its object the name of the request: under it the object
// is stored, and validating admission sees it.
func (w *creation) adoptName() {
	if w.t.Name != "" {
		return
	}
	w.t.Name = w.obj.GetName()
	if w.attributes != nil {
		w.attributes.Name = w.t.Name
	}
}

func (w *creation) validate(ctx context.Context) error {
	return w.check(ctx, w.t.Resource.Rules())
}

// authorize authorizes a creation that is not the verb of the request.
func (w *creation) authorize(ctx context.Context) error {
	if w.o.authorize == nil {
		return nil
	}
	return w.o.authorize(ctx)
}

// commit stores the object. A dry run only checks that the name is not taken.
func (w *creation) commit(ctx context.Context) error {
	r, t, obj := w.r, w.t, w.obj
	c := r.collection(t.Resource)
	if w.o.DryRun {
		switch existing, err := c.Get(ctx, t.Key(), storage.Read{}); {
		case err == nil:
			// As in kube-apiserver, an object that cannot be read does not count.
			if _, err := t.object(ctx, existing); err == nil {
				return r.errAlreadyExists(t, existing)
			}
		case !errors.Is(err, storage.ErrNotFound):
			return r.StatusError(t, err)
		}
		obj, err := t.roundTripStored(ctx, obj)
		w.out = Outcome{Object: obj, Created: true}
		return err
	}
	// As in kube-apiserver, a dry run accepts a resourceVersion and returns it.
	if v, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64); err == nil && v != 0 && !w.fromUpdate {
		request.From(ctx).Account.Refuse(request.Refusal{By: request.RefusedByValidation})
		return errors.New("resourceVersion should not be set on objects to be created")
	}
	stored, err := t.toStored(ctx, obj)
	if err != nil {
		return err
	}
	item, err := w.store(ctx, c, stored)
	if errors.Is(err, storage.ErrTooLarge) && w.dropManagedFields(w.applied) {
		return w.commit(ctx)
	}
	if errors.Is(err, storage.ErrExists) {
		existing, _ := c.Get(ctx, t.Key(), storage.Read{})
		return r.errAlreadyExists(t, existing)
	}
	if err != nil {
		recordFailedWrite(ctx, err)
		return r.StatusError(t, err)
	}
	if t.Resource.Storage.ConvertFromStored != nil {
		w.out, err = t.outcome(ctx, item)
		w.out.Created = true
		return err
	}
	w.out = Outcome{Object: obj, Item: item, Created: true}
	return nil
}

// newName returns the name of a new object with a generateName.
func (t Target) newName(prefix string) string {
	if t.Resource.KeepGenerateName {
		return prefix
	}
	return generateName(prefix)
}

// generateName returns the prefix and a random suffix.
func generateName(prefix string) string {
	if over := len(prefix) - (maxGeneratedName - nameSuffix); over > 0 {
		prefix = prefix[:maxGeneratedName-nameSuffix]
	}
	suffix := make([]byte, nameSuffix)
	for i := range suffix {
		suffix[i] = nameAlphabet[randomBelow(int64(len(nameAlphabet)))]
	}
	return prefix + string(suffix)
}

func randomBelow(n int64) int64 {
	// rand.Reader does not fail: it ends the process rather than return an error.
	v, _ := rand.Int(rand.Reader, big.NewInt(n))
	return v.Int64()
}
