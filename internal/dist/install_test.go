//go:build install

package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const (
	modulePath = "github.com/miniapiserver/miniapiserver"
	newRelease = "v0.99.0"

	// maxModuleSize is a limit for the compressed module, far below the 500 MB of Go. A file
	// that exceeds it does not belong into the repository.
	maxModuleSize = 8 << 20
)

// TestInstall checks that "go install" of a release works with an empty module cache, with
// the profile, and that the server then reports the release; so do "go run" and "go tool". A module proxy on this machine
// has the files of this checkout as the release; other modules come from the user's cache,
// or else from the user's proxy.
func TestInstall(t *testing.T) {
	module := moduleZip(t, "../..")
	t.Logf("the module has %d KB", len(module)>>10)
	if len(module) > maxModuleSize {
		t.Errorf("the module has %d bytes, more than %d", len(module), maxModuleSize)
	}
	proxy := moduleProxy(t, module)
	bin := t.TempDir()
	environment := append(os.Environ(), "GOBIN="+bin, "GOMODCACHE="+t.TempDir(), "GOSUMDB=off", "GOWORK=off",
		"GOFLAGS=-modcacherw -trimpath -gcflags=all=-dwarf=false", // as make release, whose packages the build cache has
		"GOPROXY="+proxy+",file://"+filepath.Join(goEnv(t, "GOMODCACHE"), "cache", "download")+","+goEnv(t, "GOPROXY"))
	run := func(dir string, args ...string) string {
		c := exec.CommandContext(t.Context(), "go", args...)
		c.Dir, c.Env = dir, environment
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	run(bin, "install", modulePath+"/cmd/miniapiserver@latest") // outside of any module

	server := filepath.Join(bin, "miniapiserver")
	version, err := exec.CommandContext(t.Context(), server, "--version").Output()
	if want := "miniapiserver " + newRelease + ", Kubernetes v1."; err != nil || !strings.HasPrefix(string(version), want) ||
		!strings.HasSuffix(string(version), "+miniapiserver."+newRelease+"\n") {
		t.Errorf("--version prints %q, %v", version, err)
	}
	info, err := buildinfo.ReadFile(server)
	if err != nil {
		t.Fatal(err)
	}
	profile := ""
	for _, setting := range info.Settings {
		if setting.Key == "-pgo" {
			profile = setting.Value
		}
	}
	if path.Base(profile) != "default.pgo" {
		t.Errorf("built with the profile %q", profile)
	}
	started := exec.CommandContext(t.Context(), server, "--ephemeral", "--secure-port=0", "--output=json", "--stdin-lifetime")
	stdin, err := started.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := started.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := started.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `{"url":"https://127.0.0.1:`) {
		t.Errorf("the server printed %q, %v", line, err)
	}
	if err := errors.Join(stdin.Close(), started.Wait()); err != nil {
		t.Error(err)
	}

	// The same without an installation, and as a tool of a module.
	if got := run(bin, "run", modulePath+"/cmd/miniapiserver@latest", "version"); !strings.HasSuffix(got, string(version)) {
		t.Errorf("go run prints %q", got)
	}
	suite := t.TempDir()
	run(suite, "mod", "init", "example.com/suite")
	run(suite, "get", "-tool", modulePath+"/cmd/miniapiserver@latest")
	if got := run(suite, "tool", "miniapiserver", "version"); !strings.HasSuffix(got, string(version)) {
		t.Errorf("go tool prints %q", got)
	}
}

// goEnv returns the value of a variable of the go command.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// moduleZip returns the archive of the module that a module proxy would make of a commit with
// the files of the checkout: the files of git, without directories that are modules of their
// own.
func moduleZip(t *testing.T, root string) []byte {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	var nested []string
	for _, file := range files {
		if dir, name := path.Split(file); name == "go.mod" && dir != "" {
			nested = append(nested, dir)
		}
	}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, file := range files {
		if !isBelow(file, nested) {
			copyInto(t, w, modulePath+"@"+newRelease+"/"+file, filepath.Join(root, filepath.FromSlash(file)))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

func isBelow(file string, dirs []string) bool {
	for _, dir := range dirs {
		if strings.HasPrefix(file, dir) {
			return true
		}
	}
	return false
}

// copyInto copies a regular file into the archive. Archives of modules have no other files.
func copyInto(t *testing.T, w *zip.Writer, name, file string) {
	t.Helper()
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	if !info.Mode().IsRegular() {
		t.Logf("%s is not in the module, because it is no regular file", file)
		return
	}
	from, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := w.Create(name)
	if err == nil {
		_, err = io.Copy(to, from)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// moduleProxy serves the module as its only release, by the protocol of module proxies, and
// returns the URL. It has no other module.
func moduleProxy(t *testing.T, module []byte) string {
	t.Helper()
	goMod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	info := fmt.Sprintf(`{"Version":%q}`, newRelease)
	answers := map[string][]byte{
		"list": []byte(newRelease + "\n"), newRelease + ".info": []byte(info), newRelease + ".mod": goMod, newRelease + ".zip": module,
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, "/"+modulePath+"/@v/")
		if answer := answers[name]; ok && answer != nil {
			_, _ = w.Write(answer) // the go command fails if the answer is incomplete
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}
