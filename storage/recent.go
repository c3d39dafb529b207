package storage

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Recent returns the versions of all keys of the collections, the newest first, and of one revision in the order in which its
// transaction wrote them.
func (s *Store) Recent(ctx context.Context, o HistoryOptions) ([]Version, error) {
	if err := s.readable(); err != nil || !s.HasHistory() {
		return nil, err
	}
	o = o.withDefaults()
	newest, err := s.Revision(ctx)
	if err != nil {
		return nil, err
	}
	if o.Before > 0 {
		newest = min(newest, o.Before-1)
	}
	found := recentVersions{store: s, room: historyRoom{o.Limit, maxHistoryBytes}}
	if s.embedded != nil {
		err = found.scan(ctx, newest, max(o.After, s.firstRevision()))
	} else {
		err = found.watch(ctx, newest, o.After)
	}
	if err != nil && !errors.As(err, new(*CompactedError)) {
		return nil, err
	}
	return found.complete(ctx)
}

// WrittenAt returns the versions that were written at a revision: usually one. It finds values from before the compaction that were not
// replaced until then.
func (s *Store) WrittenAt(ctx context.Context, rev int64) ([]Version, error) {
	if err := s.readable(); err != nil || !s.HasHistory() || rev <= 0 {
		return nil, err
	}
	found := recentVersions{store: s, room: historyRoom{defaultVersions, maxHistoryBytes}}
	var err error
	if s.embedded != nil {
		err = found.scan(ctx, rev, rev-1)
	} else {
		err = found.readAt(ctx, rev)
	}
	if err != nil {
		return nil, err
	}
	return found.complete(ctx)
}

// readAt collects the versions of one revision from an external etcd.
func (r *recentVersions) readAt(ctx context.Context, rev int64) error {
	current, err := r.store.Revision(ctx)
	if err != nil || rev > current {
		return err
	}
	err = r.watch(ctx, rev, rev-1)
	if !errors.As(err, new(*CompactedError)) {
		return err
	}
	resp, err := r.store.client.Get(ctx, r.store.opts.Prefix+"/", clientv3.WithPrefix(),
		clientv3.WithMinModRev(rev), clientv3.WithMaxModRev(rev))
	if err != nil {
		return r.store.readError(err)
	}
	var together []storedVersion
	for _, kv := range resp.Kvs {
		together = append(together, storedVersion{revision: rev, kv: kv})
	}
	r.add(together)
	return nil
}

// recentVersions collects versions of several collections.
type recentVersions struct {
	store    *Store
	room     historyRoom
	versions []Version
	keys     []string           // in etcd, of each version
	items    []*mvccpb.KeyValue // of each version
}

// add adds the versions of one revision, all of them if there is room for the first. It returns false if there was none.
func (r *recentVersions) add(together []storedVersion) bool {
	s, isFirst := r.store, true
	for i, v := range together {
		kv := v.keyValue()
		s.applyMu.Lock()
		c, key := s.route(kv.Key)
		s.applyMu.Unlock()
		if c == nil {
			continue
		}
		if isFirst && r.room.isFull() {
			return false
		}
		isFirst = false
		r.room.use(len(kv.Value))
		r.versions = append(r.versions, Version{Prefix: c.config().Prefix, Key: key, Revision: v.revision, Deleted: v.isDeletion,
			Created: !v.isDeletion && kv.Version == 1, Position: i, Together: len(together)})
		r.keys, r.items = append(r.keys, string(kv.Key)), append(r.items, kv)
	}
	return true
}

// complete returns the versions with their items and the values before them.
func (r *recentVersions) complete(ctx context.Context) ([]Version, error) {
	room := maxHistoryBytes
	for i := range r.versions {
		v := &r.versions[i]
		c := r.store.collectionOf(v.Prefix)
		if c == nil { // it was removed meanwhile
			continue
		}
		if !v.Deleted {
			v.Item = c.item(v.Key, r.items[i])
		}
		if v.Created || room <= 0 {
			continue
		}
		before, _, err := r.store.keyAt(ctx, r.keys[i], v.Revision-1)
		switch {
		case errors.As(err, new(*CompactedError)):
		case err != nil:
			return nil, err
		case before != nil:
			room -= len(before.Value)
			v.Previous = c.item(v.Key, before)
		}
	}
	return slices.DeleteFunc(r.versions, func(v Version) bool { return v.Item == nil && !v.Deleted }), nil
}

func (s *Store) collectionOf(prefix string) *Collection {
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	return s.routes[prefix]
}

// scan collects the versions from the embedded etcd, up to newest and after oldest.
func (r *recentVersions) scan(ctx context.Context, newest, oldest int64) error {
	var together []storedVersion // of one revision, backwards
	full, scanned := false, 0
	flush := func() {
		slices.Reverse(together)
		full = len(together) > 0 && !r.add(together)
		together = together[:0]
	}
	err := r.store.scanBack(ctx, newest, oldest, func(v storedVersion) bool {
		if scanned++; scanned > maxHistoryScan {
			return false
		}
		if !strings.HasPrefix(string(v.key()), r.store.opts.Prefix+"/") {
			return true
		}
		if len(together) > 0 && together[0].revision != v.revision {
			flush()
		}
		if full {
			return false
		}
		together = append(together, storedVersion{revision: v.revision, isDeletion: v.isDeletion, kv: v.keyValue()})
		return true
	})
	if err == nil && !full {
		flush()
	}
	return err
}

// watch collects the versions from an external etcd, up to newest and after oldest. Watches go forward, so it reads parts of the
// past that become longer, from the newest to the oldest.
func (r *recentVersions) watch(ctx context.Context, newest, oldest int64) error {
	oldest = max(oldest, newest-maxHistoryScan)
	for part := int64(2 * r.room.versions); newest > oldest; part *= 4 {
		tail := pastTail{versions: 2*r.room.versions + MaxBatch, bytes: 2 * maxHistoryBytes}
		from := max(oldest, newest-part)
		err := r.store.eventsBetween(ctx, r.store.opts.Prefix+"/", from, newest, tail.add, clientv3.WithPrefix())
		var compacted *CompactedError
		if errors.As(err, &compacted) && compacted.Compacted > from && compacted.Compacted < newest {
			oldest, part = compacted.Compacted, part/4
			continue
		}
		if err != nil {
			return err
		}
		if tail.dropped > 0 { // perhaps a part of that revision
			from = tail.dropped
		}
		for i := len(tail.events); i > 0; {
			first := i - 1
			for first > 0 && tail.events[first-1].revision == tail.events[first].revision {
				first--
			}
			if tail.events[first].revision <= from {
				break
			}
			if !r.add(tail.events[first:i]) {
				return nil
			}
			i = first
		}
		newest = from
	}
	return nil
}

// pastTail keeps the last of many events.
type pastTail struct {
	events          []storedVersion
	versions, bytes int   // what it keeps at least, if there is as much
	size            int   // of the values
	dropped         int64 // the newest revision of which something was dropped
}

func (p *pastTail) add(e *clientv3.Event) {
	p.events = append(p.events, storedVersion{revision: e.Kv.ModRevision, isDeletion: e.Type == clientv3.EventTypeDelete, kv: e.Kv})
	p.size += len(e.Kv.Value)
	if len(p.events) < 2*p.versions && p.size < 2*p.bytes {
		return
	}
	n := 0
	for ; n < len(p.events)-1 && (len(p.events)-n > p.versions || p.size > p.bytes); n++ {
		p.size -= len(p.events[n].kv.Value)
		p.dropped = p.events[n].revision
	}
	p.events = slices.Delete(p.events, 0, n)
}
