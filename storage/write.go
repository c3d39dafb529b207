package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"weak"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// Create writes a new object. It returns ErrExists if the key exists, and ErrFenced if there is one
// of the fences.
//
// Create clears the resourceVersion and selfLink of obj for encoding. The caller must not
// change obj afterwards, even after an error, because obj may become the item's object. On
// success obj has the resourceVersion of the item.
func (c *Collection) Create(ctx context.Context, key string, obj api.Object, fences ...string) (*Item, error) {
	if c.closed.Load() {
		return nil, c.closedError()
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if err := checkFences(fences); err != nil {
		return nil, err
	}
	value, err := c.encode(obj)
	if err != nil {
		return nil, err
	}
	w, err := c.newWrite(ctx, opCreate, key, value)
	if err != nil {
		return nil, err
	}
	w.obj, w.absent = obj, fences
	w.normalizeObject(c.config())
	item, existing, err := c.commit(ctx, key, w)
	switch {
	case err != nil:
		return nil, err
	case item == nil && existing == nil && len(fences) > 0:
		return nil, ErrFenced
	case item == nil:
		return nil, ErrExists
	}
	return item, nil
}

// Update replaces old by obj. It returns a ConflictError if the key was changed since old
// was read, and ErrNotFound if it was deleted. If the encoded obj equals the value of old, and
// the stored value is not stale (Transformer), Update only verifies that old is current and returns
// it. obj may share memory with the object of old; otherwise the rules of Create apply to it. The
// fences are written in the same transaction.
func (c *Collection) Update(ctx context.Context, old *Item, obj api.Object, fences ...string) (*Item, error) {
	value, err := c.encode(obj)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(value, old.value) && len(fences) == 0 {
		if item, err := c.verifyCurrent(ctx, old); item != nil || err != nil {
			return item, err
		}
	}
	w, err := c.newWrite(ctx, opUpdate, old.key, value)
	if err != nil {
		return nil, err
	}
	w.expectedRev, w.obj, w.fences = old.rev, obj, fences
	if old.config == c.config() {
		w.normalizeObject(old.config)
	}
	item, current, err := c.commit(ctx, old.key, w)
	switch {
	case err != nil:
		return nil, err
	case item == nil:
		return nil, c.conflictError(old.key, current)
	}
	return item, nil
}

// Delete deletes old, with the errors of Update. It returns the last state with the revision
// of the deletion. The fences are written in the same transaction.
func (c *Collection) Delete(ctx context.Context, old *Item, fences ...string) (*Item, error) {
	item, current, err := c.commit(ctx, old.key, &keyWrite{expectedRev: old.rev, op: opDelete, value: old.value, fences: fences})
	if err == nil && item == nil {
		return nil, c.conflictError(old.key, current)
	}
	return item, err
}

// keyWrite is a transaction on one key. If the key is at the expected revision and the fences
// are absent, it is put or deleted; else it is read, unless it was to be created without fences.
type keyWrite struct {
	key         string // in etcd
	expectedRev int64  // the expected revision; 0 means that the key does not exist
	op          operation
	value       []byte // the value to put, or the deleted value
	stored      []byte // the form of value in etcd, which Transformer may encrypt
	lease       clientv3.LeaseID
	absent      []string   // fences that must not exist
	fences      []string   // fences to write
	obj         api.Object // the object that value encodes; nil if unknown
	// decodedBy is the configuration whose Decode would return obj for value. It is nil if
	// there is none, or if an item owns obj already.
	decodedBy *itemConfig
}

// normalizeObject changes obj to the object that config.Decode would return, so that an item of
// that configuration can own it. obj may share parts with an item that other goroutines read;
// an update therefore calls it only if that item has the same configuration, under which these
// parts have that form already and are not written.
func (w *keyWrite) normalizeObject(config *itemConfig) {
	if config.AsStored != nil && config.AsStored(w.obj) {
		w.decodedBy = config
	}
}

// item returns the item that w creates at a revision. The first item owns obj.
func (w *keyWrite) item(config *itemConfig, key string, rev int64) *Item {
	i := &Item{config: config, key: key, rev: rev, value: w.value}
	if w.decodedBy == config {
		w.decodedBy = nil
		w.obj.SetResourceVersion(strconv.FormatInt(rev, 10))
		i.object = weak.Make(&decodedObject{w.obj})
		i.health.Store(notCorrupt)
		w.obj = nil
	}
	return i
}

// commit executes w on the key. It returns the created item, or nil and the current value of
// the key.
func (c *Collection) commit(ctx context.Context, key string, w *keyWrite) (*Item, *mvccpb.KeyValue, error) {
	if c.store.ctx.Err() != nil || c.closed.Load() {
		return nil, nil, c.closedError()
	}
	w.key = c.prefix + key
	c.handoff.begin(key, w)
	transact := c.store.transactRemote
	switch {
	case c.store.local != nil:
		transact = c.store.transactLocal
	case c.store.embedded != nil && len(w.fences) == 0:
		transact = c.store.transactEmbedded
	}
	if request.From(ctx).Traced {
		var span *request.Span
		ctx, span = c.startSpan(ctx, w.op, w.key)
		defer span.End()
	}
	start := time.Now()
	rev, current, err := int64(0), (*mvccpb.KeyValue)(nil), c.store.lockWrites(ctx, c.store.writes.RLock, c.store.writes.RUnlock)
	if err == nil {
		if err = ErrRewritten; !c.store.IsRewritten(ctx) {
			rev, current, err = transact(ctx, w)
		}
		c.store.writes.RUnlock()
	}
	c.observeEtcd(ctx, w.op, start, err)
	if err != nil || rev == 0 {
		c.handoff.finish(key, w, 0, nil)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			c.store.leases.forget() // the lease has expired; the next write gets a new one
		}
		return nil, current, writeError(err)
	}
	c.written.note(rev)
	item := c.handoff.finish(key, w, rev, func() *Item { return w.item(c.config(), key, rev) })
	if w.obj != nil {
		w.obj.SetResourceVersion(strconv.FormatInt(rev, 10))
	}
	return item, nil, nil
}

