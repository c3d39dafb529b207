package storage

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// loadPage is how many keys are read at a time.
const loadPage = 1000

// load reads everything below the prefix, as of one revision, into the caches
// of all collections; s.applyMu is held. It is also how the caches recover when
// etcd compacted what they had still to see: watchers end then, for nobody
// knows what they missed.
func (s *Store) load(ctx context.Context) error {
	fresh := map[*Collection]*state{}
	for _, c := range s.routes {
		fresh[c] = newState(len(c.kind().Index))
	}
	empty := true
	rev, err := s.scan(ctx, s.opts.Prefix+"/", 0, func(kv *mvccpb.KeyValue) {
		empty = false
		if c, key := s.route(kv.Key); c != nil {
			fresh[c].load(c.reuse(key, kv))
		}
	})
	if err != nil {
		return err
	}
	if !s.started {
		s.wasEmpty = empty
	}
	for c, st := range fresh {
		c.install(st, rev)
	}
	s.applied.advance(rev)
	return nil
}

// scan calls f with all keys that begin with prefix, as of revision rev or, if
// that is 0, of the current one, and returns the revision.
func (s *Store) scan(ctx context.Context, prefix string, rev int64, f func(*mvccpb.KeyValue)) (int64, error) {
	from, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	for {
		resp, err := s.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(loadPage), clientv3.WithRev(rev))
		if err != nil {
			return 0, s.readError(err)
		}
		for _, kv := range resp.Kvs {
			f(kv)
		}
		if rev == 0 {
			rev = resp.Header.Revision
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return rev, nil
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}

// route finds the collection of a key of etcd, that with the longest prefix,
// and the key in it; s.applyMu is held.
func (s *Store) route(full []byte) (found *Collection, key string) {
	if len(full) <= len(s.opts.Prefix) || string(full[:len(s.opts.Prefix)]) != s.opts.Prefix {
		return nil, ""
	}
	rest := full[len(s.opts.Prefix)+1:]
	at := 0
	for i, b := range rest {
		if b == '/' {
			if c := s.routes[string(rest[:i])]; c != nil {
				found, at = c, i+1
			}
		}
	}
	if found == nil || at == len(rest) {
		return nil, ""
	}
	return found, string(rest[at:])
}

// follow keeps the one watch on etcd going.
func (s *Store) follow() {
	const most = time.Second
	pause := 10 * time.Millisecond
	for s.ctx.Err() == nil {
		before := s.applied.current()
		err := s.followGuarded()
		switch {
		case errors.Is(err, rpctypes.ErrCompacted):
			s.log.Warn("etcd compacted what the cache had not seen yet, loading it again")
			err = s.reload()
		case errors.Is(err, recovery.ErrPanic): // nobody knows what of it was taken in
			err = s.reload()
		}
		if s.ctx.Err() != nil {
			return
		}
		if err != nil {
			s.log.Debug("following etcd", "error", err)
		}
		if s.applied.current() > before {
			pause = 10 * time.Millisecond
		}
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
		}
		pause = min(2*pause, most)
	}
}

func (s *Store) reload() error {
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	return s.load(s.ctx)
}

// following is the one watch on an etcd that is not embedded, as long as it lasts.
type following struct {
	ctx     context.Context
	watcher clientv3.Watcher
}

// followGuarded is followOnce, of which a panic is an error.
func (s *Store) followGuarded() (err error) {
	defer recovery.Into(s.log, "following etcd", &err)
	return s.followOnce()
}

// followOnce applies what one watch brings until that ends.
func (s *Store) followOnce() error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(s.ctx))
	defer cancel()
	s.cut.Store(&cancel)
	if s.embedded != nil {
		return s.embedded.follow(ctx, s)
	}
	// A watcher of its own has a connection of its own choice, and nothing of
	// it is left when it ends.
	f := &following{ctx: ctx, watcher: clientv3.NewWatcher(s.client)}
	defer f.watcher.Close()
	s.following.Store(f)
	for resp := range f.watcher.Watch(ctx, s.opts.Prefix+"/", clientv3.WithPrefix(), clientv3.WithProgressNotify(),
		clientv3.WithRev(s.applied.current()+1), clientv3.WithCreatedNotify()) {
		if err := resp.Err(); err != nil {
			return err
		}
		s.silence.hear()
		if resp.Created {
			s.begun()
		}
		if resp.IsProgressNotify() {
			s.applied.advance(resp.Header.Revision)
		}
		events := make([]*mvccpb.Event, len(resp.Events))
		for i, e := range resp.Events {
			events[i] = (*mvccpb.Event)(e)
		}
		s.apply(events)
	}
	return context.Cause(ctx)
}

// begun says that there is a watch.
func (s *Store) begun() {
	select {
	case <-s.watching:
	default:
		close(s.watching)
	}
}

// apply takes in events of the watch, which are complete for the revisions that
// they span; that of the last one is reached once all collections have published
// theirs.
func (s *Store) apply(events []*mvccpb.Event) {
	if len(events) == 0 {
		return
	}
	s.applyMu.Lock()
	defer s.applyMu.Unlock()
	if len(events) == 1 { // nearly always
		if c, key := s.route(events[0].Kv.Key); c != nil {
			c.apply([]change{{key: key, kv: events[0]}})
		}
	} else {
		batches := map[*Collection][]change{}
		for _, e := range events {
			if c, key := s.route(e.Kv.Key); c != nil {
				batches[c] = append(batches[c], change{key: key, kv: e})
			}
		}
		for c, batch := range batches {
			c.apply(batch)
		}
	}
	s.applied.advance(events[len(events)-1].Kv.ModRevision)
}

// fullKey is the key in etcd.
func (c *Collection) fullKey(key string) string { return c.prefix + key }

// checkKey keeps keys where the collection finds them again.
func checkKey(key string) error {
	if key == "" || strings.HasPrefix(key, "/") || strings.HasSuffix(key, "/") {
		return errors.New("storage: malformed key " + key)
	}
	return nil
}
