// Package storage is the revisioned store on etcd: keys, transactions, the
// embedded server, the cache, watches and history. It knows bytes, keys and
// revisions, and what a collection tells it about its objects; no kinds.
//
// The nouns: a Store is one etcd (embedded or not) and the one watch on it; a
// Collection is the keys of one resource; an Item is one version of one key,
// immutable, with all encodings of it that were ever asked for; a Watcher is
// one reader of a collection's changes.
//
// How it fits together: Start reads the whole prefix once and then follows it
// with a single etcd watch. One goroutine applies what arrives, all changes of
// one revision together: to the ordered copy-on-write tree of the collection,
// to its window of recent changes and to the queues of its watchers; only then
// is the revision published as applied. A consistent read finds out
// etcd's current revision and waits until that is applied. Writes go to etcd in one
// transaction each and come back by the watch; the Item that a write made is
// the one that the cache takes in.
//
// Invariants: what a read returns is some state of etcd, and what a consistent
// read returns is not older than any write acknowledged before it. A watcher
// sees every change after its start once and in order, or ends with an error
// that says that it did not. No reader and no watcher ever holds up another.
//
// Locks, in the order in which they are taken: Store.applyMu, Collection.mu,
// Watcher.mu. Reads of the cache take none of them.
package storage

import (
	"context"
	"log/slog"
	"time"

	"github.com/miniapiserver/miniapiserver/api"
)

