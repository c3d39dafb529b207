package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/miniapiserver/miniapiserver/internal/dist/archive"
	"github.com/miniapiserver/miniapiserver/internal/envtest"
)

// program is the server for a platform.
type program struct{ goos, goarch string }

// platforms are the platforms of a release.
var platforms = []program{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// chosen returns the platforms of a list such as linux/amd64, or all for an empty one.
func chosen(list []string) (programs []program) {
	for _, p := range platforms {
		if len(list) == 0 || slices.Contains(list, p.goos+"/"+p.goarch) {
			programs = append(programs, p)
		}
	}
	return programs
}

// name is the common part of the names of the files for a platform.
func (p program) name() string { return "miniapiserver-" + p.goos + "-" + p.goarch }

// file returns the path of the program.
func (p program) file(dir string) string {
	return filepath.Join(dir, "programs", envtest.ProgramName(p.name(), p.goos))
}

// archive returns the name of the archive.
func (p program) archive() string {
	if p.goos == "windows" {
		return p.name() + ".zip"
	}
	return p.name() + ".tar.gz"
}

func (p program) archiveSum(dir string) (string, error) {
	content, err := os.ReadFile(filepath.Join(dir, p.archive()))
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), err
}

// launcher returns the path of the program that is etcd in the archive of package envtest, on Windows.
func (p program) launcher(dir string) string {
	return filepath.Join(dir, "programs", "etcdlauncher-"+p.goos+"-"+p.goarch+".exe")
}

// build builds the server and, for Windows, the launcher of etcd.
func (p program) build(dir, goMod, pgo string) error {
	if err := p.goBuild(p.file(dir), "./cmd/miniapiserver", "-modfile="+goMod, "-pgo="+pgo); err != nil || p.goos != "windows" {
		return err
	}
	return p.goBuild(p.launcher(dir), "./internal/envtest/etcdlauncher", "-pgo=off")
}

// goBuild builds a program of the module for the platform.
func (p program) goBuild(to, source string, flags ...string) error {
	c := exec.Command("go", append(append([]string{"build"}, flags...), "-trimpath", "-ldflags", "-s -w", "-o", to, source)...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.goos, "GOARCH="+p.goarch)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("building for %s/%s: %w", p.goos, p.goarch, err)
	}
	return nil
}

// pack makes the archive of the server, and that of the programs of package envtest.
func (p program) pack(r *release) error {
	entries := append([]archive.Entry{
		{Name: envtest.ProgramName("miniapiserver", p.goos), File: p.file(r.dir), Mode: 0o755},
		{Name: "LICENSE", File: "LICENSE", Mode: 0o644},
	}, r.pages...)
	write := archive.WriteTarGz
	if p.goos == "windows" {
		write = archive.WriteZip
	}
	if err := write(filepath.Join(r.dir, p.archive()), entries); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(r.dir, envtest.ArchiveName(r.kubernetes, p.goos, p.goarch)))
	if err != nil {
		return err
	}
	return cmp.Or(envtest.WriteArchive(f, p.file(r.dir), p.goos, p.launcher(r.dir)), f.Close())
}

// pages returns the man page and the completions of shells, which a program for this machine prints.
func pages(dir string) ([]archive.Entry, error) {
	own := program{runtime.GOOS, runtime.GOARCH}.file(dir)
	var entries []archive.Entry
	for _, page := range []struct {
		name string
		args []string
	}{
		{"miniapiserver.1", []string{"man"}},
		{"completions/miniapiserver.bash", []string{"completion", "bash"}},
		{"completions/miniapiserver.zsh", []string{"completion", "zsh"}},
		{"completions/miniapiserver.fish", []string{"completion", "fish"}},
	} {
		text, err := exec.Command(own, page.args...).Output()
		if err != nil {
			return nil, fmt.Errorf("%s %v: %w", own, page.args, err)
		}
		entries = append(entries, archive.Entry{Name: page.name, Text: string(text), Mode: 0o644})
	}
	return entries, nil
}
