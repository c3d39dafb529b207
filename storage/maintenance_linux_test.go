package storage

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMaintenanceSocketRefusesOthers connects to the socket as another user, to whom all
// directories above it are open.
func TestMaintenanceSocketRefusesOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	openStore(t, Options{Dir: dir})
	connect := func() error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Connect(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, MaintenanceSocket)})
	}
	if err := connect(); err != nil {
		t.Errorf("as the owner: %v", err)
	}
	runtime.LockOSThread() // the user for file access is one of the thread
	defer runtime.UnlockOSThread()
	if err := unix.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	public, listenErr := net.Listen("unix", filepath.Join(dir, "public"))
	err := connect()
	if restore := unix.Setfsuid(0); restore != nil {
		t.Fatal(restore)
	}
	if listenErr == nil {
		t.Error("the user for file access is still root", public.Close())
	}
	if !errors.Is(err, unix.EACCES) {
		t.Errorf("as another user: %v", err)
	}
}
