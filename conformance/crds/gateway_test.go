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

// The newest gateway-api whose module has the tests of its rules, and the
// package with them.
const (
	gatewayModule = "sigs.k8s.io/gateway-api"
	gatewayTests  = gatewayModule + "/pkg/test/cel"
)

// TestGatewayRules runs gateway-api's tests of the rules in its definitions, of
// both channels: objects that must be accepted, and objects that must be refused
// with what the rules say. testdata/rules/CHANNEL.txt has how many there are, and
// those that expect what kube-apiserver 1.36 does not say any more.
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

// rules runs the tests for a channel, and returns what comes out. Each function is
// a process of its own, all at once: the tests send five requests in a second and
// wait for the rest of it.
func rules(t *testing.T, kubeconfig, channel string) string {
	t.Helper()
	env := append(os.Environ(), "KUBECONFIG="+kubeconfig)
	tests := filepath.Join(t.TempDir(), "cel.test")
	inGateway(t, env, "go", "test", "-c", "-o", tests, "-tags", channel, gatewayTests)
	toJSON := strings.TrimSpace(inGateway(t, env, "go", "tool", "-n", "test2json")) // built once, and not by each
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

// inGateway is what a command prints. It may end with an error if it prints
// something, which then tells of it.
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

// testEvent is what test2json prints a stream of.
type testEvent struct{ Action, Test, Output string }

// reportOf is how many cases have passed, and what those say that have not.
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
		case e.Test == "", parents[e.Test]: // the parts have told
		case e.Action == "pass":
			passed++
		case e.Action == "fail", e.Action == "skip":
			others = append(others, fmt.Sprintf("%s: %s\n%s", e.Action, e.Test, said[e.Test]))
		}
	}
}

var (
	// moment is the end of a name that a test makes of the time.
	moment = regexp.MustCompile(`-\d{15,}`)
	// framed are the lines that go test puts around what a test says.
	framed = regexp.MustCompile(`^(=== |--- )`)
)
