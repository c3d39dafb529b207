package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	"github.com/miniapiserver/miniapiserver/internal/porttest"
)

// TestEndsWithParent checks that an etcd for envtest ends with the process that started it, even if
// that is killed, and removes the directory that envtest made for it.
func TestEndsWithParent(t *testing.T) {
	temp := t.TempDir()
	write := command(t, "envtest", "--bin-dir", temp)
	assets, err := write.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, write.stderr.String())
	}
	data := filepath.Join(temp, "k8s_test_framework_1")
	client, peer := fmt.Sprintf("127.0.0.1:%d", porttest.Free(t)), fmt.Sprintf("127.0.0.1:%d", porttest.Free(t))
	etcd := filepath.Join(strings.TrimSpace(string(assets)), asEtcd)
	parent := exec.Command("sh", "-c", `"$@" & echo started; wait`, "sh", etcd, "--data-dir="+data, "--unsafe-no-fsync",
		"--listen-client-urls=http://"+client, "--advertise-client-urls=http://"+client, "--listen-peer-urls=http://"+peer)
	parent.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+temp)
	out, err := parent.StdoutPipe()
	if err == nil {
		err = parent.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "etcd serves", func() bool { return listens(client) })
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	eventually.True(t, "etcd has ended and removed its directory", func() bool {
		_, err := os.Stat(data)
		return !listens(client) && os.IsNotExist(err)
	})
}

func listens(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// TestTestDirs checks that only directories of envtest are removed.
func TestTestDirs(t *testing.T) {
	t.Setenv("TMPDIR", "/tmp/x")
	got := testDirs([]string{"--data-dir=/tmp/x/k8s_test_framework_1", "--data-dir=/tmp/k8s_test_framework_2", "--data-dir=/tmp/x/data",
		"--cert-dir=/tmp/x/k8s_test_framework_3", "--wal-dir=/tmp/x/k8s_test_framework_4", "--data-dir", "/tmp/x/k8s_test_framework_5", "--data-dir=/tmp/x/k8s_test_framework_1/../.."})
	if want := []string{"/tmp/x/k8s_test_framework_1", "/tmp/x/k8s_test_framework_3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