// transactRemote executes w in an external etcd. It returns the revision that w created, or 0 and
// the current value if the key is not at the expected revision.
func (s *Store) transactRemote(ctx context.Context, w *keyWrite) (int64, *mvccpb.KeyValue, error) {
	op := clientv3.OpDelete(w.key)
	if w.op != opDelete {
		op = clientv3.OpPut(w.key, string(w.stored), clientv3.WithLease(w.lease))
	}
	compares := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(w.key), "=", w.expectedRev)}
	for _, name := range w.absent {
		compares = append(compares, clientv3.Compare(clientv3.ModRevision(string(s.fenceKey(name))), "=", 0))
	}
	fences, err := s.putFences(ctx, w.fences)
	if err != nil {
		return 0, nil, err
	}
	resp, err := s.client.Txn(ctx).If(compares...).Then(append(fences, op)...).Else(clientv3.OpGet(w.key)).Commit()
	switch {
	case err != nil:
		return 0, nil, err
	case resp.Succeeded:
		return resp.Header.Revision, nil, nil
	}
	return 0, firstKeyValue((*pb.TxnResponse)(resp)), nil
}

func firstKeyValue(resp *pb.TxnResponse) *mvccpb.KeyValue {
	if len(resp.Responses) > 0 {
		if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
			return kvs[0]
		}
	}
	return nil
}

// verifyCurrent checks, without a write, that old is the current item of the key. It returns nil
// if it is, but its stored value is stale.
func (c *Collection) verifyCurrent(ctx context.Context, old *Item) (*Item, error) {
	if c.store.ctx.Err() != nil || c.closed.Load() {
		return nil, c.closedError()
	}
	if c.store.local != nil {
		return c.verifyLocal(old)
	}
	full := c.prefix + old.key
	get := clientv3.OpGet(full)
	var then []clientv3.Op
	t := c.config().Transformer
	if t != nil {
		then = []clientv3.Op{get}
	}
	guard := clientv3.Compare(clientv3.ModRevision(full), "=", old.rev)
	start := time.Now()
	resp, err := c.store.client.Txn(ctx).If(guard).Then(then...).Else(get).Commit()
	c.observeEtcd(ctx, opGet, start, err)
	if err != nil {
		return nil, c.store.etcdReadError(ctx, err, 0)
	}
	current := firstKeyValue((*pb.TxnResponse)(resp))
	switch {
	case !resp.Succeeded:
		return nil, c.conflictError(old.key, current)
	case t == nil:
		return old, nil
	}
	if _, isStale, err := t.Decrypt(ctx, full, current.Value); err != nil || isStale {
		return nil, nil // old has the value, so it can be stored again even if this one is unreadable now
	}
	return old, nil
}

