package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// output is what a program has written so far.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

// program is a run of this program in the process of a test.
type program struct {
	stdout, stderr output
	end            context.CancelFunc
	ended          chan error
}

// begin runs the program and waits until its sandbox is ready.
func begin(t *testing.T, args ...string) *program {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	p := &program{end: end, ended: make(chan error, 1)}
	t.Cleanup(end)
	go func() { p.ended <- run(ctx, args, &p.stdout, &p.stderr) }()
	deadline := time.After(time.Minute)
	for !strings.Contains(p.stdout.String(), "Stop with Ctrl-C") {
		select {
		case err := <-p.ended:
			t.Fatalf("%v: %v\n%s", args, err, p.stderr.String())
		case <-deadline:
			t.Fatalf("%v: not ready\n%s", args, p.stderr.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return p
}

// stop ends the program, which must not have logged an error.
func (p *program) stop(t *testing.T) {
	t.Helper()
	p.end()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(p.stderr.String()) {
		if !strings.Contains(line, "duplicate metrics collector registration") { // a process of its own runs once
			t.Errorf("the program logs %s", line)
		}
	}
}

// TestScene checks that a scene loads without an error, that of the faults included, and that the program prints what
// to try with it.
func TestScene(t *testing.T) {
	p := begin(t, "--scene=broken")
	if text := p.stdout.String(); !strings.Contains(text, "    kubectl describe hpa --namespace=fault-10\n") || strings.Contains(text, "create deployment") {
		t.Errorf("got %s", text)
	}
	p.stop(t)
}

// TestNamed checks that a named sandbox has the same data, port and kubeconfig file at each start, one process at a
// time, until it is deleted.
func TestNamed(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	access := func(p *program) string {
		return strings.Join(regexp.MustCompile(`https://[0-9.:]+|KUBECONFIG=\S+`).FindAllString(p.stdout.String(), -1), " ")
	}
	listed := func(want string) {
		t.Helper()
		var out bytes.Buffer
		if err := run(t.Context(), []string{"list"}, &out, io.Discard); err != nil || !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("list: %v\n%swant %s", err, out.String(), want)
		}
	}
	listed(`^NAME +STATUS +PID +URL +KUBECONFIG\n$`)
	p := begin(t, "--name=demo")
	first := access(p)
	listed(`\ndemo +running +\d+ +https://127\.0\.0\.1:\d+ +/\S+/demo/data/admin.kubeconfig\n$`)
	if err := run(t.Context(), []string{"--name=demo"}, io.Discard, io.Discard); err == nil || !regexp.MustCompile(`--name demo: process \d+ runs this sandbox`).MatchString(err.Error()) {
		t.Errorf("a second start: %v", err)
	}
	p.stop(t)
	listed(`\ndemo +stopped +- +https`)
	p = begin(t, "--name=demo")
	if second := access(p); first == "" || second != first {
		t.Errorf("got %s, want %s", second, first)
	}
	var out bytes.Buffer // delete stops a sandbox that runs
	if err := run(t.Context(), []string{"delete", "demo"}, &out, io.Discard); err != nil || out.String() != "Deleted sandbox \"demo\".\n" {
		t.Errorf("delete: %q, %v", out.String(), err)
	}
	p.stop(t)
	listed(`KUBECONFIG\n$`)
}

// TestNamedErrors checks the errors of names.
func TestNamedErrors(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	for want, args := range map[string][]string{
		`--name "../x": want`:           {"--name=../x"},
		"want one of them":              {"--name=a", "--data-dir=b"},
		`there is no sandbox "absent"`:  {"delete", "absent"},
		"want the name":                 {"delete"},
		`list: unexpected argument "x"`: {"list", "x"},
		`unexpected argument "x"`:       {"x"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", args, err, want)
		}
	}
}

// TestVersion checks that the program prints its version and that of Kubernetes.
func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--version"}, &out, io.Discard); err != nil || !regexp.MustCompile(`^miniapiserver-sandbox \S+, Kubernetes v1\.\d+\.\d+\n$`).MatchString(out.String()) {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// TestWithoutNoise checks which errors of the components are shown.
func TestWithoutNoise(t *testing.T) {
	for _, retries := range []bool{false, true} {
		var out bytes.Buffer
		log := logr.FromSlogHandler(withoutNoise{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError}), retries})
		log.Error(nil, "The manifest file is empty, ignoring.")
		log.Error(errors.New("broken"), "lost")
		log.WithValues("a", 1).WithName("controller").WithName("UnhandledError").Error(errors.New("conflict"), "again")
		log.Error(errors.New("no again"), "Error finding provisioning plugin for claim", "PVC", "a")
		text := out.String()
		if strings.Contains(text, "manifest") || !strings.Contains(text, "lost") || strings.Contains(text, "again") != retries {
			t.Errorf("retries %v: %s", retries, text)
		}
	}
}

func TestMissing(t *testing.T) {
	if got := missing(nil); got != "" {
		t.Errorf("got %q", got)
	}
	if got, want := missing([]string{"scheduler", "kubelets"}), "Not running here: scheduler, kubelets. Run yours with the KUBECONFIG.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestCompaction checks that etcd does not keep its history for ever: continue tokens expire, and a sandbox that
// runs for days does not grow.
func TestCompaction(t *testing.T) {
	var out bytes.Buffer
	if o, err := parse(nil, &out); err != nil || o.Server.Etcd.CompactionInterval == 0 {
		t.Errorf("interval %v, %v", o.Server.Etcd.CompactionInterval, err)
	}
}
