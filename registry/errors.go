package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

const modifiedMessage = "the object has been modified; please apply your changes to the latest version and try again"

// groupResource returns the resource as error messages name it: in the group of the request.
func (t Target) groupResource() schema.GroupResource {
	if t.Version == nil {
		return t.Resource.GroupResource()
	}
	return schema.GroupResource{Group: t.Version.Group, Resource: t.Resource.Name}
}

func (t Target) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: t.Resource.Versions[0].Group, Kind: t.Resource.Kind}
}

// recordFailedWrite records, for the account of the request, that etcd did not take a write.
func recordFailedWrite(ctx context.Context, err error) {
	for _, of := range []error{storage.ErrTooLarge, storage.ErrUnavailable, storage.ErrNoSpace, storage.ErrClosed, storage.ErrUnknownOutcome} {
		if errors.Is(err, of) {
			request.From(ctx).Account.Refuse(request.Refusal{By: request.RefusedByStorage})
		}
	}
}

// StatusError converts an error of storage to the Status for the client. It returns other
// errors unchanged; handlers responds with a 500 to an error that is no Status.
func (r *Registry) StatusError(t Target, err error) error {
	var future *storage.FutureRevisionError
	var compacted *storage.CompactedError
	var conflict *storage.ConflictError
	var corrupt *storage.CorruptError
	var corruptList *storage.CorruptListError
	var corruptDeleted *storage.CorruptDeletedError
	var unconverted *UnconvertedError
	switch {
	case errors.As(err, &unconverted):
		return r.errUnconverted(t, unconverted)
	case errors.As(err, &corruptList):
		return errCorruptList(t, corruptList)
	case errors.As(err, &corruptDeleted):
		return storeReadError(corruptDeleted.Error(), nil)
	case errors.As(err, &corrupt):
		return apierrors.NewInternalError(corrupt)
	case errors.Is(err, storage.ErrNotFound):
		return apierrors.NewNotFound(t.groupResource(), t.Name)
	case errors.Is(err, storage.ErrExists):
		return apierrors.NewAlreadyExists(t.groupResource(), t.Name)
	case errors.As(err, &conflict):
		return apierrors.NewConflict(t.groupResource(), t.Name, errors.New(modifiedMessage))
	case errors.Is(err, storage.ErrRewritten):
		return apierrors.NewConflict(t.groupResource(), t.Name, storage.ErrRewritten)
	case errors.As(err, &future):
		if t.Resource.Storage.Uncached {
			return errFutureRevision(future, 0)
		}
		return errFutureRevision(future, 1)
	case errors.As(err, &compacted) && t.Resource.Storage.Uncached:
		return apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.")
	case errors.As(err, &compacted):
		return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", compacted.Wanted, compacted.Compacted))
	case errors.Is(err, storage.ErrRemoved):
		return errResourceRemoved()
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, storage.ErrNoSpace), errors.Is(err, storage.ErrClosed):
		return apierrors.NewServiceUnavailable(err.Error())
	case errors.Is(err, storage.ErrUnknownOutcome):
		return apierrors.NewTimeoutError(err.Error(), 1)
	}
	return err
}

// errResourceRemoved returns the error for a request whose resource was removed meanwhile: that of a
// path without a resource, which the next request gets.
func errResourceRemoved() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{},
	}}
}

// errCorruptList returns the error for a list with undecodable objects. Its causes name the
// objects, so that an administrator can inspect them.
func errCorruptList(t Target, c *storage.CorruptListError) error {
	gr := t.groupResource()
	details := &metav1.StatusDetails{Group: gr.Group, Kind: gr.Resource, Name: "list"}
	for _, item := range c.Items {
		details.Causes = append(details.Causes, metav1.StatusCause{
			Type: metav1.CauseTypeUnexpectedServerResponse, Field: item.Path, Message: item.ListText(),
		})
	}
	if c.More {
		details.Causes = append(details.Causes, metav1.StatusCause{
			Type: metav1.CauseTypeTooMany, Message: "too many errors, the list is truncated",
		})
	}
	message := fmt.Sprintf("failed to read one or more %s from the storage: %s", gr, c.Items[0].ListText())
	if others := len(c.Items) - 1; others > 0 {
		message = fmt.Sprintf("%s (and %d more)", message, others)
	}
	return storeReadError(message, details)
}

func storeReadError(message string, details *metav1.StatusDetails) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonStoreReadError,
		Message: message, Details: details,
	}}
}

// errUnparsedVersion returns the error for an update whose resourceVersion is not a number.
// As in kube-apiserver it has code 500 and no reason.
func errUnparsedVersion(err error) error {
	return errPlain(err.Error())
}

// errFutureRevision returns the error for a read at a revision that the server has not
// reached within its wait limit. retrySeconds is 0 where kube-apiserver reads from etcd, and does not wait.
func errFutureRevision(f *storage.FutureRevisionError, retrySeconds int) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", f.Wanted, f.Current), retrySeconds)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// preconditionError returns kube-apiserver's error for a failed precondition; what is "UID" or
// "ResourceVersion". The message contains the etcd key, without the prefix in a dry run, as in
// kube-apiserver, whose dry runs end above the layer that adds it.
func (r *Registry) preconditionError(t Target, dryRun bool, what, want, got string) error {
	prefix := r.o.EtcdPrefix
	if dryRun {
		prefix = ""
	}
	return apierrors.NewConflict(t.groupResource(), t.Name, r.invalidObject(t, prefix,
		fmt.Sprintf("Precondition failed: %[1]s in precondition: %[2]s, %[1]s in object meta: %[3]s", what, want, got)))
}

// invalidObject returns the text of kube-apiserver's storage for an operation that does not fit the
// stored object, with a prefix of the etcd key.
func (r *Registry) invalidObject(t Target, prefix, reason string) error {
	return fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: %s",
		prefix, t.Resource.Storage.Prefix, t.Key(), reason)
}

// errViewOfOther returns the error for a patch through a subresource of another kind whose uid is not
// that of the object.
func (t Target) errViewOfOther(uid, own types.UID) error {
	named := t.groupResource()
	named.Resource += "/" + t.subresource()
	//lint:ignore ST1005 kube-apiserver's words
	return apierrors.NewConflict(named, t.Name, fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, own))
}

// errNameTaken returns the error for a name that is taken, of an object that has a generateName
// besides.
func errNameTaken(err error) error {
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Details == nil {
		return err
	}
	taken := *status
	taken.ErrStatus.Message += ", the server was not able to generate a unique name for the object"
	details := *status.ErrStatus.Details
	details.RetryAfterSeconds = 1
	taken.ErrStatus.Details = &details
	return &taken
}

// errGeneratedNameTaken returns the error for generated names that were taken in all
// attempts.
func (t Target) errGeneratedNameTaken(generateName string) error {
	err := apierrors.NewGenerateNameConflict(t.groupResource(), generateName, 1)
	err.ErrStatus.Code = http.StatusConflict
	return err
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
