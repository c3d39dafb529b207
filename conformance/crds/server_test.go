package crds

import (
	"bufio"
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

// update is the flag that rewrites testdata.
var update = flag.Bool("update", false, "write what is found into testdata")

// binary is the path of the server, built from the surrounding module.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := withBinary(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withBinary builds the server for f.
func withBinary(f func() int) (int, error) {
	dir, err := os.MkdirTemp("", "crds")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "miniapiserver")
	build := exec.Command("go", "build", "-pgo=off", "-o", binary, "./cmd/miniapiserver")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	return f(), nil
}

// serve runs a server with the given flags until the test ends, and returns the administrator's
// kubeconfig.
func serve(t *testing.T, flags ...string) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	c := exec.Command(binary, append([]string{"--data-dir", data, "--secure-port", "0"}, flags...)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	t.Cleanup(func() {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, said) // Wait must follow the last read
		if err := c.Wait(); err != nil {
			t.Errorf("the server ends with %v", err)
		}
	})
	for line := ""; !strings.Contains(line, "is ready at"); {
		if line, err = said.ReadString('\n'); err != nil {
			t.Fatalf("the server says %q and then %v", line, err)
		}
	}
	return filepath.Join(data, "admin.kubeconfig")
}

// config returns a client configuration without client-side rate limits, which discards warnings.
func config(t *testing.T, kubeconfig string) *rest.Config {
	t.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c.QPS, c.WarningHandler = -1, rest.NoWarnings{}
	return c
}
