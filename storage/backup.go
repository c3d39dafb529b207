package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/miniapiserver/miniapiserver/internal/safefile"
)

// SaveSnapshot writes a snapshot of a running etcd to a file that only its owner can read: of the
// cluster at o.Servers, or else of the embedded etcd in o.Dir, which a running server holds. The
// file is in the format of "etcdctl snapshot save". It gets its name when it is complete and
// verified. SaveSnapshot returns its size.
func SaveSnapshot(ctx context.Context, o Options, file string) (int64, error) {
	o = o.withDefaults()
	config, err := maintenanceConfig(ctx, &o)
	if err != nil {
		return 0, err
	}
	f, err := safefile.Create(file)
	if err != nil {
		return 0, fmt.Errorf("saving a snapshot: %w", err)
	}
	defer f.Discard()
	size, err := receiveSnapshot(ctx, config, f, o.Progress)
	if err != nil {
		return 0, fmt.Errorf("saving a snapshot of etcd at %s: %w", config.Endpoints[0], err)
	}
	if err := verifySnapshot(f.File, size); err != nil {
		return 0, &SnapshotError{file, err}
	}
	return size, f.Commit(0o600, true)
}

// receiveSnapshot writes a snapshot of the etcd to which config leads and returns its size.
func receiveSnapshot(ctx context.Context, config clientv3.Config, to io.Writer, progress progressFunc) (size int64, err error) {
	client, err := clientv3.New(config)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	status, err := client.Status(ctx, config.Endpoints[0])
	if err != nil {
		return 0, err
	}
	response, err := client.SnapshotWithVersion(ctx)
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(progress.counting(to, "saving a snapshot", status.DbSize), response.Snapshot)
	return size, errors.Join(err, response.Snapshot.Close())
}

// Defragment returns free space in the database of a running etcd, which is found as SaveSnapshot finds it,
// to the file system. Requests wait meanwhile. It returns the size of the database before and after.
func Defragment(ctx context.Context, o Options) (before, after int64, err error) {
	o = o.withDefaults()
	config, err := maintenanceConfig(ctx, &o)
	if err != nil {
		return 0, 0, err
	}
	client, err := clientv3.New(config)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	endpoint := config.Endpoints[0]
	size := func(to *int64) error {
		status, err := client.Status(ctx, endpoint)
		if err == nil {
			*to = status.DbSize
		}
		return err
	}
	if err = size(&before); err == nil {
		if _, err = client.Defragment(ctx, endpoint); err == nil {
			err = size(&after)
		}
	}
	if err != nil {
		err = fmt.Errorf("defragmenting etcd at %s: %w", endpoint, err)
	}
	return before, after, err
}

// maintenanceConfig returns the configuration of a client for the first member of the etcd of o
// that responds.
func maintenanceConfig(ctx context.Context, o *Options) (clientv3.Config, error) {
	logger := newZap(o.Logger, nil, func(error) {}, func(err error) { panic(err) })
	if len(o.Servers) == 0 {
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			return clientv3.Config{}, err
		}
		socket, err := maintenanceSocket(dir)
		if err != nil {
			return clientv3.Config{}, err
		}
		// A client of etcd would wait for a server that is not there.
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		switch {
		case errors.Is(err, os.ErrPermission):
			return clientv3.Config{}, fmt.Errorf("the server in %s belongs to another user: %w", dir, err)
		case err != nil:
			return clientv3.Config{}, fmt.Errorf("no server runs in %s: %w", dir, err)
		}
		return clientv3.Config{Endpoints: []string{"unix://" + socket}, Logger: logger}, conn.Close()
	}
	config, err := tlsConfig(o)
	if err != nil {
		return clientv3.Config{}, err
	}
	var errs []error
	for _, server := range o.Servers {
		c := clientv3.Config{Endpoints: []string{server}, TLS: config, Logger: logger,
			DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second}
		if err := probeMember(ctx, c); err != nil {
			errs = append(errs, err)
			continue
		}
		return c, nil
	}
	if why := probeEndpoints(ctx, o, config); why != nil {
		return clientv3.Config{}, fmt.Errorf("etcd %w: %w", ErrNoAnswer, why)
	}
	return clientv3.Config{}, fmt.Errorf("etcd at %s %w: %w", strings.Join(o.Servers, ","), ErrNoAnswer, errors.Join(errs...))
}

// probeMember returns nil if a member of etcd answers.
func probeMember(ctx context.Context, c clientv3.Config) error {
	client, err := clientv3.New(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = client.Status(ctx, c.Endpoints[0])
	return errors.Join(err, client.Close())
}

// RestoreSnapshot creates the data of an embedded etcd in a directory from a snapshot, so that a
// server can start there. The directory must have no data, and no server may run in it. Progress
// is that of Options.
func RestoreSnapshot(file, dir string, progress func(what string, done, total int64)) error {
	if err := safefile.MakeDir(dir, 0o700); err != nil {
		return fmt.Errorf("making the data directory: %w", err)
	}
	lock, err := lockEtcdDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(restoreSnapshot(file, dir, progress), lock.Close())
}
