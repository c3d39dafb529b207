package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"

	"github.com/miniapiserver/miniapiserver/server"
)

// kubectlVariable makes the test binary kubectl.
const kubectlVariable = "SANDBOX_TEST_KUBECTL"

func TestMain(m *testing.M) {
	if os.Getenv(kubectlVariable) != "" {
		os.Exit(cli.Run(cmd.NewDefaultKubectlCommand()))
	}
	// Tests that call New need the newest release, whichever test runs first: an older one runs in a child.
	if err := chooseRelease(server.Options{}); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestTour runs the commands of docs/sandbox.md with a real kubectl. A command that ends with & runs in
// the background.
func TestTour(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	text, err := os.ReadFile("../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := tour(string(text))
	if len(commands) < 50 {
		t.Fatalf("found %d commands", len(commands))
	}
	s := Start(t, Options{Nodes: 3})
	dir := t.TempDir()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
	// The caches of Go stay where they are, although kubectl has another home.
	environment := append(os.Environ(), kubectlVariable+"=1", "HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"), "KUBECONFIG="+s.KubeconfigFile,
		"GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
	for _, command := range commands {
		program, background := strings.CutSuffix(command, " &")
		c := exec.CommandContext(t.Context(), "sh", "-c", program)
		c.Env = environment
		if background {
			startInBackground(t, c)
			continue
		}
		out, err := c.CombinedOutput()
		t.Logf("$ %s\n%s", command, out)
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		if strings.Contains(command, "kind: NetworkPolicy") && !strings.Contains(string(out), "nothing enforces") {
			t.Error("no warning")
		}
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// startInBackground starts a command, and ends it and its children when the test ends.
func startInBackground(t *testing.T, c *exec.Cmd) {
	t.Helper()
	c.Stdout, c.Stderr = t.Output(), t.Output()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Cancel()
		_ = c.Wait() // was ended
	})
}

// tour returns the commands in the console blocks of a page. One with a here document goes on
// until its end.
func tour(page string) []string {
	var commands []string
	for i, block := range strings.Split(page, "```console\n") {
		if i == 0 {
			continue
		}
		block, _, _ = strings.Cut(block, "\n```")
		for _, command := range strings.Split("\n"+block, "\n$ ")[1:] {
			commands = append(commands, command)
		}
	}
	return commands
}
