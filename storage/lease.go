package storage

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// leases hands out leases for keys that go away by themselves. Keys of the same
// TTL that are written shortly after one another share a lease, which lives a
// little longer for it.
type leases struct {
	mu    sync.Mutex
	byTTL map[int64]*sharedLease
}

type sharedLease struct {
	id    clientv3.LeaseID
	until time.Time // no new keys after it
	keys  int
}

const (
	leaseReuse = 60 * time.Second // at most, and at most a twentieth of the TTL
	leaseKeys  = 1000             // that share one
)

func (l *leases) get(ctx context.Context, s *Store, ttl time.Duration) (clientv3.LeaseID, error) {
	seconds := int64((ttl + time.Second - 1) / time.Second)
	reuse := min(leaseReuse, ttl/20).Truncate(time.Second)
	now := s.opts.Now()
	l.mu.Lock()
	if shared := l.byTTL[seconds]; shared != nil && now.Before(shared.until) && shared.keys < leaseKeys {
		shared.keys++
		l.mu.Unlock()
		return shared.id, nil
	}
	l.mu.Unlock()
	resp, err := s.client.Grant(ctx, seconds+int64(reuse/time.Second))
	if err != nil {
		return 0, s.readError(err) // nothing was written yet
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for other, shared := range l.byTTL {
		if !now.Before(shared.until) {
			delete(l.byTTL, other)
		}
	}
	if l.byTTL == nil {
		l.byTTL = map[int64]*sharedLease{}
	}
	l.byTTL[seconds] = &sharedLease{id: resp.ID, until: now.Add(reuse), keys: 1}
	return resp.ID, nil
}

// forget makes the next keys get leases of their own.
func (l *leases) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byTTL = nil
}
