package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/lab/kubectl"
)

// TestKubectlLab checks the names under which the program is the plugin of kubectl.
func TestKubectlLab(t *testing.T) {
	for _, args := range [][]string{{"bin/kubectl-lab"}, {"miniapiserver", "kubectl-lab"}, {"kube-apiserver", "kubectl-lab"}} {
		var out, errs bytes.Buffer
		if code := runAs(append(args, "requests", "--help"), &out, &errs); code != 0 || !strings.Contains(out.String(), "kubectl lab requests [flags]") {
			t.Errorf("%v: %d %s %s", args, code, out.String(), errs.String())
		}
		out.Reset()
		if code := runAs(append(args, "requests", "--limit", "x"), &out, &errs); code != 1 || !strings.HasPrefix(errs.String(), "error: invalid argument") {
			t.Errorf("%v: %d %s", args, code, errs.String())
		}
	}
	for _, args := range [][]string{{"bin/kubectl_complete-lab"}, {"kube-apiserver", "kubectl_complete-lab"}} {
		var out bytes.Buffer
		if code := runAs(append(args, "req"), &out, &bytes.Buffer{}); code != 0 || !strings.HasPrefix(out.String(), "requests\t") || !strings.HasSuffix(out.String(), ":4\n") {
			t.Errorf("%v: %d %s", args, code, out.String())
		}
	}
}

// TestKubectlLabOfEnvtest installs the plugin from the directory that envtest uses, and runs it against a server with the lab.
func TestKubectlLabOfEnvtest(t *testing.T) {
	assets := command(t, "envtest", "--bin-dir", t.TempDir())
	dir, err := assets.Output()
	if err != nil {
		t.Fatal(err, assets.stderr.String())
	}
	bin := t.TempDir()
	plugin := filepath.Join(strings.TrimSpace(string(dir)), kubectl.Name)
	c := exec.CommandContext(t.Context(), plugin, "install", "--dir", bin)
	c.Env = assets.Env
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var ready struct{ Kubeconfig string }
	server := command(t, "--ephemeral", "--secure-port=0", "--lab", "--output=json")
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	launch(t, server)
	if err := json.NewDecoder(stdout).Decode(&ready); err != nil {
		t.Fatal(err, server.stderr.String())
	}
	for _, name := range []string{plugin, filepath.Join(bin, kubectl.Name)} {
		c := exec.CommandContext(t.Context(), name, "requests", "--kubeconfig", ready.Kubeconfig)
		c.Env = assets.Env
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "serviceaccounts") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	if to, err := os.Readlink(filepath.Join(bin, kubectl.CompletionName)); err != nil || filepath.Base(to) != asKubeAPIServer {
		t.Error(to, err)
	}
	terminate(t, server)
}
