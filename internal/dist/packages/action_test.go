//go:build packages

package packages

import (
	"bytes"
	"crypto/sha512"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/internal/dist/archive"
	"github.com/miniapiserver/miniapiserver/internal/eventually"
)

// action is the part of action.yml that a runner follows.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			ID, If, Run string
			Env         map[string]string
		}
	}
}

// runner runs the steps of the action as a runner of GitHub does.
type runner struct {
	t      *testing.T
	action action
	dir    string // of the runner's files
	url    string // of the releases
}

// newRunner serves a release with one archive.
func newRunner(t *testing.T, content []byte, sum string) *runner {
	t.Helper()
	name := "miniapiserver-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz"
	releases := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/download/v0.1.0/" + name, "/latest/download/" + name:
			_, _ = w.Write(content) // the script finds what is missing
		case "/download/v0.1.0/SHA512SUMS", "/latest/download/SHA512SUMS":
			fmt.Fprintf(w, "0  other-%s\n%s  %s\n", name, sum, name)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(releases.Close)
	r := &runner{t: t, dir: t.TempDir(), url: releases.URL}
	text, err := os.ReadFile(filepath.Join(source, "action", "action.yml"))
	if err == nil {
		err = yaml.Unmarshal(text, &r.action)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// expression is how a step refers to an input.
var expression = regexp.MustCompile(`\$\{\{ inputs\.([\w-]+) \}\}`)

// run runs the action with some inputs. It returns the content of a file that a step wrote for the runner, by its
// variable, and the output of the step that failed.
func (r *runner) run(inputs map[string]string) (files map[string]string, failed string) {
	r.t.Helper()
	inputs["dist-url"] = r.url
	value := func(name string) string {
		declared, ok := r.action.Inputs[name]
		if !ok {
			r.t.Fatalf("there is no input %s", name)
		}
		if given, ok := inputs[name]; ok {
			return given
		}
		return declared.Default
	}
	arch := map[string]string{"amd64": "X64", "arm64": "ARM64"}[runtime.GOARCH]
	path, err := filepath.Abs(filepath.Join(source, "action"))
	if err != nil {
		r.t.Fatal(err)
	}
	environment := append(os.Environ(), "RUNNER_OS="+map[string]string{"linux": "Linux", "darwin": "macOS"}[runtime.GOOS], "RUNNER_ARCH="+arch,
		"RUNNER_TEMP="+r.dir, "GITHUB_ACTION_PATH="+path, "XDG_CACHE_HOME="+r.dir, "TMPDIR="+r.dir)
	files = map[string]string{"GITHUB_PATH": "", "GITHUB_OUTPUT": "", "GITHUB_ENV": ""}
	for name := range files {
		environment = append(environment, name+"="+filepath.Join(r.dir, name))
	}
	for _, step := range r.action.Runs.Steps {
		if step.If != "" {
			name, ok := strings.CutSuffix(strings.TrimPrefix(step.If, "inputs."), " == 'true'")
			if !ok {
				r.t.Fatalf("the condition %q is of another form", step.If)
			}
			if value(name) != "true" {
				continue
			}
		}
		c := exec.CommandContext(r.t.Context(), "bash", "-c", step.Run)
		c.Env = append(environment, "PATH="+strings.TrimSpace(files["GITHUB_PATH"])+":"+os.Getenv("PATH"))
		for name, text := range step.Env {
			c.Env = append(c.Env, name+"="+expression.ReplaceAllStringFunc(text, func(e string) string {
				return value(expression.FindStringSubmatch(e)[1])
			}))
		}
		if out, err := c.CombinedOutput(); err != nil {
			return files, string(out)
		}
		for name := range files {
			text, _ := os.ReadFile(filepath.Join(r.dir, name)) // not there until a step writes it
			files[name] = string(text)
		}
	}
	return files, ""
}

// TestAction runs the action setup-miniapiserver with a release on this machine: the programs for envtest, a running
// server, and what it refuses.
func TestAction(t *testing.T) {
	if *server == "" {
		t.Fatal("-server names no server; make test-packages does")
	}
	file := filepath.Join(t.TempDir(), "archive")
	if err := archive.WriteTarGz(file, []archive.Entry{{Name: "miniapiserver", File: *server, Mode: 0o755}}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha512.Sum512(content))
	t.Run("envtest", func(t *testing.T) {
		files, failed := newRunner(t, content, sum).run(map[string]string{
			"version": "v0.1.0", "envtest": "true", "kubernetes-version": "1.35", "controllers": "*"})
		assets, ok := strings.CutPrefix(strings.TrimSpace(files["GITHUB_ENV"]), "KUBEBUILDER_ASSETS=")
		if failed != "" || !ok {
			t.Fatalf("%v\n%s", files, failed)
		}
		out, err := exec.CommandContext(t.Context(), filepath.Join(assets, "kube-apiserver"), "--version").Output()
		if err != nil || !bytes.HasPrefix(out, []byte("Kubernetes v1.35.0")) {
			t.Errorf("%s, %v", out, err)
		}
	})
	t.Run("serve", func(t *testing.T) {
		files, failed := newRunner(t, content, sum).run(map[string]string{"serve": "true", "sha512": sum, "flags": "--insecure-port=-1\n--v=1\n"})
		kubeconfig, ok := strings.CutPrefix(strings.TrimSpace(files["GITHUB_ENV"]), "KUBECONFIG=")
		if failed != "" || !ok {
			t.Fatalf("%v\n%s", files, failed)
		}
		out, err := exec.CommandContext(t.Context(), *server, "health", "--data-dir", filepath.Dir(kubeconfig)).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		_, pid, _ := strings.Cut(files["GITHUB_OUTPUT"], "\npid=")
		if out, err := exec.CommandContext(t.Context(), "kill", strings.TrimSpace(pid)).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		eventually.True(t, "the server has removed its directory", func() bool {
			_, err := os.Stat(filepath.Dir(kubeconfig))
			return os.IsNotExist(err)
		})
	})
	for name, c := range map[string]struct {
		sum    string
		inputs map[string]string
		want   string
	}{
		"checksum of the release": {strings.Repeat("0", 128), map[string]string{}, "has the checksum " + sum},
		"checksum of the user":    {sum, map[string]string{"sha512": "1"}, "has the checksum " + sum},
		"no such release":         {sum, map[string]string{"version": "v9.9.9"}, "404"},
		"wrong flag":              {sum, map[string]string{"serve": "true", "flags": "--no-such-flag"}, "the server did not start: miniapiserver: unknown flag: --no-such-flag"},
	} {
		t.Run(name, func(t *testing.T) {
			if files, failed := newRunner(t, content, c.sum).run(c.inputs); !strings.Contains(failed, c.want) {
				t.Errorf("got %v\n%s", files, failed)
			}
		})
	}
}
