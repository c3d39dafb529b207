package kubectl

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Files with the columns of kube-apiserver's tables, one line for each resource in each version,
// and with an etcd snapshot that has an object of each.
var (
	columnsFile  = filepath.Join("..", "..", "kinds", "testdata", "columns.txt")
	snapshotFile = filepath.Join("..", "snapshot", "testdata", "kube-apiserver-1.36.snapshot.gz")
)

// TestTables compares the columns of kubectl get and kubectl get -o wide for an object of each
// resource with those for kube-apiserver 1.36.
func TestTables(t *testing.T) {
	k := newKubectl(t, "--etcd-snapshot", snapshotFile, "--controllers=-certificatesigningrequest-cleaner-controller") // it would delete the old requests
	data, err := os.ReadFile(columnsFile)
	if err != nil {
		t.Fatal(err)
	}
	var resources []string
	want := map[bool][]string{}
	for line := range strings.Lines(string(data)) {
		name, columns, ok := strings.Cut(strings.TrimSpace(line), ": ")
		gv, resource, _ := strings.Cut(name, " ")
		if !ok {
			t.Fatalf("what is %q?", line)
		}
		group, version, ok := strings.Cut(gv, "/")
		if !ok {
			group, version = "", gv
		}
		resources = append(resources, resource+"."+version+"."+group)
		for _, wide := range []bool{false, true} {
			want[wide] = append(want[wide], header(columns, wide))
		}
	}
	for wide, want := range want {
		args := []string{"get", strings.Join(resources, ","), "--all-namespaces"}
		if wide {
			args = append(args, "--output=wide")
		}
		var got []string
		for _, table := range strings.Split(strings.TrimSpace(k.output(args...)), "\n\n") {
			first, _, _ := strings.Cut(table, "\n")
			got = append(got, strings.TrimPrefix(strings.Join(strings.Fields(first), " "), "NAMESPACE "))
		}
		if len(got) != len(want) {
			t.Errorf("wide %t: %d tables, want %d", wide, len(got), len(want))
		}
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Errorf("wide %t: %s:\n got %s\nwant %s", wide, resources[i], got[i], want[i])
			}
		}
	}
}

// header returns the line that kubectl prints for columns, with single spaces, without the
// namespace.
func header(columns string, wide bool) string {
	var words []string
	for _, c := range strings.Split(columns, "; ") {
		name, notes, _ := strings.Cut(c, " (")
		if wide || !strings.Contains(notes, "priority") {
			words = append(words, strings.ToUpper(name))
		}
	}
	return strings.Join(words, " ")
}

// kubectl runs kubectl on a server.
type kubectl struct {
	t      *testing.T
	binary string
	env    []string
}

func newKubectl(t *testing.T, flags ...string) *kubectl {
	t.Helper()
	dir := t.TempDir()
	p := &process{binary: build(t), dir: filepath.Join(dir, "data"), log: filepath.Join(dir, "server.log")}
	if err := p.start(flags...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.end(os.Interrupt); err != nil {
			t.Error(err)
		}
	})
	bin := filepath.Join(dir, "kubectl")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, bin); err != nil {
		t.Fatal(err)
	}
	return &kubectl{t, bin, append(os.Environ(), "HOME="+dir, "KUBECONFIG="+p.kubeconfig())}
}

// output returns the output of a command that must succeed.
func (k *kubectl) output(args ...string) string {
	k.t.Helper()
	c := exec.CommandContext(k.t.Context(), k.binary, args...)
	var stderr bytes.Buffer
	c.Env, c.Stderr = k.env, &stderr
	out, err := c.Output()
	if err != nil {
		k.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out)
}
