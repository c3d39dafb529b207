package crds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The newest gateway-api release whose module contains the tests of its rules, and the package of
// these tests.
const (
	gatewayModule = "sigs.k8s.io/gateway-api"
	gatewayTests  = gatewayModule + "/pkg/test/cel"
)

// TestGatewayRules runs gateway-api's tests of the rules in its definitions, for both channels.
// testdata/rules/CHANNEL.txt contains the number of passed cases, and the cases that expect
// messages which kube-apiserver 1.36 no longer produces.
func TestGatewayRules(t *testing.T) {
	t.Parallel()
	dir := downloaded(t, "gateway", gatewayModule)[gatewayModule]
	for _, channel := range []string{"standard", "experimental"} {
		t.Run(channel, func(t *testing.T) {
			t.Parallel()
			kubeconfig := serve(t)
			p := project{name: channel, module: gatewayModule, definitions: []string{"config/crd/" + channel + "/gateway*.yaml"}}
			newClients(t, config(t, kubeconfig)).apply(t.Context(), t, definitionsOf(t, dir, p))
			compare(t, filepath.Join("testdata", "rules", channel+".txt"), rules(t, kubeconfig, channel))
		})
	}
}

// rules runs the tests of a channel and returns the results. Each test function runs in a process
// of its own, all concurrently, because the tests limit themselves to five requests per second.
func rules(t *testing.T, kubeconfig, channel string) string {
	t.Helper()
	env := append(os.Environ(), "KUBECONFIG="+kubeconfig)
	tests := filepath.Join(t.TempDir(), "cel.test")
	inGateway(t, env, "go", "test", "-c", "-o", tests, "-tags", channel, gatewayTests)
	toJSON := strings.TrimSpace(inGateway(t, env, "go", "tool", "-n", "test2json")) // built once for all processes
	functions := strings.Fields(inGateway(t, env, tests, "-test.list", "."))
	streams := make([]string, len(functions))
	var all sync.WaitGroup
	for i, f := range functions {
		all.Go(func() {
			streams[i] = inGateway(t, env, toJSON, tests, "-test.v=test2json", "-test.run", "^"+f+"$")
		})
	}
	all.Wait()
	return reportOf(t, strings.Join(streams, ""))
}

// inGateway returns the output of a command. The command may fail if it has output, which then
// describes the failure.
func inGateway(t *testing.T, env []string, command ...string) string {
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	var said bytes.Buffer
	c.Dir, c.Env, c.Stderr = "gateway", env, &said
	out, err := c.Output()
	if err != nil && len(out) == 0 {
		t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, &said)
	}
	return string(out)
}

// testEvent is an event in the output of test2json.
type testEvent struct{ Action, Test, Output string }

// reportOf returns the number of passed cases and the output of the others.
func reportOf(t *testing.T, stream string) string {
	t.Helper()
	var passed int
	var others []string
	said, parents := map[string]string{}, map[string]bool{}
	for d := json.NewDecoder(strings.NewReader(stream)); ; {
		var e testEvent
		switch err := d.Decode(&e); {
		case errors.Is(err, io.EOF):
			slices.Sort(others)
			return fmt.Sprintf("%d pass\n%s", passed, strings.Join(others, ""))
		case err != nil:
			t.Fatalf("test2json: %v\n%s", err, stream)
		}
		if i := strings.LastIndex(e.Test, "/"); i > 0 {
			parents[e.Test[:i]] = true
		}
		switch {
		case e.Action == "output":
			if line := strings.TrimSpace(moment.ReplaceAllString(e.Output, "-N")); !framed.MatchString(line) {
				said[e.Test] += "\t" + line + "\n"
			}
		case e.Test == "", parents[e.Test]: // its subtests are reported
		case e.Action == "pass":
			passed++
		case e.Action == "fail", e.Action == "skip":
			others = append(others, fmt.Sprintf("%s: %s\n%s", e.Action, e.Test, said[e.Test]))
		}
	}
}

var (
	// moment matches the suffix of names that the tests generate from the time.
	moment = regexp.MustCompile(`-\d{15,}`)
	// framed matches the lines that go test adds to a test's output.
	framed = regexp.MustCompile(`^(=== |--- )`)
)
