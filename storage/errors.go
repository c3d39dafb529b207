package storage

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Errors of reads and writes of one key.
var (
	// ErrNotFound means that the key does not exist.
	ErrNotFound = errors.New("storage: not found")
	// ErrExists means that the key to create exists.
	ErrExists = errors.New("storage: already exists")
	// ErrFenced means that there is a fence that the creation requires to be absent.
	ErrFenced = errors.New("storage: the object in which the creation takes place has ended")
	// ErrTooLarge means that etcd rejects a request of this size. Its text is etcd's.
	ErrTooLarge = errors.New("etcdserver: request is too large")
)

// Errors of etcd or the store, independent of a key.
var (
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("storage: closed")
	// ErrRemoved means that the collection was closed while the store runs on.
	ErrRemoved = errors.New("storage: the collection was removed")
	// ErrUnavailable means that etcd does not respond, has no leader or is overloaded.
	ErrUnavailable = errors.New("storage: etcd is unavailable")
	// ErrNoAnswer means that an external etcd does not respond when the store connects.
	ErrNoAnswer = errors.New("does not answer")
	// ErrNoSpace means that etcd's quota or disk is exhausted; reads and deletes still work.
	ErrNoSpace = errors.New("storage: etcd has no space left")
	// ErrUnknownOutcome means that a write may or may not have been applied.
	ErrUnknownOutcome = errors.New("storage: outcome of the write is unknown")
)

// ErrSlow ends a watcher that does not consume its events fast enough.
var ErrSlow = errors.New("storage: watcher is too slow")

// ConflictError means that the key was changed after the caller read it.
type ConflictError struct {
	// Current is the current item of the key.
	Current *Item
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("storage: %s was changed, it is at revision %d", e.Current.Key(), e.Current.Revision())
}

// FutureRevisionError means that the store did not reach the requested revision within
// Options.FutureWait.
type FutureRevisionError struct {
	Wanted, Current int64
}

// Error implements error.
func (e *FutureRevisionError) Error() string {
	return fmt.Sprintf("storage: revision %d is ahead of the current %d", e.Wanted, e.Current)
}

// CompactedError means that the requested history was compacted.
type CompactedError struct {
	// Wanted is the requested revision. Compacted is the oldest revision that can be read,
	// or 0 if it is unknown.
	Wanted, Compacted int64
}

// Error implements error.
func (e *CompactedError) Error() string {
	return fmt.Sprintf("storage: revision %d was compacted, the oldest is %d", e.Wanted, e.Compacted)
}

// readError converts the error of a read to an error of this package.
func readError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, rpctypes.ErrCompacted):
		return &CompactedError{}
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// writeError converts the error of a write to an error of this package. ErrUnknownOutcome is
// part of it unless etcd returns the error before it proposes the write.
func writeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrRewritten):
		return ErrRewritten
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return ErrTooLarge
	case errors.Is(err, rpctypes.ErrNoSpace):
		// etcd returns it before the proposal, or after it applied the write that exceeded
		// the quota.
		return fmt.Errorf("%w: %w: %w", ErrNoSpace, ErrUnknownOutcome, err)
	case errors.Is(err, rpctypes.ErrLeaseNotFound), errors.Is(err, rpctypes.ErrNoLeader), errors.Is(err, rpctypes.ErrTooManyRequests),
		errors.Is(err, rpctypes.ErrNotCapable):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	if status.Code(err) == codes.ResourceExhausted { // the client's limit on the size of a message
		return ErrTooLarge
	}
	return fmt.Errorf("%w: %w: %w", ErrUnavailable, ErrUnknownOutcome, err)
}
