package storage

import (
	"context"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// loadPage is the number of keys that one read of a scan returns.
const loadPage = 1000

// load reads everything below the prefix, at one revision, into the caches of all
// collections; the caller holds s.applyMu. It is also used when etcd has compacted changes
// that the caches have not seen; all watches end then, because the missed changes are
// unknown.
func (s *Store) load(ctx context.Context) error {
	start := time.Now()
	fresh := map[*Collection]*collectionState{}
	for _, c := range s.routes {
		fresh[c] = newCollectionState(len(c.config().Index))
	}
	var expiring []leased
	rev, err := s.scan(ctx, s.opts.Prefix+"/", 0, false, func(kv *mvccpb.KeyValue) {
		if c, key := s.route(kv.Key); c != nil {
			fresh[c].appendLoaded(c.cachedOrNewItem(key, kv))
			if s.expiries != nil && kv.Lease != 0 && !s.started { // later loads have the times of earlier
				expiring = append(expiring, leased{c, key, kv.ModRevision, clientv3.LeaseID(kv.Lease)})
			}
		}
	})
	if err == nil && len(expiring) > 0 {
		err = s.expiries.load(ctx, expiring)
	}
	if err != nil {
		return err
	}
	for c, st := range fresh {
		c.replaceState(st, rev)
		c.metrics.initialized(start)
	}
	s.applied.advance(rev)
	return nil
}

// scan calls f with all keys that begin with prefix at revision rev, and returns the
// revision. 0 means the current one. If keysOnly is set, the keys have no values.
func (s *Store) scan(ctx context.Context, prefix string, rev int64, keysOnly bool, f func(*mvccpb.KeyValue)) (int64, error) {
	from, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	read := s.remotePage
	if s.embedded != nil {
		if !s.hold() { // the files of an embedded etcd are closed with the store
			return 0, ErrClosed
		}
		defer s.wg.Done()
		read = s.embedded.page
	}
	for {
		page, err := read(ctx, from, end, rev, keysOnly)
		if err != nil {
			return 0, s.readError(err)
		}
		for _, kv := range page.Kvs {
			f(kv)
		}
		if rev == 0 {
			rev = page.Header.Revision
		}
		if !page.More || len(page.Kvs) == 0 {
			return rev, nil
		}
		from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
}

// remotePage returns the first keys of a range, at most loadPage, at a revision; 0 means the current one.
func (s *Store) remotePage(ctx context.Context, from, end string, rev int64, keysOnly bool) (*pb.RangeResponse, error) {
	options := []clientv3.OpOption{clientv3.WithRange(end), clientv3.WithLimit(loadPage), clientv3.WithRev(rev)}
	if keysOnly {
		options = append(options, clientv3.WithKeysOnly())
	}
	resp, err := s.client.Get(ctx, from, options...)
	return (*pb.RangeResponse)(resp), err
}

// route returns the collection of an etcd key, which is the one with the longest prefix, and
// the key within it; the caller holds s.applyMu.
func (s *Store) route(full []byte) (found *Collection, key string) {
	return routeIn(s.routes, s.opts.Prefix, full)
}

// routeIn is Store.route in a map of collections by prefix.
func routeIn(routes map[string]*Collection, prefix string, full []byte) (found *Collection, key string) {
	if len(full) <= len(prefix) || string(full[:len(prefix)]) != prefix {
		return nil, ""
	}
	rest := full[len(prefix)+1:]
	at := 0
	for i, b := range rest {
		if b == '/' {
			if c := routes[string(rest[:i])]; c != nil {
				found, at = c, i+1
			}
		}
	}
	if found == nil || at == len(rest) {
		return nil, ""
	}
	return found, string(rest[at:])
}

// follow runs the single watch on etcd, and starts another when it ends.
func (s *Store) follow() {
	const maxPause = time.Second
	pause := 10 * time.Millisecond
	for s.ctx.Err() == nil {
		before := s.applied.rev.Load()
		err := s.followRecovering()
		switch {
		case errors.Is(err, rpctypes.ErrCompacted):
			s.log.Warn("etcd compacted changes that the cache has not seen, reloading the cache")
			err = s.reload()
		case errors.Is(err, recovery.ErrPanic): // some changes may be half applied
			err = s.reload()
		}
		if s.ctx.Err() != nil {
			return
		}
		if err != nil {
			s.log.Debug("etcd watch ended", "error", err)
		}
		if s.applied.rev.Load() > before {
			pause = 10 * time.Millisecond
		}
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
		}
		pause = min(2*pause, maxPause)
	}
}

func (s *Store) reload() error {
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	return s.load(s.ctx)
}

// remoteWatch is the current watch on an external etcd.
type remoteWatch struct {
	ctx     context.Context
	watcher clientv3.Watcher
}

// followRecovering is followOnce, but returns a panic as an error.
func (s *Store) followRecovering() (err error) {
	defer recovery.Into(s.log, "following etcd", &err)
	return s.followOnce()
}

// followOnce applies the events of one watch until it ends.
func (s *Store) followOnce() error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(s.ctx))
	defer cancel()
	s.cancelWatch.Store(&cancel)
	if s.embedded != nil {
		return s.embedded.follow(ctx, s)
	}
	// A clientv3.Watcher of its own has its own connection, and Close releases all of it.
	f := &remoteWatch{ctx: ctx, watcher: clientv3.NewWatcher(s.client)}
	defer f.watcher.Close()
	s.remoteWatch.Store(f)
	for resp := range f.watcher.Watch(ctx, s.opts.Prefix+"/", clientv3.WithPrefix(), clientv3.WithProgressNotify(),
		clientv3.WithRev(s.applied.rev.Load()+1), clientv3.WithCreatedNotify()) {
		if err := resp.Err(); err != nil {
			return err
		}
		s.silence.noteResponse()
		if resp.Created {
			s.noteWatchStarted()
		}
		if resp.IsProgressNotify() {
			s.applied.advance(resp.Header.Revision)
			for _, c := range s.metrics.all() {
				s.metrics.bookmarks.WithLabelValues(c.metrics.group, c.metrics.resource).Inc()
				s.metrics.formerBookmarks.WithLabelValues(c.metrics.group, c.metrics.resource).Inc()
			}
		}
		events := make([]*mvccpb.Event, len(resp.Events))
		for i, e := range resp.Events {
			events[i] = (*mvccpb.Event)(e)
		}
		s.apply(events)
	}
	return context.Cause(ctx)
}

// noteWatchStarted closes s.watching when the first watch has started.
func (s *Store) noteWatchStarted() {
	select {
	case <-s.watchStarted:
	default:
		close(s.watchStarted)
	}
}

// apply applies events of the watch, which must be all events of their revisions. The last
// revision is published as applied when all collections have published their states.
func (s *Store) apply(events []*mvccpb.Event) {
	if len(events) == 0 {
		return
	}
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	if len(events) == 1 { // the common case
		if c, key := s.route(events[0].Kv.Key); c != nil {
			c.apply([]keyEvent{{key: key, kv: events[0]}})
		}
	} else {
		batches := map[*Collection][]keyEvent{}
		for _, e := range events {
			if c, key := s.route(e.Kv.Key); c != nil {
				batches[c] = append(batches[c], keyEvent{key: key, kv: e})
			}
		}
		for c, batch := range batches {
			c.apply(batch)
		}
	}
	s.applied.advance(events[len(events)-1].Kv.ModRevision)
}
