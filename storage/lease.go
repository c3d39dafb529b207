package storage

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// leasePool grants leases for keys with a TTL. Keys with the same TTL that are written within a
// short time share a lease, which lives longer than the TTL by that time.
type leasePool struct {
	mu    sync.Mutex
	byTTL map[int64]*sharedLease

	keysOfLease prometheus.Observer // observes leases that take no more keys
}

type sharedLease struct {
	id    clientv3.LeaseID
	until time.Time // the lease takes no new keys after this time
	keys  int
}

const (
	leaseReuse = 60 * time.Second // upper limit; the other limit is a twentieth of the TTL
	leaseKeys  = 1000             // maximum number of keys of a lease
)

func (l *leasePool) get(ctx context.Context, s *Store, ttl time.Duration) (clientv3.LeaseID, error) {
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
		if !now.Before(shared.until) || other == seconds {
			l.keysOfLease.Observe(float64(shared.keys))
			delete(l.byTTL, other)
		}
	}
	if l.byTTL == nil {
		l.byTTL = map[int64]*sharedLease{}
	}
	l.byTTL[seconds] = &sharedLease{id: resp.ID, until: now.Add(reuse), keys: 1}
	return resp.ID, nil
}

// forget drops the shared leases, so that the next keys get new ones.
func (l *leasePool) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byTTL = nil
}
