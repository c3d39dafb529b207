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
	// ErrNotFound: there is nothing under the key.
	ErrNotFound = errors.New("storage: not found")
	// ErrExists: a create found the key taken.
	ErrExists = errors.New("storage: exists already")
	// ErrTooLarge: etcd refuses a request of this size. Its text is etcd's.
	ErrTooLarge = errors.New("etcdserver: request is too large")
)

// Errors that tell about etcd or the store and not about a key.
var (
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("storage: closed")
	// ErrUnavailable: etcd does not answer, or has no leader, or too much to do.
	ErrUnavailable = errors.New("storage: etcd is unavailable")
	// ErrNoAnswer: an external etcd does not answer when the store connects.
	ErrNoAnswer = errors.New("does not answer")
	// ErrNoSpace: etcd's quota or its disk is used up; reads and deletes work.
	ErrNoSpace = errors.New("storage: etcd has no space left")
	// ErrUnknownOutcome: a write may or may not have happened.
	ErrUnknownOutcome = errors.New("storage: it is not known whether the write happened")
)

// ErrSlow ends a watcher that does not take its events quickly enough.
var ErrSlow = errors.New("storage: watcher is too slow")

// ConflictError: the key was changed since it was read.
type ConflictError struct {
	// Current is what the key holds now.
	Current *Item
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("storage: %s was changed, it is at revision %d", e.Current.Key(), e.Current.Revision())
}

// FutureRevisionError: a revision was asked for that the store has not reached
// within the time it waits for one.
type FutureRevisionError struct {
	Wanted, Current int64
}

// Error implements error.
func (e *FutureRevisionError) Error() string {
	return fmt.Sprintf("storage: revision %d is ahead of the current %d", e.Wanted, e.Current)
}

// CompactedError: the history that was asked for is no longer there.
type CompactedError struct {
	// Wanted is the revision asked for, and Compacted the oldest one that can
	// still be read, or 0 when it is not known.
	Wanted, Compacted int64
}

// Error implements error.
func (e *CompactedError) Error() string {
	return fmt.Sprintf("storage: revision %d was compacted, the oldest is %d", e.Wanted, e.Compacted)
}

// readError says in this package's errors what went wrong with a read.
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

// writeError says what went wrong with a write. Only for errors that etcd
// gives before it proposes anything is it known that nothing happened.
func writeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return ErrTooLarge
	case errors.Is(err, rpctypes.ErrNoSpace):
		// Before it proposes, or after it applied what made it full.
		return fmt.Errorf("%w: %w: %w", ErrNoSpace, ErrUnknownOutcome, err)
	case errors.Is(err, rpctypes.ErrLeaseNotFound), errors.Is(err, rpctypes.ErrNoLeader), errors.Is(err, rpctypes.ErrTooManyRequests),
		errors.Is(err, rpctypes.ErrNotCapable):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	if status.Code(err) == codes.ResourceExhausted { // the client's own limit on a message
		return ErrTooLarge
	}
	return fmt.Errorf("%w: %w: %w", ErrUnavailable, ErrUnknownOutcome, err)
}
