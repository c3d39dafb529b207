package crds

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// update writes what is found into testdata.
var update = flag.Bool("update", false, "write what is found into testdata")

// kubeconfig is the administrator's, on the server of all tests.
var kubeconfig string

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := withServer(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withServer builds the server from the module around this one, and runs it as
// long as f takes.
func withServer(f func() int) (code int, err error) {
	dir, err := os.MkdirTemp("", "crds")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary, data := filepath.Join(dir, "miniapiserver"), filepath.Join(dir, "data")
	build := exec.Command("go", "build", "-o", binary, "./cmd/miniapiserver")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	ctx, stop := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, binary, "--data-dir", data, "--secure-port", "0")
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		stop()
		return 0, err
	}
	defer func() {
		stop()
		if ended := c.Wait(); ended != nil && ctx.Err() == nil && err == nil {
			err = ended
		}
	}()
	said := bufio.NewReader(out)
	for line := ""; !strings.Contains(line, "is ready at"); {
		if line, err = said.ReadString('\n'); err != nil {
			return 0, fmt.Errorf("the server ends with %w after %q", err, line)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // ends with the process
	kubeconfig = filepath.Join(data, "admin.kubeconfig")
	return f(), nil
}

// config is the administrator's access, without limits of the client's own;
// warnings are not shown.
func config(t *testing.T) *rest.Config {
	t.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c.QPS, c.WarningHandler = -1, rest.NoWarnings{}
	return c
}
