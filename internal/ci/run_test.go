package ci

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// machine is a checkout with a build cache, on which make is a script that records its targets.
type machine struct {
	t                     *testing.T
	checkout, bin, caches string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if _, err := exec.LookPath("timeout"); err != nil {
		t.Skip(err) // macOS has none; integration runs on Linux
	}
	m := &machine{t: t, checkout: t.TempDir(), bin: t.TempDir(), caches: t.TempDir()}
	script, err := os.ReadFile(filepath.Join("..", "..", ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	m.write(filepath.Join(m.checkout, ".ci", "run"), string(script))
	m.write(filepath.Join(m.bin, "git"), "#!/bin/sh\necho 1234567\n")
	m.write(filepath.Join(m.bin, "make"), `#!/bin/sh
echo "$1${GOFLAGS:+ with}$GOFLAGS" >>made
if [ "$1" = "$HANGS" ]; then echo $$ >pid && mv pid hanging && exec sleep infinity; fi
if [ "$1" = "$FAILS" ]; then
	while [ -n "$HANGS" ] && [ ! -e hanging ]; do sleep 0.01; done
	exit 2
fi
`)
	return m
}

func (m *machine) write(file, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) record() string {
	return filepath.Join(m.caches, "miniapiserver-ci", "sandbox-tests")
}

// run runs the script with variables and returns its last line, its sorted targets of make, and its status.
func (m *machine) run(variables ...string) (last string, targets []string, status int) {
	m.t.Helper()
	c := exec.Command(filepath.Join(m.checkout, ".ci", "run"))
	c.Env = append(os.Environ(), "GOFLAGS=", "PATH="+m.bin+":"+os.Getenv("PATH"), "GOCACHE="+filepath.Join(m.caches, "go-build"))
	c.Env = append(c.Env, variables...)
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		m.t.Fatal(err)
	}
	made := filepath.Join(m.checkout, "made")
	text, err := os.ReadFile(made)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := os.Remove(made); err != nil {
		m.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	targets = strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(targets) // two run at the same time
	return lines[len(lines)-1], targets, c.ProcessState.ExitCode()
}

// age makes the record older.
func (m *machine) age(by time.Duration) {
	m.t.Helper()
	at := time.Now().Add(-by)
	if err := os.Chtimes(m.record(), at, at); err != nil {
		m.t.Fatal(err)
	}
}

func TestRunAll(t *testing.T) {
	m := newMachine(t)
	_, targets, status := m.run()
	want := "build-sandbox-tests with -vet=off, check, test with -vet=off, test-sandbox-short with -vet=off"
	if got := strings.Join(targets, ", "); status != 0 || got != want {
		t.Errorf("status %d, %s; want %s", status, got, want)
	}
	if text, err := os.ReadFile(m.record()); err != nil || string(text) != "passed in 1234567\n" {
		t.Errorf("record: %q, %v", text, err)
	}
}

// TestRunWithoutSandbox checks the last line and the status of runs in which the tests of the
// sandbox are not built in time.
func TestRunWithoutSandbox(t *testing.T) {
	m := newMachine(t)
	expect := func(wantStatus int, words ...string) {
		t.Helper()
		last, targets, status := m.run("HANGS=build-sandbox-tests", "CI_BUILD_SECONDS=1")
		if status != wantStatus {
			t.Errorf("status %d, want %d", status, wantStatus)
		}
		for _, w := range words {
			if !strings.Contains(last, w) {
				t.Errorf("the last line is %q, want %q", last, w)
			}
		}
		if strings.Contains(strings.Join(targets, " "), "test-sandbox-short") {
			t.Errorf("targets: %v", targets)
		}
	}
	expect(0, "NOT TESTED: the sandbox", "never passed")
	m.age(23 * time.Hour)
	expect(0, "NOT TESTED: the sandbox", "never passed")
	m.age(25 * time.Hour)
	expect(1, "FAIL: NOT TESTED: the sandbox", "never passed", "more than a day ago")

	if last, _, status := m.run(); status != 0 {
		t.Fatalf("status %d: %s", status, last)
	}
	expect(0, "NOT TESTED: the sandbox", "passed in 1234567")
	m.age(25 * time.Hour)
	expect(1, "FAIL: NOT TESTED: the sandbox", "passed in 1234567", "more than a day ago")
}

// TestRunFails checks that a run fails with each of its targets, and leaves the record of an earlier run.
func TestRunFails(t *testing.T) {
	for _, target := range []string{"check", "test", "build-sandbox-tests", "test-sandbox-short"} {
		m := newMachine(t)
		m.write(m.record(), "passed in 7654321\n")
		_, targets, status := m.run("FAILS=" + target)
		if all := strings.Join(targets, " "); status != 2 || target != "test-sandbox-short" && strings.Contains(all, "test-sandbox-short") {
			t.Errorf("%s: status %d, targets %s", target, status, all)
		}
		if text, err := os.ReadFile(m.record()); err != nil || string(text) != "passed in 7654321\n" {
			t.Errorf("%s: record %q, %v", target, text, err)
		}
	}
}

// TestRunEndsBuild checks that a run whose tests fail does not leave the build of the sandbox behind.
func TestRunEndsBuild(t *testing.T) {
	m := newMachine(t)
	if _, _, status := m.run("HANGS=build-sandbox-tests", "FAILS=test"); status != 2 {
		t.Errorf("status %d", status)
	}
	text, err := os.ReadFile(filepath.Join(m.checkout, "hanging"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the build still runs: %v", err)
	}
}
