package registry

import (
	"context"
	"errors"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/storage"
)

// The server itself maintains objects, such as default roles and its Lease. Another program may have
// stored anything under their names, which must not stop the start of the server.

// RemoveUnreadable removes the object that t names if its value cannot be decoded, and reports
// whether it did. It is for objects of which the server knows the content, so that the caller creates the
// object again. It leaves a value that cannot be decrypted, because only a key may be missing.
func (r *Registry) RemoveUnreadable(ctx context.Context, t Target, logger *slog.Logger) (bool, error) {
	c := r.collection(t.Resource)
	item, err := c.Get(ctx, t.Key(), storage.Read{})
	if err != nil {
		return false, r.StatusError(t, err)
	}
	corrupt := item.Corrupt()
	if corrupt == nil {
		return false, nil
	}
	if corrupt.Encrypted {
		return false, corrupt
	}
	if _, err := c.Delete(ctx, item); err != nil {
		return false, r.StatusError(t, err)
	}
	if logger != nil {
		logger.Error("replacing an object of the server that cannot be decoded", "key", corrupt.Path, "size",
			len(item.Value()), "error", corrupt.Err)
	}
	return true, nil
}

// IsUnavailable reports whether a read or a write failed because of etcd, of the encryption of its values or
// of the end of its time, and not because of an object.
func IsUnavailable(err error) bool {
	var corrupt *storage.CorruptError
	if errors.As(err, &corrupt) && corrupt.Encrypted && !errors.Is(err, storage.ErrNotDecrypted) {
		return true // a KMS plugin or a key is missing, probably for all objects
	}
	for _, is := range []error{
		context.Canceled, context.DeadlineExceeded,
		storage.ErrUnavailable, storage.ErrClosed, storage.ErrUnknownOutcome, storage.ErrNoSpace,
	} {
		if errors.Is(err, is) {
			return true
		}
	}
	return apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}
