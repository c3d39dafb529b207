// Package storage is the revisioned store on etcd: keys, transactions, the embedded etcd
// server, the watch cache and etcd's history. It handles bytes, keys and revisions; a
// CollectionConfig has the functions that encode, decode and index the objects of one
// resource.
//
// A Store is one etcd, embedded or external, and the single watch on it. A Collection is the
// keys of one resource. An Item is one immutable version of one key, with every encoding of
// it that was made so far. A Watcher is one reader of the changes of a collection.
//
// Store.Start reads all keys below the prefix once and then follows them with a single etcd
// watch. One goroutine applies the events, all changes of one revision together: to the
// copy-on-write tree of the collection, to its window of recent changes and to the queues of
// its watchers. Only then is the revision published as applied. A consistent read determines
// etcd's current revision and waits until that revision is applied. A write is one etcd
// transaction, and its event comes back by the watch; the cache then holds the same Item
// that the write returned.
//
// Invariants: a read returns a real state of etcd, and a consistent read returns a state
// that includes every write acknowledged before it. A watcher receives every change after
// its start once and in order, or ends with an error that reports the loss. No reader and no
// watcher blocks another.
//
// Lock order: Store.applyMu, Collection.mu, Watcher.mu. Reads of the cache take no lock.
package storage

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/clock"
)

// Options configures a Store. One of Dir, Ephemeral and Servers is required.
type Options struct {
	// Dir is the data directory of the embedded etcd. If it is empty, Ephemeral must be set,
	// and etcd uses a temporary directory.
	Dir string
	// Ephemeral has Close remove Dir, and sets NoSync.
	Ephemeral bool
	// NoSync turns off syncing to disk.
	NoSync bool

	// SnapshotFile is an etcd snapshot that is restored into the embedded etcd, which must
	// have no data yet. Empty means none.
	SnapshotFile string

	// ForkOf is a store with an embedded etcd, with whose content and history the embedded etcd of this store begins. It must have
	// no data yet. Nil means none.
	ForkOf *Store

	// Servers are the endpoints of an external etcd cluster; CAFile, CertFile and KeyFile
	// are its TLS files.
	Servers                   []string
	CAFile, CertFile, KeyFile string

	// Prefix is the prefix of all keys; empty means "/registry".
	Prefix string
	// CompactionInterval is the age at which etcd's history is compacted; 0 means never.
	CompactionInterval time.Duration
	// CheckInterval is the minimum interval at which the caches are compared with etcd; 0 means never.
	CheckInterval time.Duration
	// FutureWait is the maximum time that a read waits for a revision that the cache has not
	// reached; 0 means 3 seconds.
	FutureWait time.Duration
	// WindowBytes is the maximum memory of each collection's window of recent changes; 0
	// means 16 MiB.
	WindowBytes int64
	// WatchQueue is the maximum number of undelivered changes of a watcher. A watcher that
	// exceeds it is ended. 0 means 4096.
	WatchQueue int
	// Quiet has the timers of the embedded etcd fire every second or later and not every 100 ms. Leases have at least
	// 7 seconds then. It is for a process with many stores.
	Quiet bool
	// QuotaBytes is the maximum size of the embedded etcd's database; 0 means 8 GiB.
	QuotaBytes int64

	// Progress is called during long work with what is done and, where they are known, with the bytes
	// that are done and that there are; otherwise they are 0. It must return at once. Nil tells nobody.
	Progress func(what string, done, total int64)
	// Logger receives the log messages; nil discards them.
	Logger *slog.Logger
	// Tracer makes the OpenTelemetry spans of requests to Servers; nil makes none.
	Tracer trace.TracerProvider
	// Calls counts the requests to Servers; nil counts none.
	Calls *CallMetrics
	// Clock is the clock by which objects with a TTL expire, if it can be moved; nil means that etcd's leases alone end them.
	Clock *clock.Clock
	// Now is the clock of ages within the store; nil means time.Now.
	Now func() time.Time
}

// CollectionConfig describes one collection and how its objects are encoded, decoded and
// indexed.
type CollectionConfig struct {
	// Prefix is the prefix of the collection's keys below Options.Prefix, without leading
	// and trailing slashes: "pods", "services/specs".
	Prefix string
	// Group and Resource name the resource in metrics.
	Group, Resource string
	// Encode returns the stored value of an object whose resourceVersion and selfLink are
	// empty. It must not retain the object.
	Encode func(api.Object) ([]byte, error)
	// Decode decodes a stored value. The result must not share memory with the value; the
	// store sets its resourceVersion.
	Decode func([]byte) (api.Object, error)
	// CheckValue returns an error if a value must not be given to Decode, because its decoder might
	// not end or might exhaust the memory. The store calls it for values that another writer
	// stored. Nil accepts every value.
	CheckValue func([]byte) error
	// Transformer encrypts and decrypts the values; nil stores them as Encode returns them.
	Transformer Transformer
	// Check returns an error if a decoded object cannot be served. The store calls it for
	// values that another writer stored. Nil accepts every object.
	Check func(api.Object) error
	// AsStored changes an encoded object, in place, to the object that Decode would return for
	// its value, and reports whether it could. The caller owns the object. Nil means that no
	// object can be changed so.
	AsStored func(api.Object) bool
	// Oldest is the oldest revision from which a watch can start; 0 means any revision that
	// the store has. Reconfigure ignores it.
	Oldest int64
	// TTL is the time after which etcd deletes an object that was not written again; 0 means
	// never.
	TTL time.Duration
	// Fields returns the selectable fields of an object; nil means that there are none.
	Fields func(api.Object) map[string]string
	// Index names the Fields by which lists and watches often select. Such a selection
	// (ListOptions.Field) needs no scan.
	Index []string
	// StoredField returns a field of Index from a stored value without decoding it, as Fields returns it for the object.
	// It reports false if the value has to be decoded. Nil means that all values have to be. A start that does not
	// decode every indexed object is several times faster.
	StoredField func(value []byte, field string) ([]byte, bool)
}