func (c *Collection) conflictError(key string, current *mvccpb.KeyValue) error {
	if current == nil {
		return ErrNotFound
	}
	return &ConflictError{Current: c.item(key, current)}
}

// encode returns the stored value of obj, without resourceVersion and selfLink.
func (c *Collection) encode(obj api.Object) ([]byte, error) {
	rev, link := obj.GetResourceVersion(), obj.GetSelfLink()
	obj.SetResourceVersion("")
	obj.SetSelfLink("")
	value, err := c.config().Encode(obj)
	obj.SetResourceVersion(rev)
	obj.SetSelfLink(link)
	if err != nil {
		return nil, fmt.Errorf("storage: encoding an object of %s: %w", c.config().Prefix, err)
	}
	return value, nil
}

// checkKey rejects keys that route would not find.
func checkKey(key string) error {
	if key == "" || strings.HasPrefix(key, "/") || strings.HasSuffix(key, "/") {
		return fmt.Errorf("storage: malformed key %q", key)
	}
	return nil
}

// newWrite returns the write of a value: the value itself, the stored form of it, and the lease of
// a key that expires. op is opCreate or opUpdate.
func (c *Collection) newWrite(ctx context.Context, op operation, key string, value []byte) (*keyWrite, error) {
	w, err := c.store.newWriteOf(ctx, c.config(), key, value)
	if err == nil {
		w.op = op
	}
	return w, err
}

// newWriteOf is newWrite for a collection that may have ended.
func (s *Store) newWriteOf(ctx context.Context, config *itemConfig, key string, value []byte) (*keyWrite, error) {
	w := &keyWrite{value: value, stored: value}
	var err error
	if ttl := config.TTL; ttl > 0 {
		if w.lease, err = s.leases.get(ctx, s, ttl); err != nil {
			return nil, err
		}
	}
	if t := config.Transformer; t != nil {
		if w.stored, err = t.Encrypt(ctx, config.path+key, value); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// An object may be created within another one: in a namespace, or for the definition of its
// kind. A fence is a key that is written when the other object ends. The transaction of a
// creation requires that there is no fence, so nothing is created after it, however long the
// creation took since the other object was read. The name of a fence is never used again.
//
// A comparison of the other object's revision would need no fences, but etcd reads the whole
// value for it, and the object would have to be in the same etcd.

// fencePrefix is the prefix of fences below Options.Prefix. No collection has it.
const fencePrefix = "/fences/"

// fenceTTL is the time after which etcd deletes a fence. It is much longer than any request.
const fenceTTL = 24 * time.Hour

// maxFences is the maximum number of fences of a write: of its namespace and its definition.
const maxFences = 2

func (s *Store) fenceKey(name string) []byte {
	key := make([]byte, 0, len(s.opts.Prefix)+len(fencePrefix)+len(name))
	key = append(append(append(key, s.opts.Prefix...), fencePrefix...), name...)
	return key
}

// putFences returns the operations that write fences.
func (s *Store) putFences(ctx context.Context, fences []string) ([]clientv3.Op, error) {
	if len(fences) == 0 {
		return nil, nil
	}
	lease, err := s.leases.get(ctx, s, fenceTTL)
	if err != nil {
		return nil, err
	}
	ops := make([]clientv3.Op, len(fences))
	for i, name := range fences {
		ops[i] = clientv3.OpPut(string(s.fenceKey(name)), "", clientv3.WithLease(lease))
	}
	return ops, nil
}

// PutFence writes a fence, unless it exists, and reports whether it was missing. When it
// returns, Create stores nothing any more with a fence of that name.
func (s *Store) PutFence(ctx context.Context, name string) (wasMissing bool, err error) {
	if s.ctx.Err() != nil {
		return false, ErrClosed
	}
	put, err := s.putFences(ctx, []string{name})
	if err != nil {
		return false, err
	}
	resp, err := s.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(string(s.fenceKey(name))), "=", 0)).Then(put...).Commit()
	if err != nil {
		s.leases.forget() // the lease may have expired
		return false, fmt.Errorf("write fence: %w", writeError(err))
	}
	return resp.Succeeded, nil
}

// checkFences returns an error if there are too many fences.
func checkFences(fences []string) error {
	if len(fences) > maxFences {
		return fmt.Errorf("storage: %d fences, at most %d are possible", len(fences), maxFences)
	}
	return nil
}
