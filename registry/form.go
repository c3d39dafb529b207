package registry

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/storage"
)

// A custom kind stores its objects in the storage version, or in a former one, while the
// verbs work on objects in the version of the request. The functions in this file convert
// between the two.

// UnconvertedError means that stored objects cannot be converted to the version of a request.
type UnconvertedError struct {
	// items are the items whose conversion failed, and errs has the error of each.
	items []*storage.Item
	errs  []error
	// Err is the first error.
	Err error
}

// Error implements error.
func (e *UnconvertedError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the conversion.
func (e *UnconvertedError) Unwrap() error { return e.Err }

// errUnconverted returns the error of a get, a list or a delete whose objects cannot be converted.
// With UnconvertedIsCorrupt, they are reported like undecodable ones.
func (r *Registry) errUnconverted(t Target, e *UnconvertedError) error {
	if !r.o.UnconvertedIsCorrupt {
		return e.Err
	}
	var corrupt []*storage.CorruptError
	for i, item := range e.items {
		corrupt = append(corrupt, item.UnusableError(e.errs[i]))
	}
	if t.Name != "" {
		return apierrors.NewInternalError(corrupt[0])
	}
	return errCorruptList(t, storage.NewCorruptListError(corrupt))
}

// errUnreadable returns the error of an update of an item whose object cannot be decoded or converted. As in
// kube-apiserver it is no Status, and only a dry run gets the error of a get.
func (r *Registry) errUnreadable(item *storage.Item, err error) error {
	var unconverted *UnconvertedError
	var corrupt *storage.CorruptError
	switch {
	case errors.As(err, &unconverted) && !r.o.UnconvertedIsCorrupt:
		return unconverted.Err
	case errors.As(err, &unconverted):
		corrupt = item.UnusableError(unconverted.Err)
	case !errors.As(err, &corrupt):
		return err
	case !r.o.UnconvertedIsCorrupt:
		return errPlain(corrupt.Err.Error())
	}
	return errPlain(corrupt.Detail())
}

// errPlain returns the Status without a reason that kube-apiserver makes of an error that is none.
func errPlain(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure,
		Code: http.StatusInternalServerError, Message: message}}
}

// Objects returns the objects of items, in the hub version of t's resource. They must not
// be changed. If a conversion fails, the error is an UnconvertedError.
func (t Target) Objects(ctx context.Context, items ...*storage.Item) ([]api.Object, error) {
	out := make([]api.Object, len(items))
	for i, item := range items {
		obj, err := item.Object()
		if err != nil {
			return nil, err
		}
		out[i] = obj
	}
	if t.Resource.Storage.ConvertFromStored == nil {
		return out, nil
	}
	converted, err := t.Resource.Storage.ConvertFromStored(ctx, out)
	if err == nil {
		return converted, nil
	}
	if len(items) == 1 {
		return nil, &UnconvertedError{items, []error{err}, err}
	}
	return t.objectsOneByOne(ctx, items, out, err)
}

// maxUnconverted is the maximum number of objects that a failed conversion reports.
const maxUnconverted = 100

// maxOneByOne is the maximum memory in bytes of objects that are converted each for itself.
const maxOneByOne = 160 << 20

// objectsOneByOne converts stored objects each for itself, as kube-apiserver always does, after the webhook has failed to
// convert them together because of cause.
func (t Target) objectsOneByOne(ctx context.Context, items []*storage.Item, stored []api.Object, cause error) ([]api.Object, error) {
	failed := &UnconvertedError{}
	out, size := make([]api.Object, 0, len(stored)), 0
	for i := range stored {
		one, err := t.Resource.Storage.ConvertFromStored(ctx, stored[i:i+1])
		if err == nil {
			var value []byte
			if value, err = t.Resource.EncodeStored(one[0]); err == nil {
				if size += bounds.DecodedSize(value); size > maxOneByOne {
					err = cause
				}
			}
		}
		if err == nil {
			out = append(out, one...)
			continue
		}
		failed.items, failed.errs = append(failed.items, items[i]), append(failed.errs, err)
		if len(failed.items) == maxUnconverted || ctx.Err() != nil {
			break
		}
	}
	if len(failed.items) == 0 {
		return out, nil
	}
	failed.Err = failed.errs[0]
	return nil, failed
}

// object is Objects for one item that is updated. If the conversion fails, the error is an
// UnconvertedError.
func (t Target) object(ctx context.Context, item *storage.Item) (api.Object, error) {
	obj, err := item.Object()
	if err != nil || t.Resource.Storage.ConvertFromStored == nil {
		return obj, err
	}
	out, err := t.Resource.Storage.ConvertFromStored(ctx, []api.Object{obj})
	if err != nil {
		return nil, &UnconvertedError{[]*storage.Item{item}, []error{err}, err}
	}
	return out[0], nil
}

// toStored converts an object from the hub version to the storage version.
func (t Target) toStored(ctx context.Context, obj api.Object) (api.Object, error) {
	if t.Resource.Storage.ConvertToStored == nil {
		return obj, nil
	}
	return t.Resource.Storage.ConvertToStored(ctx, obj)
}

// roundTripStored returns obj as it would be read back after being stored, for a dry run.
// Decoding may add defaults for fields that the server removed, such as the status.
func (t Target) roundTripStored(ctx context.Context, obj api.Object) (api.Object, error) {
	stored, err := t.toStored(ctx, obj)
	if err != nil {
		return nil, err
	}
	value, err := t.Resource.EncodeStored(stored)
	if err != nil {
		return nil, err
	}
	out, err := t.Resource.DecodeStored(value)
	if err != nil {
		return nil, err
	}
	out.SetResourceVersion(obj.GetResourceVersion())
	if link := obj.GetSelfLink(); link != "" {
		out.SetSelfLink(link)
	}
	if t.Resource.Storage.ConvertFromStored == nil {
		return out, nil
	}
	all, err := t.Resource.Storage.ConvertFromStored(ctx, []api.Object{out})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// outcome returns the Outcome of a write that stored item. If the stored version is not
// that of the request, the Outcome has no Item, whose encodings are of another version.
func (t Target) outcome(ctx context.Context, item *storage.Item) (Outcome, error) {
	obj, err := item.Object()
	if err != nil || t.Resource.Storage.ConvertFromStored == nil {
		return Outcome{Object: obj, Item: item}, err
	}
	out, err := t.Resource.Storage.ConvertFromStored(ctx, []api.Object{obj})
	if err != nil {
		return Outcome{}, err
	}
	if out[0] != obj {
		item = nil
	}
	return Outcome{Object: out[0], Item: item}, nil
}
