package storage

import (
	"context"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// observeEtcd adds the time since start to the time that an audited request has waited for
// etcd.
func observeEtcd(ctx context.Context, start time.Time) {
	if scope := request.From(ctx); scope.Audit != nil {
		scope.Durations.Add(request.PartEtcd, time.Since(start))
	}
}
