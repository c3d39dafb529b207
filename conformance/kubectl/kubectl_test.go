package kubectl

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

// TestMain runs kubectl if the test binary is called by that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kubectl": func() { os.Exit(cli.Run(cmd.NewDefaultKubectlCommand())) },
	})
}

// TestSessions runs the scripts.
func TestSessions(t *testing.T) {
	binary := build(t)
	snapshot, err := filepath.Abs(snapshotFile)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			p := &process{binary: binary, dir: filepath.Join(env.WorkDir, "data"), log: filepath.Join(env.WorkDir, "server.log")}
			other := &process{binary: binary, dir: filepath.Join(env.WorkDir, "otherdata"), log: filepath.Join(env.WorkDir, "other.log")}
			env.Values[processKey("miniapiserver")], env.Values[processKey("other")] = p, other
			env.Defer(func() { _, _ = p.end(os.Kill), other.end(os.Kill) })
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("KUBECONFIG", p.kubeconfig())
			env.Setenv("SNAPSHOT", snapshot)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"miniapiserver": control("miniapiserver"), "other": control("other"), "until": until,
		},
	})
}

// build builds the server and returns the path of its binary.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "miniapiserver")
	c := exec.CommandContext(t.Context(), "go", "build", "-pgo=off", "-o", binary, "./cmd/miniapiserver")
	c.Dir = filepath.Join("..", "..")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	return binary
}
