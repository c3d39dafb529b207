package storage

import (
	"context"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// observeEtcd counts a request to etcd that began at start, and adds its duration to the time
// that an audited request has waited for etcd.
func (c *Collection) observeEtcd(ctx context.Context, op operation, start time.Time, err error) {
	took := time.Since(start)
	c.metrics.request(op, took, err)
	if scope := request.From(ctx); scope.Audit != nil {
		scope.Durations.Add(request.PartEtcd, took)
	}
}
