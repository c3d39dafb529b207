package storage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Results of a check, as in the label status of kube-apiserver's metric.
const (
	checkSucceeded = "success" // the cache has what etcd has
	checkFailed    = "failure" // it has not
	checkBroken    = "error"   // etcd could not be read
)

// checkPeriodically compares the caches with etcd in intervals that differ, so that servers on one etcd do not read it at
// the same time.
func (s *Store) checkPeriodically() {
	for {
		pause := s.opts.CheckInterval + rand.N(s.opts.CheckInterval/2+1)
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(pause):
			s.checkCaches(s.ctx)
		}
	}
}

// checkCaches compares all caches with etcd. If one differs, for which there is no reason but a fault of this program or of
// etcd, it fills all of them again. All watches end then.
func (s *Store) checkCaches(ctx context.Context) {
	s.applyMu.Lock()
	all := make([]*Collection, 0, len(s.routes))
	for _, c := range s.routes {
		all = append(all, c)
	}
	s.applyMu.Unlock()
	differs := false
	for _, c := range all {
		found, checked, err := c.differenceFromEtcd(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.metrics.checked(checkBroken)
			s.log.Warn("cannot compare a cache with etcd", "group", c.metrics.group, "resource", c.metrics.resource, "error", err)
		case found != "":
			differs = true
			c.metrics.checked(checkFailed)
			s.log.Error("a cache differs from etcd", "group", c.metrics.group, "resource", c.metrics.resource, "difference", found)
		case checked:
			c.metrics.checked(checkSucceeded)
		}
	}
	if differs {
		if err := s.reload(); err != nil && ctx.Err() == nil {
			s.log.Error("cannot fill the caches again", "error", err)
		}
	}
}

// differenceFromEtcd compares the keys and revisions in the cache with those in etcd at the revision that the cache has
// reached, and describes the first difference. checked is false if the cache is not filled yet.
func (c *Collection) differenceFromEtcd(ctx context.Context) (found string, checked bool, err error) {
	c.store.applyMu.Lock()
	state, rev, nested := c.current.Load(), c.store.applied.rev.Load(), []string(nil)
	own := c.config().Prefix + "/"
	for prefix, other := range c.store.routes {
		if other != c && strings.HasPrefix(prefix, own) {
			nested = append(nested, prefix[len(own):]+"/")
		}
	}
	c.store.applyMu.Unlock()
	if state == nil {
		return "", false, nil
	}
	n := 0
	_, err = c.store.scan(ctx, c.prefix, rev, true, func(kv *mvccpb.KeyValue) {
		key := string(kv.Key[len(c.prefix):])
		if key == "" || isBelow(key, nested) {
			return
		}
		n++
		switch item, ok := state.items.Get(key); {
		case found != "":
		case !ok:
			found = fmt.Sprintf("the cache lacks %s, which has revision %d", key, kv.ModRevision)
		case item.rev != kv.ModRevision:
			found = fmt.Sprintf("%s has revision %d in the cache and %d in etcd", key, item.rev, kv.ModRevision)
		}
	})
	if err == nil && found == "" && n != state.items.Len() {
		found = fmt.Sprintf("the cache has %d keys, etcd has %d", state.items.Len(), n)
	}
	return found, true, err
}

func isBelow(key string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}
