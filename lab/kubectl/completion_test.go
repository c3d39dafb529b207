package kubectl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletion checks what may follow on command lines.
func TestCompletion(t *testing.T) {
	f := newAccess(t)
	f.requests, f.changes = sampleRequests(), sampleChanges()
	f.answers["/apis/apps/v1/namespaces/default/deployments"] = `{"items":[{"metadata":{"name":"web"}},{"metadata":{"name":"api"}}]}`
	f.answers["/api/v1/namespaces"] = `{"items":[{"metadata":{"name":"shop"}},{"metadata":{"name":"default"}}]}`
	f.answers["/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"] = `{"items":[]}`
	f.answers["/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"] = `{"items":[]}`
	for line, want := range map[string]string{
		"req":                             "requests",
		"explain |":                       "last " + discoverID + " " + watchID + " " + policyID + " " + conflictID + " " + createdID + " " + deniedID,
		"explain 3":                       conflictID,
		"explain last |":                  "",
		"history depl":                    "deployments/ deployers/",
		"history deployments/w":           "deployments/web",
		"history deploy |":                "web api",
		"history deploy web |":            "",
		"blame nope/":                     "",
		"diff deploy/web -n shop --from ": "1005 812",
		"diff deploy/web -n shop --to 8":  "812",
		"requests --verb=d":               "delete deletecollection",
		"requests --resource no":          "nodes nodes.example.com",
		"requests -o ":                    "json yaml",
		"requests -n s":                   "shop",
		"rec":                             "record",
		"repl":                            "replay",
		"replay f -o ":                    "json yaml",
		"record --resource dep":           "deployments.apps deployers.example.com",
		"record --verb w":                 "watch",
		"requests --color ":               "auto always never",
		"who-can g":                       "get",
		"who-can get po":                  "pods",
		"who-can get deployments a":       "api",
		"can ":                            "sa/mon:prom nobody",
		"drill --faults watch-":           "watch-closed watch-expired watch-frozen watch-late",
		"drill --user ":                   "sa/mon:prom nobody",
		"can sa/":                         "sa/mon:prom",
	} {
		words := strings.Fields(line)
		if strings.HasSuffix(line, " ") {
			words = append(words, "")
		}
		if words[len(words)-1] == "|" {
			words[len(words)-1] = ""
		}
		// As cobra, the values of fixed lists are all given: the shell takes those that begin right.
		got := f.run(append([]string{"__complete"}, words...)...)
		var values []string
		for l := range strings.Lines(got.stdout) {
			value, _, _ := strings.Cut(strings.TrimSpace(l), "\t")
			start := words[len(words)-1]
			if _, after, found := strings.Cut(start, "="); found {
				start = after
			}
			if value != "" && value[0] != ':' && strings.HasPrefix(value, start) {
				values = append(values, value)
			}
		}
		if strings.Join(values, " ") != want {
			t.Errorf("%q: %v, want %s: %+v", line, values, want, got)
		}
	}
	f.Close()
	if got := f.run("__complete", "explain", ""); !strings.HasSuffix(got.stdout, ":4\n") {
		t.Errorf("without a server: %+v", got)
	}
}

// TestContexts checks the completion of contexts, which asks no server.
func TestContexts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(`{"contexts":[{"name":"red","context":{"cluster":"x"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFake(t)
	if got := f.run("__complete", "requests", "--kubeconfig", file, "--context", ""); !strings.HasPrefix(got.stdout, "red\n") {
		t.Errorf("%+v", got)
	}
}

// TestInstall checks the links, and that only links are replaced.
func TestInstall(t *testing.T) {
	f := newFake(t)
	dir := t.TempDir()
	for range 2 {
		if got := f.run("install", "--dir", dir); got.code != 0 || !strings.Contains(got.stdout, "Try: kubectl lab --help") || !strings.Contains(got.stderr, "is not in PATH: export PATH=") {
			t.Errorf("%+v", got)
		}
	}
	for _, name := range []string{Name, CompletionName} {
		if to, err := os.Readlink(filepath.Join(dir, name)); err != nil || to != "/opt/miniapiserver" {
			t.Error(to, err)
		}
	}
	file := filepath.Join(dir, Name)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := f.run("install", "--dir", dir); got.code != 1 || !strings.Contains(got.stderr, "exists and is not a link") {
		t.Errorf("%+v", got)
	}
	if got := f.run("install"); got.code != 1 || !strings.Contains(got.stderr, "--dir /usr/local/bin") {
		t.Errorf("%+v", got)
	}
	if got, err := ownDirectory([]string{"/bin", filepath.Join(dir, "none"), dir}, filepath.Dir(dir)); got != dir || err != nil {
		t.Error(got, err)
	}
}

// TestHelp checks that each command has a help with examples, and what wrong commands print.
func TestHelp(t *testing.T) {
	f := newFake(t)
	all := f.run("--help")
	if bare := f.run(); bare.stdout != all.stdout || !strings.Contains(all.stdout, "miniapiserver kubectl-lab install") {
		t.Errorf("%+v", bare)
	}
	for _, name := range []string{"requests", "explain", "history", "blame", "diff", "who-can", "can", "watches", "levels", "top", "drill", "install"} {
		got := f.run(name, "--help")
		if !strings.Contains(got.stdout, "kubectl lab "+name) || !strings.Contains(got.stdout, "Examples:\n") || !strings.Contains(all.stdout, "\n  "+name+" ") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for args, want := range map[string]string{
		"explane":          `unknown command "explane"; the nearest is explain`,
		"zzzzzzzz":         `unknown command "zzzzzzzz"; the commands are blame, calm, can`,
		"--server":         "flag needs an argument",
		"requests --wacth": "unknown flag: --wacth (see kubectl lab requests --help)",
	} {
		if got := f.run(strings.Fields(args)...); got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}
