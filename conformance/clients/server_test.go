package clients

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// process is a server built from the surrounding module.
type process struct {
	binary, dir string
	port        int
	cmd         *exec.Cmd
}

// buildServer builds the server and chooses its directory and port.
func buildServer(t *testing.T) *process {
	t.Helper()
	p := &process{binary: filepath.Join(t.TempDir(), "miniapiserver"), dir: filepath.Join(t.TempDir(), "data")}
	build := exec.CommandContext(t.Context(), "go", "build", "-pgo=off", "-o", p.binary, "./cmd/miniapiserver")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p.port = l.Addr().(*net.TCPAddr).Port
	t.Cleanup(p.kill)
	return p
}

// start starts the server and returns when it is ready.
func (p *process) start(t *testing.T) {
	t.Helper()
	p.cmd = exec.Command(p.binary, "--data-dir", p.dir, "--secure-port", fmt.Sprint(p.port), "--etcd-compaction-interval", history.String())
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	for line := ""; !strings.Contains(line, "is ready at"); {
		if line, err = said.ReadString('\n'); err != nil {
			t.Fatalf("the server ends with %v after %q", err, line)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // ends when the process exits
}

// kill kills the server by SIGKILL.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // returns an error because the process was killed
	p.cmd = nil
}

// config returns the administrator's client configuration without client-side rate limits.
func (p *process) config(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(p.dir, "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
