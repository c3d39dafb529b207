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

// Generated names are the prefix, cut so that the whole fits a DNS label, and
// five characters without vowels, so that no words come out.
const (
	nameAlphabet     = "bcdfghjklmnpqrstvwxz2456789"
	nameSuffix       = 5
	maxGeneratedName = 63
	nameTries        = 8
)

// WriteOptions are common to the writing verbs.
type WriteOptions struct {
	// DryRun does everything but store.
	DryRun bool
	// Manager is the name under which the fields that are written are owned.
	Manager string
	// FieldManager and FieldValidation are what the client asked for in so many
	// words. Admission is told of them.
	FieldManager, FieldValidation string
	// Admitted: admission has been asked about what this write is a part of.
	Admitted bool

	// authorize authorizes a creation that the verb of the request does not
	// imply; nil means that the creation is authorized.
	authorize func(context.Context) error
}

// Create stores a new object. obj is of the hub type and becomes the
// registry's; t.Name is taken from it.
func (r *Registry) Create(ctx context.Context, t Target, obj api.Object, o WriteOptions) (Outcome, error) {
	t.Name = obj.GetName()
	return r.createOnce(ctx, t, obj, o)
}

func (r *Registry) createOnce(ctx context.Context, t Target, obj api.Object, o WriteOptions) (Outcome, error) {
	if err := setNamespace(t, obj); err != nil {
		return Outcome{}, err
	}
	clearSystemFields(obj)
	r.manage(t, nil, obj, o)
	return r.createManaged(ctx, t, obj, o)
}

// createManaged creates an object whose managedFields are set. Mutating
// admission sees a name only if the client gave one: a generated one may turn
// out to be taken, and be made again.
func (r *Registry) createManaged(ctx context.Context, t Target, obj api.Object, o WriteOptions) (Outcome, error) {
	if err := setNamespace(t, obj); err != nil {
		return Outcome{}, err
	}
	if t.Resource.RefusesNew != nil {
		if err := t.Resource.RefusesNew(); err != nil {
			return Outcome{}, apierrors.NewForbidden(t.groupResource(), t.Name, err)
		}
	}
	if err := r.checkShowable(t, obj, func(obj api.Object) error {
		if obj.GetName() == "" && obj.GetGenerateName() != "" {
			obj.SetName(generateName(obj.GetGenerateName()))
		}
		return r.prepareCreate(ctx, t, obj)
	}); err != nil {
		return Outcome{}, err
	}
	a := r.attributes(ctx, t, api.VerbCreate, obj, nil, o)
	if err := r.mutate(ctx, a); err != nil {
		return Outcome{}, err
	}
	// What admission made of the object says where it is to be.
	if name := obj.GetName(); name != "" {
		t.Name = name
	}
	if err := setNamespace(t, obj); err != nil {
		return Outcome{}, err
	}
	generated := obj.GetName() == "" && obj.GetGenerateName() != ""
	for try := 1; ; try++ {
		if generated {
			t.Name = generateName(obj.GetGenerateName())
			obj.SetName(t.Name)
		}
		out, err := r.createNamed(ctx, t, obj, a, o)
		if !generated || !apierrors.IsAlreadyExists(err) {
			return out, err
		}
		if try == nameTries {
			return Outcome{}, t.nameTaken(obj.GetGenerateName())
		}
	}
}

// createNamed creates an object that mutating admission has seen.
func (r *Registry) createNamed(ctx context.Context, t Target, obj api.Object, a *Attributes, o WriteOptions) (out Outcome, err error) {
	if err := r.prepareCreate(ctx, t, obj); err != nil {
		return Outcome{}, err
	}
	if a != nil {
		a.Name = t.Name
	}
	defer func() { a.end(ctx, err == nil) }()
	// Validation and validating admission see what was allocated.
	err = r.allocate(ctx, t, obj, nil, o.DryRun, func() (err error) {
		if err := r.checkCreate(ctx, t, obj); err != nil {
			return err
		}
		// As in kube-apiserver, validation comes first: its faults are shown even to a
		// user who may not create the object.
		if o.authorize != nil {
			if err := o.authorize(ctx); err != nil {
				return err
			}
		}
		if err := r.validate(ctx, a); err != nil {
			return err
		}
		out, err = r.storeNew(ctx, t, obj, o)
		return err
	})
	return out, err
}