// Match is the freshness rule of a read.
type Match int

const (
	// Consistent returns a state that includes every write that etcd acknowledged,
	// through any server, before the call.
	Consistent Match = iota
	// Any returns the current content of the cache.
	Any
	// NotOlderThan returns the content of the cache once that has reached Read.Revision.
	NotOlderThan
	// Exact returns the state at Read.Revision.
	Exact
	// Followed returns the content of the cache as the parts of the server see it that follow it: as Any, but late if the
	// collection lags.
	Followed
)

// Read is the freshness that a read requires. Revision is used by NotOlderThan and Exact.
type Read struct {
	Match    Match
	Revision int64
	// View has reads with Any and NotOlderThan see the caches late; nil has them see the caches as they are.
	View *View
}

// ListOptions selects the items that List returns. The zero value selects all items with a
// consistent read.
type ListOptions struct {
	Read
	// Prefix selects the keys that begin with it: "" or "namespace/".
	Prefix string
	// Key selects one key.
	Key string
	// Field and Value select the items whose indexed field (see CollectionConfig.Index) has
	// the value.
	Field, Value string
	// After skips the keys up to and including it. It is List.Next of the previous page.
	After string
	// Limit is the maximum number of items; 0 means no limit.
	Limit int64
	// Labels is the LabelSignature of labels that an item must have to be selected. Items
	// that cannot have them are skipped before Filter is called. 0 selects all.
	Labels uint64
	// Filter reports whether an item is selected; nil selects all.
	Filter func(*Item) bool
	// Verify makes List fail with a CorruptListError if any value in the range of the list
	// cannot be decoded, even if Filter would not select it. Without Verify such items are
	// listed unless Filter drops them.
	Verify bool
}

// List is one page of items, ordered by key.
type List struct {
	Items []*Item
	// Revision is the revision of the listed state.
	Revision int64
	// Next is ListOptions.After of the next page, which must be read with Match Exact at
	// Revision. It is empty on the last page.
	Next string
	// Remaining is the number of items after this page, or -1 if a filter makes it unknown.
	Remaining int64

	examined int // the number of items that were read for the page
}

// Objects returns the objects of the items, which must not be changed. It fails if one cannot be decoded.
func (l *List) Objects() ([]api.Object, error) {
	out := make([]api.Object, len(l.Items))
	for i, item := range l.Items {
		var err error
		if out[i], err = item.Object(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// EventType is the kind of an Event, relative to the selection of the watcher.
type EventType int

const (
	// Added means that an item entered the selection.
	Added EventType = iota
	// Modified means that an item changed and stayed in the selection.
	Modified
	// Deleted means that an item left the selection or was deleted.
	Deleted
	// Bookmark means that all changes up to Event.Revision were delivered.
	Bookmark
)

// Event is one event of a Watcher.
type Event struct {
	Type EventType
	// Item is the new state. In a Deleted event it is the last state in the selection, with
	// the revision of the change that removed it. In a Bookmark it is nil.
	Item *Item
	// Previous is the state that a Modified event replaces, else nil.
	Previous *Item
	Revision int64
	// Received is the time at which the change arrived from etcd, as a reading of package monotonic; 0 for other events.
	Received int64
	// End marks the Bookmark that follows the initial state.
	End bool
}

// WatchOptions selects the events of a Watcher.
type WatchOptions struct {
	// Prefix, Key, Field and Value select items as in ListOptions.
	Prefix, Key  string
	Field, Value string
	// Filter reports whether an item is selected. An item that starts to match is Added, one
	// that ceases to match is Deleted.
	Filter func(*Item) bool
	// Prepare, if set, is called with batches of items before Filter is called for them. An
	// error ends the watch.
	Prepare func([]*Item) error

	// Revision, if above 0, starts the watch with the changes after it.
	Revision int64
	// Initial starts the watch with the current state as Added events; Read is the freshness
	// of that state. With neither Revision nor Initial, the watch starts with the changes
	// after the revision that Read yields.
	Initial bool
	Read    Read
	// InitialEventsEnd sends a Bookmark with End set after the initial state.
	InitialEventsEnd bool
	// Verify ends the watch with a CorruptListError if a value of the initial state cannot
	// be decoded. Without Verify such an item is sent if no one has tried to decode it yet,
	// and the consumer of the event gets the decoding error.
	Verify bool

	// Followed has the events come late if the collection lags, and View in any case, at first; see Watcher.SetView.
	Followed bool
	View     *View

	// Bookmarks sends a Bookmark every BookmarkEvery (0 means a minute), and one 2 seconds
	// before Deadline.
	Bookmarks     bool
	BookmarkEvery time.Duration
	// Deadline is the time at which the watch ends; zero means never.
	Deadline time.Time

	// Ready, if set, is called when there are new changes and when the watch has ended, for a reader that calls Poll. It
	// must return at once, and not call the watcher.
	Ready func()
}

// withDefaults returns o with defaults for the zero values.
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

// causeOr returns the cause of ctx if ctx is done, else err.
func causeOr(ctx context.Context, err error) error {
	if cerr := context.Cause(ctx); cerr != nil {
		return cerr
	}
	return err
}