// Options say which etcd a Store uses and how: one of Dir, Ephemeral and
// Servers is needed.
type Options struct {
	// Dir is the data directory of the embedded etcd. Empty and Ephemeral: a
	// temporary directory.
	Dir string
	// Ephemeral: nothing is synced to disk and Dir is removed by Close.
	Ephemeral bool

	// SnapshotFile, when set, is an etcd snapshot to begin with: it is read into
	// the embedded etcd, which must have no data yet.
	SnapshotFile string

	// Servers are the endpoints of an etcd cluster to use instead of an
	// embedded one, with the files for TLS.
	Servers                   []string
	CAFile, CertFile, KeyFile string

	// Prefix stands before all keys; empty means "/registry".
	Prefix string
	// CompactionInterval is how long history is kept in etcd; 0 means for ever.
	CompactionInterval time.Duration
	// FutureWait is how long a read waits for a revision that the cache has not
	// reached; 0 means 3 seconds.
	FutureWait time.Duration
	// WindowBytes bounds the memory of each collection's window of recent
	// changes; 0 means 16 MiB.
	WindowBytes int64
	// WatchQueue is how many changes a watcher may be behind before it is
	// ended; 0 means 4096.
	WatchQueue int
	// QuotaBytes bounds the database of the embedded etcd; 0 means 8 GiB.
	QuotaBytes int64

	// Logger is told of what needs attention; nil discards.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// CollectionConfig is what a collection tells the store about its objects.
type CollectionConfig struct {
	// Prefix is where the keys are, below Options.Prefix and without slashes at
	// its ends: "pods", "services/specs".
	Prefix string
	// Encode makes the stored value. It is called with an object whose
	// resourceVersion and selfLink are empty, and must not keep it.
	Encode func(api.Object) ([]byte, error)
	// Decode reads a stored value. The store sets the resourceVersion of what
	// it returns; what it returns must not share memory with the value.
	Decode func([]byte) (api.Object, error)
	// Check returns why a decoded object cannot be shown. It is asked about values that
	// this store did not write itself. Nil means that all can be shown.
	Check func(api.Object) error
	// AsStored makes of an object that was encoded, and that nobody else will change,
	// what Decode would make of the value, or returns false. Nil means the latter.
	AsStored func(api.Object) bool
	// Oldest is the oldest revision that a watch can start from; 0 means any that
	// the store has. Reconfigure does not change it.
	Oldest int64
	// Fields gives the fields to select by; nil means none.
	Fields func(api.Object) map[string]string
	// Index names those of Fields that lists and watches are often restricted
	// to: these are found without a scan (ListOptions.Field).
	Index []string
}

// Match says how fresh a read must be.
type Match int

const (
	// Consistent reads are not older than any write that was acknowledged,
	// anywhere, before the call.
	Consistent Match = iota
	// Any takes whatever the cache has.
	Any
	// NotOlderThan takes what the cache has once that is at Read.Revision.
	NotOlderThan
	// Exact reads the state as of Read.Revision.
	Exact
)

// Read is the freshness wanted of a read: a Match and, for the last two, the
// revision.
type Read struct {
	Match    Match
	Revision int64
}

// ListOptions select what List returns. The zero value means everything,
// consistently.
type ListOptions struct {
	Read
	// Prefix restricts to the keys that begin with it: "" or "namespace/".
	Prefix string
	// Key restricts to one key.
	Key string
	// Field and Value restrict to the items whose indexed field (see
	// CollectionConfig.Index) has the value.
	Field, Value string
	// After leaves out the keys up to and including it: List.Next of the page
	// before.
	After string
	// Limit is the most items to return; 0 means all.
	Limit int64
	// Labels is the signature of labels that the items must have; those that
	// cannot have them are passed over before Filter is asked. 0 means none.
	Labels uint64
	// Filter drops items for which it is false; nil keeps all.
	Filter func(*Item) bool
	// Verify fails with a CorruptListError if a value in the range of the list cannot be
	// decoded, whether it would be selected or not. Otherwise such items are listed
	// unless a filter drops them.
	Verify bool
}

// List is one page of items in the order of their keys.
type List struct {
	Items []*Item
	// Revision is that of the state the list was taken from.
	Revision int64
	// Next is ListOptions.After for the next page, which is to be read at Exact
	// Revision; empty when there is no more.
	Next string
	// Remaining is how many items follow this page, or -1 when that is not
	// known because of a filter.
	Remaining int64
}

// EventType says what happened to what a watcher selects.
type EventType int

const (
	// Added: an item came into the selection.
	Added EventType = iota
	// Modified: an item of the selection changed.
	Modified
	// Deleted: an item went out of the selection.
	Deleted
	// Bookmark: nothing happened up to the revision.
	Bookmark
)

// Event is one thing that a watcher sees.
type Event struct {
	Type EventType
	// Item is the new state or, when Deleted, the last one that was in the
	// selection, with the revision of the change that took it out. It is nil in
	// a Bookmark.
	Item     *Item
	Revision int64
	// End marks the Bookmark after the initial state.
	End bool
}

// WatchOptions select what a Watcher sees.
type WatchOptions struct {
	// Prefix, Key, Field and Value select as in ListOptions.
	Prefix, Key  string
	Field, Value string
	// Filter selects further; an item that begins to match is Added and one
	// that ceases to is Deleted.
	Filter func(*Item) bool
	// Prepare, when set, is told of items before Filter is asked about them, many
	// at once. An error ends the watch.
	Prepare func([]*Item) error

	// Revision, when above 0, starts with the changes after it.
	Revision int64
	// Initial starts with the current state as Added events, which is as fresh
	// as Read says. With neither, the watch starts with the changes after
	// what Read gives.
	Initial bool
	Read    Read
	// InitialEventsEnd sends a Bookmark with End set after the initial state.
	InitialEventsEnd bool
	// Verify ends the watch with a CorruptListError if a value of the initial state
	// cannot be decoded. Otherwise such an item is sent as long as nobody has tried to
	// decode it: the reader of the events finds out.
	Verify bool

	// Bookmarks sends a Bookmark every BookmarkEvery (0: a minute), and one
	// 2 seconds before Deadline.
	Bookmarks     bool
	BookmarkEvery time.Duration
	// Deadline ends the watch; zero means never.
	Deadline time.Time
}

// withDefaults fills in what was left empty.
func (o Options) withDefaults() Options {
	if o.Prefix == "" {
		o.Prefix = "/registry"
	}
	if o.FutureWait == 0 {
		o.FutureWait = 3 * time.Second
	}
	if o.WindowBytes == 0 {
		o.WindowBytes = 16 << 20
	}
	if o.WatchQueue == 0 {
		o.WatchQueue = 4096
	}
	if o.QuotaBytes == 0 {
		o.QuotaBytes = 8 << 30
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// contextOr returns the error of ctx if it is done, else err.
func contextOr(ctx context.Context, err error) error {
	if cerr := context.Cause(ctx); cerr != nil {
		return cerr
	}
	return err
}
