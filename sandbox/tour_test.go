package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"

	"github.com/miniapiserver/miniapiserver/internal/pagetest"
	"github.com/miniapiserver/miniapiserver/internal/porttest"
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

// TestTour runs the commands of docs/sandbox.md with a real kubectl, and compares what they print with the page. A
// command that ends with & runs in the background.
func TestTour(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	text, err := os.ReadFile("../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := tour(string(text))
	shown := 0
	for _, step := range steps {
		if len(step.output) > 0 {
			shown++
		}
	}
	if len(steps) < 100 || shown < 50 {
		t.Errorf("found %d commands, %d with output", len(steps), shown)
	}
	for name, first := range map[string][]step{
		"now":            nil,
		"a day from now": {{command: `kubectl patch clock server --type merge -p '{"spec": {"offset": "24h"}}'`, output: []string{"clock.lab.miniapiserver.io/server patched"}}},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Nodes: 3}
			o.Server.Lab.Enabled = len(first) > 0
			runTour(t, Start(t, o), append(first, steps...))
		})
	}
}

// runTour runs the steps of the tour in a sandbox.
func runTour(t *testing.T, s *Sandbox, steps []step) {
	environment := kubectlEnvironment(t, s)
	for _, step := range steps {
		program, background := strings.CutSuffix(step.command, " &")
		c := exec.CommandContext(t.Context(), "sh", "-c", program)
		c.Env = environment
		if background {
			startInBackground(t, c)
			continue
		}
		out, err := c.CombinedOutput()
		t.Logf("$ %s\n%s", step.command, out)
		if err != nil {
			t.Fatalf("%s: %v", step.command, err)
		}
		if line := missingLine(step.output, string(out)); line != "" {
			t.Errorf("%s: the output has no line like %q", step.command, line)
		}
		if strings.Contains(step.command, "kind: NetworkPolicy") && !strings.Contains(string(out), "nothing enforces") {
			t.Error("no warning")
		}
	}
}

// TestLessons runs the commands of docs/lessons one after the other in one sandbox. Each lesson takes back what it did.
func TestLessons(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "miniapiserver"), "./cmd/miniapiserver")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	o := Options{}
	o.Server.Lab = server.Lab{Enabled: true, Page: -1}
	s := Start(t, o)
	if s.LabPage == "" {
		t.Error("the lab has no page")
	}
	environment := append(kubectlEnvironment(t, s), "TMPDIR="+t.TempDir())
	for i, entry := range environment {
		if path, found := strings.CutPrefix(entry, "PATH="); found {
			environment[i] = "PATH=" + dir + ":" + path
		}
	}
	for _, name := range pagetest.Lessons(t, "..") {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".md"), func(t *testing.T) {
			page := pagetest.ReadLesson(t, name)
			page.Steps = append([]pagetest.Step{{Command: pagetest.InstallLab}}, page.Steps...)
			r := pagetest.Runner{Dir: t.TempDir(), Home: t.TempDir(), Environment: environment, Port: porttest.Free(t)}
			if err := r.Run(t.Context(), page); err != nil {
				t.Errorf("%s:%v", name, err)
			}
		})
	}
}

// kubectlEnvironment returns an environment in which kubectl is the test's program and reaches a sandbox.
func kubectlEnvironment(t *testing.T, s *Sandbox) []string {
	t.Helper()
	dir := t.TempDir()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
	// The caches of Go stay where they are, although kubectl has another home.
	return append(os.Environ(), kubectlVariable+"=1", "HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"), "KUBECONFIG="+s.KubeconfigFile,
		"GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
}

// TestSceneCommands runs the commands that the scenes suggest.
func TestSceneCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a sandbox for each scene")
	}
	for _, scene := range []string{"web-shop", "broken"} {
		t.Run(scene, func(t *testing.T) {
			commands, err := SceneCommands(scene)
			if err != nil || len(commands) < 5 {
				t.Fatalf("%d commands, %v", len(commands), err)
			}
			environment := kubectlEnvironment(t, Start(t, Options{Scene: scene}))
			for _, command := range commands {
				c := exec.CommandContext(t.Context(), "sh", "-c", command)
				c.Env = environment
				out, err := c.CombinedOutput()
				t.Logf("$ %s\n%s", command, out)
				if err != nil || strings.Contains(string(out), "No resources found") {
					t.Errorf("%s: %v\n%s", command, err, out)
				}
			}
		})
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

// step is a command of a page and the lines that it prints there.
type step struct {
	command string
	output  []string
}

// tour returns the steps in the console blocks of a page. A command with a here document goes on until its end.
func tour(page string) []step {
	var steps []step
	for i, block := range strings.Split(page, "```console\n") {
		if i == 0 {
			continue
		}
		block, _, _ = strings.Cut(block, "\n```")
		for _, text := range strings.Split("\n"+block, "\n$ ")[1:] {
			end := "\n"
			if first, _, _ := strings.Cut(text, "\n"); strings.Contains(first, "<<'EOF'") {
				end = "\nEOF\n"
			}
			command, output, found := strings.Cut(text+"\n", end)
			if end != "\n" && found {
				command += "\nEOF"
			}
			next := step{command: command}
			if output = strings.TrimSpace(output); output != "" {
				next.output = strings.Split(output, "\n")
			}
			steps = append(steps, next)
		}
	}
	return steps
}

// missingLine is pagetest.MissingLine for outputs with generated names of pods and with nodes that a scheduler chose.
func missingLine(want []string, output string) string {
	return pagetest.MissingLine(want, output,
		pagetest.Volatile{Pattern: regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5,10}\b`), Text: "-ID"},
		pagetest.Volatile{Pattern: regexp.MustCompile(`\bnode-\d\b`), Text: "node-N"})
}

// TestMissingLine checks the comparison of the tour.
func TestMissingLine(t *testing.T) {
	const output = "NAME                   READY   AGE\nweb-5d59d67564-x7x4z   1/1     3s\nweb-5d59d67564-9zqxv   0/1     2m3s\ndata pvc-6dbdb2f8-0f46-4bf8-87df-790460bd63a7\n"
	for want, missing := range map[string]bool{
		"NAME READY AGE":                                false,
		"web-7c5ddbdf54-2xkqn 1/1 9m":                   false,
		"...\nweb-7c5ddbdf54-2xkqn 0/1 9m":              false,
		"web-7c5ddbdf54-2xkqn 2/1 9m":                   true,
		"web-7c5ddbdf54-2xkqn 1/1 9m\nNAME ...":         true,
		"NAME ...\nweb-7c5ddbdf54-2xkqn 0/1 ...":        false,
		"data pvc-bdda7c90-506a-4ea2-9ca9-06769786b997": false, // whose beginning is no generated name, but that of the other uid could be
	} {
		if got := missingLine(strings.Split(want, "\n"), output); (got != "") != missing {
			t.Errorf("%q: missing %q", want, got)
		}
	}
}
