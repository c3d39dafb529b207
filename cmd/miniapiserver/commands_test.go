package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// output runs a command that must succeed.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	if status := runMiniapiserver(args, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("%q: status %d: %s", args, status, errs.String())
	}
	return out.String()
}

// TestShortHelp checks that the help fits on a screen, and names every command.
func TestShortHelp(t *testing.T) {
	help := output(t, "--help")
	for _, want := range []string{"\n  snapshot ", "\n  completion ", "\n  --data-dir string ", "--help-all describes all"} {
		if !strings.Contains(help, want) {
			t.Errorf("no %q in %s", want, help)
		}
	}
	if n := strings.Count(help, "\n"); n > 55 {
		t.Errorf("%d lines", n)
	}
	for line := range strings.Lines(help) {
		if len(line) > 121 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if again := output(t, "help"); again != help {
		t.Errorf("help prints %s", again)
	}
}

// TestHelpOfCommands checks that each command has a help with its flags.
func TestHelpOfCommands(t *testing.T) {
	for command, want := range map[string]string{
		"snapshot":        "\n  miniapiserver snapshot COMMAND\n",
		"snapshot save":   "--etcd-cafile string",
		"snapshot status": "miniapiserver snapshot status FILE [flags]\n",
		"defrag":          "--data-dir string",
		"kubeconfig":      "--lifetime duration",
		"envtest":         "--bin-dir string",
		"man":             "miniapiserver man > ",
		"version":         "Print the version.",
		"completion bash": "bash",
	} {
		args := strings.Fields(command)
		for _, args := range [][]string{append([]string{"help"}, args...), append(args, "--help")} {
			if help := output(t, args...); !strings.Contains(help, want) || !strings.Contains(help, "\nUsage:\n") {
				t.Errorf("%q: no %q in %s", args, want, help)
			}
		}
	}
}

// TestVersionCommand checks that it prints what --version prints.
func TestVersionCommand(t *testing.T) {
	if got, want := output(t, "version"), output(t, "--version"); got != want || !strings.Contains(got, server.Version().GitVersion) {
		t.Errorf("%q, --version: %q", got, want)
	}
}

// TestCompletion checks the scripts, and what they ask the program for.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if script := output(t, "completion", shell); !strings.Contains(script, "__complete") {
			t.Errorf("%s: %s", shell, script)
		}
	}
	for args, want := range map[string]string{
		"snap": "snapshot\t", "snapshot ": "restore\t", "--etcd-ser": "--etcd-servers\t", "snapshot save --data": "--data-dir\t",
	} {
		command := exec.CommandContext(t.Context(), os.Args[0], append([]string{"__complete"}, strings.Split(args, " ")...)...)
		command.Env = append(os.Environ(), asCommand+"=1")
		if out, err := command.Output(); err != nil || !strings.Contains("\n"+string(out), "\n"+want) {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
}

// TestManPage checks that the man page has all flags and commands, and no line that man would take for
// a request.
func TestManPage(t *testing.T) {
	page := output(t, "man")
	for _, f := range server.NewCommandLine().Flags() {
		if !strings.Contains(page, roff("--"+f.Name)) {
			t.Errorf("no --%s", f.Name)
		}
	}
	for line := range strings.Lines(page) {
		if name, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); strings.HasPrefix(line, ".") &&
			!strings.Contains(".TH .SH .TP .B .I .br .nf .fi .PP", name) {
			t.Errorf("the request %q", line)
		}
	}
	if !strings.Contains(page, ".B snapshot restore\n") {
		t.Error("no command snapshot restore")
	}
	man, err := exec.LookPath("man")
	if err != nil {
		return // the syntax is checked where man is installed
	}
	file := filepath.Join(t.TempDir(), "miniapiserver.1")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), man, "--warnings", "-l", file).CombinedOutput(); err != nil || strings.Contains(string(out), "warning:") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestHealth checks the status of the command while a server runs, is not ready, and does not run.
func TestHealth(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p, _ := startClient(t, dir)
	if said := output(t, "health", "--data-dir", dir); said != "" {
		t.Errorf("says %q", said)
	}
	notReady := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed", http.StatusInternalServerError)
	}))
	defer notReady.Close()
	access, err := credentials.ReadAccess(filepath.Join(dir, "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	access.URL, access.CA = notReady.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: notReady.Certificate().Raw})
	if err := askReady(t.Context(), access); err == nil || err.Error() != "the server is not ready (500 Internal Server Error): etcd failed: reason withheld" {
		t.Errorf("not ready: %v", err)
	}
	if code := stop(t, p, syscall.SIGTERM); code != 0 {
		t.Errorf("status %d: %s", code, p.stderr.String())
	}
	for from, want := range map[string]string{dir: "the server does not answer: ", t.TempDir(): "--data-dir: "} {
		var out, errs strings.Builder
		if status := runMiniapiserver([]string{"health", "--data-dir", from}, &out, &errs); status != 1 || !strings.HasPrefix(errs.String(), "miniapiserver health: "+want) {
			t.Errorf("status %d: %s, want %s", status, errs.String(), want)
		}
	}
}

// TestUserKubeconfig checks that a user has a certificate that the server knows, and no permissions.
func TestUserKubeconfig(t *testing.T) {
	dir, file := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "jane")
	p, _ := startClient(t, dir)
	output(t, "kubeconfig", "--data-dir", dir, "--user", "jane", "--group", "a,b", "--group", "c", "--lifetime", "1h", "-o", file)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	if _, err := client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "jane"`) {
		t.Errorf("secrets: %v", err)
	}
	if code := stop(t, p, syscall.SIGTERM); code != 0 {
		t.Errorf("status %d: %s", code, p.stderr.String())
	}
	for args, want := range map[string]string{
		"":                                   "--user: must not be empty (see --help)",
		"--user x --lifetime 0s":             "--lifetime: 0s is not a positive duration",
		"--user x --lifetime 200000h":        "the certificate authority in " + dir + "/pki ends before that, at ",
		"--user x --cert-dir " + t.TempDir(): "/",
		"--user x --data-dir " + dir + "/nothing": "--data-dir: open " + dir + "/nothing/admin.kubeconfig: no such file",
	} {
		var out, errs strings.Builder
		all := append([]string{"kubeconfig", "--data-dir", dir}, strings.Fields(args)...)
		if status := runMiniapiserver(all, &out, &errs); status != 1 || out.Len() > 0 || !strings.HasPrefix(errs.String(), "miniapiserver kubeconfig: "+want) {
			t.Errorf("%q: status %d, %s%s, want %s", args, status, out.String(), errs.String(), want)
		}
	}
}
