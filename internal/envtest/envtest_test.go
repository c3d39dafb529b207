package envtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// program writes an executable file with a text.
func program(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestWrite checks that all programs are there, also a second time and with a new server.
func TestWrite(t *testing.T) {
	server := filepath.Join(t.TempDir(), "server")
	dir := filepath.Join(t.TempDir(), "new", "assets")
	for _, content := range []string{"first", "first", "the second"} {
		if err := os.Remove(server); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		program(t, server, content)
		if err := Write(dir, server, "1.35.4", "*"); err != nil {
			t.Fatal(err)
		}
		for _, name := range serverNames {
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || string(got) != content {
				t.Errorf("%s: %q, %v, want %q", name, got, err, content)
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 8 || !EndsWithParent(dir) || Release(dir) != "1.35.4" || Controllers(dir) != "*" {
			t.Errorf("%v, %v, want five programs, the mark, the release and the controllers", entries, err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s is not executable: %v", e.Name(), err)
			}
		}
	}
	if err := Write(dir, filepath.Join(dir, "none"), "1.35.4", ""); err == nil {
		t.Error("no error for a server that does not exist")
	}
}

// TestKubectl checks that kubectl runs the kubectl of PATH and not itself, and what it says if
// there is none.
func TestKubectl(t *testing.T) {
	dir, tools := t.TempDir(), filepath.Join(t.TempDir(), "with space")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	server := program(t, filepath.Join(t.TempDir(), "server"), "x")
	if err := Write(dir, server, "1.35.4", "*"); err != nil {
		t.Fatal(err)
	}
	run := func(path string) string {
		c := exec.Command(filepath.Join(dir, kubectlName), "get", "a b")
		c.Env = []string{"PATH=" + path}
		out, _ := c.CombinedOutput() // the output contains the error
		return string(out)
	}
	if got := run(dir + ":/nowhere"); !strings.Contains(got, "there is none in PATH") {
		t.Errorf("without a kubectl: %q", got)
	}
	program(t, filepath.Join(tools, "kubectl"), "#!/bin/sh\necho \"$2\"\n")
	if got := run(dir + ":" + tools); got != "a b\n" {
		t.Errorf("with a kubectl: %q", got)
	}
}

// TestPlugin checks that the scripts of the plugin call the server by their names, also by a link from elsewhere.
func TestPlugin(t *testing.T) {
	dir, elsewhere := filepath.Join(t.TempDir(), "with space"), t.TempDir()
	server := program(t, filepath.Join(t.TempDir(), "server"), "#!/bin/sh\necho \"${0##*/} $1 $2\"\n")
	if err := Write(dir, server, "1.35.4", "*"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubectl-lab", "kubectl_complete-lab"} {
		link := filepath.Join(elsewhere, name)
		if err := os.Symlink(filepath.Join(dir, name), link); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{filepath.Join(dir, name), link} {
			out, err := exec.Command(file, "a b").CombinedOutput()
			if want := "kube-apiserver " + name + " a b\n"; err != nil || string(out) != want {
				t.Errorf("%s prints %q, %v, want %q", file, out, err, want)
			}
		}
	}
}

// TestWriteArchive checks the names, kinds and modes of the files in the archives of two systems.
func TestWriteArchive(t *testing.T) {
	server := program(t, filepath.Join(t.TempDir(), "server"), "content")
	for goos, want := range map[string][]string{
		"linux":   {"kube-apiserver", "kubectl", "kubectl-lab", "kubectl_complete-lab", "etcd", "ends-with-parent"},
		"windows": {"kube-apiserver.exe", "etcd.exe", "kubectl.cmd", "kubectl-lab.cmd", "kubectl_complete-lab.cmd", "ends-with-parent"},
	} {
		var archive, again bytes.Buffer
		if err := errors.Join(WriteArchive(&archive, server, goos, server), WriteArchive(&again, server, goos, server)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(archive.Bytes(), again.Bytes()) {
			t.Error("two archives of the same server differ")
		}
		if names := programsIn(t, &archive); !slices.Equal(names, want) {
			t.Errorf("%v, want %v", names, want)
		}
	}
	if got := ArchiveName(Version("v1.36.6+miniapiserver"), "linux", "arm64"); got != "envtest-v1.36.6-linux-arm64.tar.gz" {
		t.Error(got)
	}
}

// programsIn returns the names of the files in an archive, which must all be executable.
func programsIn(t *testing.T, archive io.Reader) (names []string) {
	t.Helper()
	uncompressed, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(uncompressed); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg || h.Mode != 0o755 {
			t.Errorf("%s: type %c, mode %o", h.Name, h.Typeflag, h.Mode)
		}
		names = append(names, filepath.Base(h.Name))
	}
}

// TestRelease checks that the release is that of the directory if no file has it, and that
// directories of others have none.
func TestRelease(t *testing.T) {
	dir := Dir(t.TempDir(), "1.36.7", runtime.GOOS, runtime.GOARCH)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := Release(dir); got != "" {
		t.Errorf("a directory without the mark: %q", got)
	}
	program(t, filepath.Join(dir, markName), mark)
	if got := Release(dir); got != "1.36.7" {
		t.Errorf("the programs of an archive: %q", got)
	}
	program(t, filepath.Join(dir, releaseName), "1.34.0\n")
	if got := Release(dir); got != "1.34.0" {
		t.Errorf("a directory with the file: %q", got)
	}
	other := t.TempDir()
	program(t, filepath.Join(other, markName), mark)
	if got := Release(other); got != "" {
		t.Errorf("a directory with another name: %q", got)
	}
}
