//go:build packages

package packages

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPlatforms makes packages for all platforms twice, from a program that stands for the server, and checks their names
// and that the bytes are the same.
func TestPlatforms(t *testing.T) {
	install(t)
	var programs []string
	for platform := range platforms {
		programs = append(programs, buildProgram(t, platform))
	}
	slices.Sort(programs)
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := Build(t.Context(), source, dir, programs...); err != nil {
			t.Fatal(err)
		}
	}
	got, again := readAll(t, first), readAll(t, second)
	var names []string
	for name, content := range got {
		names = append(names, name)
		if !bytes.Equal(content, again[name]) {
			t.Errorf("%s differs when it is made again", name)
		}
	}
	slices.Sort(names)
	want := strings.Fields(`
		java/miniapiserver-0.0.0-devel-darwin-amd64.jar java/miniapiserver-0.0.0-devel-darwin-arm64.jar
		java/miniapiserver-0.0.0-devel-linux-amd64.jar java/miniapiserver-0.0.0-devel-linux-arm64.jar
		java/miniapiserver-0.0.0-devel-windows-amd64.jar java/miniapiserver-0.0.0-devel-windows-arm64.jar
		java/miniapiserver-0.0.0-devel.jar java/miniapiserver-0.0.0-devel.pom
		npm/miniapiserver-0.0.0-devel.tgz npm/miniapiserver-darwin-arm64-0.0.0-devel.tgz npm/miniapiserver-darwin-x64-0.0.0-devel.tgz
		npm/miniapiserver-linux-arm64-0.0.0-devel.tgz npm/miniapiserver-linux-x64-0.0.0-devel.tgz
		npm/miniapiserver-win32-arm64-0.0.0-devel.tgz npm/miniapiserver-win32-x64-0.0.0-devel.tgz
		python/miniapiserver-0.0.0.dev0-py3-none-macosx_12_0_arm64.whl python/miniapiserver-0.0.0.dev0-py3-none-macosx_12_0_x86_64.whl
		python/miniapiserver-0.0.0.dev0-py3-none-manylinux2014_aarch64.musllinux_1_1_aarch64.whl
		python/miniapiserver-0.0.0.dev0-py3-none-manylinux2014_x86_64.musllinux_1_1_x86_64.whl
		python/miniapiserver-0.0.0.dev0-py3-none-win_amd64.whl python/miniapiserver-0.0.0.dev0-py3-none-win_arm64.whl
		rust/miniapiserver-0.0.0-devel.crate`)
	if !slices.Equal(names, want) {
		t.Errorf("the packages are\n%s", strings.Join(names, "\n"))
	}
}

// buildProgram builds an empty program for a platform.
func buildProgram(t *testing.T, platform string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/server\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	goos, goarch, _ := strings.Cut(platform, "/")
	c := exec.CommandContext(t.Context(), "go", "build", "-o", "program", ".")
	c.Dir, c.Env = dir, append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", platform, err, out)
	}
	return filepath.Join(dir, "program")
}

// readAll returns the files of a directory by their paths in it.
func readAll(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path], err = os.ReadFile(filepath.Join(dir, path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
