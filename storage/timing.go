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
	r := &c.metrics.requests[op]
	r.total.Inc()
	r.duration.Observe(took.Seconds())
	if err != nil {
		names := [operations]string{opGet: "get", opList: "list", opCreate: "create", opUpdate: "update", opDelete: "delete"}
		c.metrics.store.requestErrors.WithLabelValues(c.metrics.group, c.metrics.resource, names[op]).Inc()
	}
	if scope := request.From(ctx); scope.Audit != nil {
		scope.Durations.Add(request.PartEtcd, took)
	}
}