// storeNew stores a new object that is ready for it.
func (r *Registry) storeNew(ctx context.Context, t Target, obj api.Object, o WriteOptions) (Outcome, error) {
	c := r.collection(t.Resource)
	if o.DryRun {
		switch there, err := c.Get(ctx, t.Key(), storage.Read{}); {
		case err == nil:
			return Outcome{}, r.taken(t, there)
		case !errors.Is(err, storage.ErrNotFound):
			return Outcome{}, r.StatusError(t, err)
		}
		obj, err := t.asIfStored(ctx, obj)
		return Outcome{Object: obj, Created: true}, err
	}
	// Only storage refuses a resourceVersion: a dry run answers with it.
	if v, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64); err == nil && v != 0 {
		return Outcome{}, errors.New("resourceVersion should not be set on objects to be created")
	}
	stored, err := t.stored(ctx, obj)
	if err != nil {
		return Outcome{}, err
	}
	item, err := c.Create(ctx, t.Key(), stored, r.ttl(t.Resource))
	if errors.Is(err, storage.ErrExists) {
		there, _ := c.Get(ctx, t.Key(), storage.Read{})
		return Outcome{}, r.taken(t, there)
	}
	if err != nil {
		return Outcome{}, r.StatusError(t, err)
	}
	if t.Resource.Read != nil {
		out, err := t.outcome(ctx, item)
		out.Created = true
		return out, err
	}
	return Outcome{Object: obj, Item: item, Created: true}, nil
}

// taken tells that there is an object of the name already. One that is being
// deleted is mentioned as such, since trying again may help.
func (r *Registry) taken(t Target, there *storage.Item) error {
	err := apierrors.NewAlreadyExists(t.groupResource(), t.Name)
	if there != nil {
		if obj, decodeErr := there.Object(); decodeErr == nil && obj.GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
	}
	return err
}

// prepareCreate sets the fields of a new object that the server owns.
func (r *Registry) prepareCreate(ctx context.Context, t Target, obj api.Object) error {
	if err := t.usable(obj, nil); err != nil {
		return err
	}
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	obj.SetUID(types.UID(request.NewUUID()))
	obj.SetCreationTimestamp(metav1.NewTime(r.o.Now().UTC()).Rfc3339Copy())
	if t.Resource.Generation {
		obj.SetGeneration(1)
	}
	if t.Resource.HasStatus && !t.Resource.KeepStatusOnCreate {
		resetStatus(obj)
	}
	if user := request.From(ctx).User; t.Resource.StampUser != nil && user != nil {
		t.Resource.StampUser(obj, user)
	}
	if t.Resource.PrepareCreate != nil {
		t.Resource.PrepareCreate(obj)
	}
	dedup(ctx, obj)
	return nil
}

// checkCreate validates a new object.
func (r *Registry) checkCreate(ctx context.Context, t Target, obj api.Object) error {
	errs := append(r.checkAccess(ctx, t, obj, nil), t.Resource.CheckCreate(t.Version, obj)...)
	errs = append(byVersion(ctx, t, obj, nil, errs), r.unshowable(t, obj)...)
	if len(errs) > 0 {
		return invalid(t, obj, errs)
	}
	r.warn(ctx, t, obj, nil)
	return nil
}

// checkAccess returns what the writer may not do to an object of the kind.
func (r *Registry) checkAccess(ctx context.Context, t Target, obj, old api.Object) field.ErrorList {
	if t.Resource.CheckAccess == nil || r.access == nil {
		return nil
	}
	return t.Resource.CheckAccess(ctx, r.access, api.Write{Object: obj, Old: old, Status: t.Status})
}

// usable refuses what cannot be judged.
func (t Target) usable(obj, old api.Object) error {
	if t.Resource.Unusable == nil {
		return nil
	}
	if err := t.Resource.Unusable(obj, old); err != nil {
		return apierrors.NewInternalError(err)
	}
	return nil
}

// byVersion adds to what was found to be wrong what is particular to a kind that
// arrived at run time.
func byVersion(ctx context.Context, t Target, obj, old api.Object, found field.ErrorList) field.ErrorList {
	if t.Version == nil || t.Version.Check == nil {
		return found
	}
	return append(found, t.Version.Check(ctx, api.Write{Object: obj, Old: old, Status: t.Status, Found: found})...)
}

// setNamespace gives obj the namespace of the URL, and refuses another one.
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

// dedup mends what is tolerated, with a warning.
func dedup(ctx context.Context, obj api.Object) {
	for _, w := range api.DedupOwnerReferences(obj) {
		request.From(ctx).Warn(w)
	}
}

// warn says what is to be said of an object that is in order.
func (r *Registry) warn(ctx context.Context, t Target, obj, old api.Object) {
	var warnings []string
	switch {
	case t.Status && t.Resource.StatusWarnings != nil:
		warnings = t.Resource.StatusWarnings(obj)
	case !t.Status && (t.Sub == nil || t.Sub.Keep == nil) && t.Resource.ObjectWarnings != nil:
		warnings = t.Resource.ObjectWarnings(obj, old)
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
