package storage

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/server/v3/embed"
)

// StartMember starts an etcd server that has listeners of its own, for a process that is
// etcd. It returns when the server has joined its cluster. A member that is alone becomes
// the leader at once.
func StartMember(ctx context.Context, cfg *embed.Config) (*embed.Etcd, error) {
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	e := &embeddedEtcd{etcd: etcd, server: etcd.Server}
	if len(e.server.Cluster().Members()) == 1 {
		err = e.becomeLeader(ctx)
	} else {
		err = waitForServer(ctx, e, e.server.ReadyNotify())
	}
	if err != nil {
		etcd.Close()
		return nil, fmt.Errorf("starting etcd in %s: %w", cfg.Dir, err)
	}
	return etcd, nil
}
