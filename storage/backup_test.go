package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestSaveSnapshot saves a snapshot of a store that is written to, and restores it. Every write
// that was acknowledged before must be there, and of the later ones a prefix.
func TestSaveSnapshot(t *testing.T) {
	dir := t.TempDir()
	_, c := startStore(t, Options{Dir: dir})
	ctx, stop := context.WithCancel(t.Context())
	var written atomic.Int64
	enough, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ctx.Err() == nil; n++ {
			if _, err := c.Create(ctx, fmt.Sprintf("a/%06d", n), configMap(fmt.Sprintf("a/%06d", n), "1")); err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
			if written.Store(int64(n + 1)); n == 200 {
				close(enough)
			}
		}
	}()
	<-enough
	before := written.Load()
	file := filepath.Join(t.TempDir(), "backup.db")
	size, err := SaveSnapshot(t.Context(), Options{Dir: dir}, file)
	stop()
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Size() != size || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v, size %d", info, err, size)
	}
	if files, err := os.ReadDir(filepath.Dir(file)); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v %v", files, err)
	}

	if err := RestoreSnapshot(file, dir, nil); err == nil || !strings.Contains(err.Error(), "in use by another server") {
		t.Errorf("restored into the directory of a running server: %v", err)
	}
	restored := filepath.Join(t.TempDir(), "etcd")
	if err := RestoreSnapshot(file, restored, nil); err != nil {
		t.Fatal(err)
	}
	var refused *SnapshotError
	if err := RestoreSnapshot(file, restored, nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("restored twice: %v", err)
	}
	_, c = startStore(t, Options{Dir: restored})
	keys := listedKeys(mustList(t, c, ListOptions{}))
	if len(keys) < int(before) {
		t.Errorf("%d of %d objects", len(keys), before)
	}
	for n, key := range keys {
		if key != fmt.Sprintf("a/%06d", n) {
			t.Fatalf("object %d is %s", n, key)
		}
	}
}

// TestSaveSnapshotOfCluster saves a snapshot of an etcd that requires certificates, whose first
// endpoint does not answer.
func TestSaveSnapshotOfCluster(t *testing.T) {
	a := newAuthority(t)
	addr := secureEtcd(t, a)
	cert, key := a.issue("client", leafTemplate())
	o := Options{Servers: []string{"https://127.0.0.1:1", addr}, CAFile: a.file, CertFile: cert, KeyFile: key}
	_, c := startStore(t, o)
	mustCreate(t, c, "a/x", "1")
	file := filepath.Join(t.TempDir(), "backup.db")
	if _, err := SaveSnapshot(t.Context(), o, file); err != nil {
		t.Fatal(err)
	}
	_, c = startStore(t, Options{SnapshotFile: file})
	if keys := listedKeys(mustList(t, c, ListOptions{})); len(keys) != 1 || keys[0] != "a/x" {
		t.Errorf("restored %v", keys)
	}
	o.CertFile, o.KeyFile = "", ""
	if _, err := SaveSnapshot(t.Context(), o, file); !errors.Is(err, ErrNoAnswer) || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("without a certificate: %v", err)
	}
}

// TestSaveSnapshotFails checks the reasons that errors give, and that no file is left behind.
func TestSaveSnapshotFails(t *testing.T) {
	running, temp := t.TempDir(), t.TempDir()
	openStore(t, Options{Dir: running})
	full := filepath.Join(temp, "full")
	if err := os.MkdirAll(filepath.Join(full, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]struct{ dir, file string }{
		"no server runs in " + temp: {temp, filepath.Join(temp, "x")},
		"no such file or directory": {running, filepath.Join(temp, "none", "x")},
		"file exists":               {running, full}, // a directory
	} {
		if _, err := SaveSnapshot(t.Context(), Options{Dir: f.dir}, f.file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if files, err := os.ReadDir(temp); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v %v", files, err)
	}
}

// TestMaintenanceSocket checks that the socket serves no keys, that the socket of a process that
// was killed is no obstacle, and that a closed store has none.
func TestMaintenanceSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, MaintenanceSocket)
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, Options{Dir: dir})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + path}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if r, err := client.Status(t.Context(), client.Endpoints()[0]); err != nil || r.DbSize == 0 {
		t.Errorf("status: %v %v", r, err)
	}
	if _, err := client.HashKV(t.Context(), client.Endpoints()[0], 0); err != nil {
		t.Error(err)
	}
	if before, after, err := Defragment(t.Context(), Options{Dir: dir}); err != nil || after == 0 || after > before {
		t.Errorf("defragmented from %d to %d bytes, %v", before, after, err)
	}
	var told []int64
	o := Options{Dir: dir, Progress: func(_ string, done, total int64) { told = append(told, done, total) }}
	if size, err := SaveSnapshot(t.Context(), o, filepath.Join(t.TempDir(), "x")); err != nil || len(told) < 2 || told[0] > size || told[1] == 0 {
		t.Errorf("progress of a snapshot of %d bytes: %v, %v", size, told, err)
	}
	if text := shownMetrics(t, s); !strings.Contains(text, "etcd_disk_backend_defrag_duration_seconds 1\n") {
		t.Errorf("the defragmentation is not counted:\n%s", text)
	}
	_, getErr := client.Get(t.Context(), "/")
	_, putErr := client.Put(t.Context(), "/x", "")
	_, alarmErr := client.AlarmList(t.Context())
	for _, err := range []error{getErr, putErr, alarmErr} {
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("got %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}
}

// TestLongSocketPath checks that a directory whose path is too long for a socket is served, with
// a warning that names the reason, and that a client gets the same reason.
func TestLongSocketPath(t *testing.T) {
	dir := t.TempDir()
	for len(dir)+1+len(MaintenanceSocket) <= maxSocketPath {
		dir = filepath.Join(dir, "directory")
	}
	var log strings.Builder
	s := openStore(t, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const reason = "use a shorter data directory"
	if text := log.String(); strings.Count(text, reason) != 1 || !strings.Contains(text, "no maintenance API") {
		t.Errorf("logged %q", text)
	}
	if _, err := maintenanceConfig(t.Context(), &Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("a client gets %v", err)
	}
}

// TestLongestSocketPath checks that a path of the maximum length works.
func TestLongestSocketPath(t *testing.T) {
	dir := t.TempDir()
	if missing := maxSocketPath - len(filepath.Join(dir, "d", MaintenanceSocket)); missing >= 0 {
		dir = filepath.Join(dir, "d"+strings.Repeat("d", missing))
	} else {
		t.Skip("the directory for temporary files has a long path")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path, err := maintenanceSocket(dir)
	if err != nil || len(path) != maxSocketPath {
		t.Fatal(path, err)
	}
	l, err := listenPrivately(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}
