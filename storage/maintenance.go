package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// MaintenanceSocket is the name of the Unix socket in the directory of an embedded etcd, where it
// serves etcd's Maintenance API, for backups of a running server. The user of the server and root
// can connect to it, as they can read the database itself.
const MaintenanceSocket = "maintenance.sock"

// maxSocketPath is the maximum length of the path of a Unix socket on all systems: 103 bytes on
// macOS, 107 on Linux.
const maxSocketPath = 103

// maintenanceSocket returns the path of the socket of an etcd in dir. An error means that the path
// is too long for a socket.
func maintenanceSocket(dir string) (string, error) {
	path := filepath.Join(dir, MaintenanceSocket)
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("the path of the socket %s has %d bytes, and a socket can have at most %d: use a shorter data directory",
			path, len(path), maxSocketPath)
	}
	return path, nil
}

// maintenanceServer serves the methods of etcd's Maintenance API that read the database or
// defragment it. It serves no keys, because writes to them would bypass the API server.
type maintenanceServer struct {
	pb.UnimplementedMaintenanceServer
	etcd       pb.MaintenanceServer
	defragment func() error

	path string
	grpc *grpc.Server
	wg   sync.WaitGroup
}

// serveMaintenance serves e on the socket in its directory, until close.
func serveMaintenance(e *embeddedEtcd, log *slog.Logger) (*maintenanceServer, error) {
	path, err := maintenanceSocket(e.dir)
	if err != nil {
		return nil, err
	}
	l, err := listenPrivately(path)
	if err != nil {
		return nil, err
	}
	m := &maintenanceServer{
		etcd:       v3rpc.NewMaintenanceServer(e.server, nil),
		defragment: e.defragmentNow,
		path:       path,
		grpc: grpc.NewServer(
			grpc.WaitForHandlers(true), // because the database is closed next
			grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (resp any, err error) {
				defer recovery.Into(log, "the maintenance API", &err)
				return handle(ctx, req)
			}),
			grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
				defer recovery.Into(log, "the maintenance API", &err)
				return handle(srv, stream)
			}),
		),
	}
	pb.RegisterMaintenanceServer(m.grpc, m)
	m.wg.Go(func() {
		// Serve returns when close stops it, or when the socket fails.
		if err := recovery.Call(log, "the maintenance API", func() { _ = m.grpc.Serve(l) }); err != nil {
			_ = l.Close()
		}
	})
	return m, nil
}

// listenPrivately listens at a Unix socket to which only its owner can connect. It replaces the
// socket of a process that was killed. The caller holds the lock of the directory.
func listenPrivately(path string) (net.Listener, error) {
	// A socket has the permissions of the process's umask until they are changed. In a private
	// directory nobody can connect to it before. The name of the directory is short, so that the
	// path in it is no longer than that of the socket.
	private := filepath.Join(filepath.Dir(path), ".s"+rand.Text()[:6])
	if err := os.Mkdir(private, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	temp := filepath.Join(private, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: temp, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the socket gets another name
	if err = os.Chmod(temp, 0o600); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Snapshot streams the database and then its SHA-256.
func (m *maintenanceServer) Snapshot(r *pb.SnapshotRequest, stream pb.Maintenance_SnapshotServer) error {
	return m.etcd.Snapshot(r, stream)
}

// Status returns the version, the size and the revision of the database.
func (m *maintenanceServer) Status(ctx context.Context, r *pb.StatusRequest) (*pb.StatusResponse, error) {
	return m.etcd.Status(ctx, r)
}

// HashKV returns a hash of all keys, by which a restored database can be compared.
func (m *maintenanceServer) HashKV(ctx context.Context, r *pb.HashKVRequest) (*pb.HashKVResponse, error) {
	return m.etcd.HashKV(ctx, r)
}

// Defragment returns the free space in the database to the file system. Requests wait
// meanwhile.
func (m *maintenanceServer) Defragment(context.Context, *pb.DefragmentRequest) (*pb.DefragmentResponse, error) {
	if err := m.defragment(); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &pb.DefragmentResponse{}, nil
}

// close ends the requests that are being served and removes the socket.
func (m *maintenanceServer) close() error {
	m.grpc.Stop()
	m.wg.Wait()
	if err := os.Remove(m.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the socket of the maintenance API: %w", err)
	}
	return nil
}
