// Command dist makes a release in a directory, reproducibly: the same checkout and toolchain give the same bytes.
//
//   - programs has the server for each platform.
//   - miniapiserver-OS-ARCH.tar.gz (.zip for Windows) has it with its man page and completions, and
//     miniapiserver-OS-ARCH.cdx.json is its bill of materials.
//   - The files that internal/dist/linux makes: packages for Debian and Red Hat, and the container image.
//   - envtest-*.tar.gz has the programs of package envtest, and envtest-releases.yaml is the index from which setup-envtest
//     downloads them. The index has all releases of Kubernetes that the server can emulate: the archive is the same for all,
//     and the server finds its release in the name of the directory that setup-envtest makes.
//   - packages has the packages for other languages, see package packages; making them needs npm, javac with the jars of
//     JUnit 5 as Debian installs them, and cargo.
//   - miniapiserver.rb is the formula of Homebrew.
//   - SHA512SUMS has the checksums of all of them.
//
// Usage:
//
//	go run ./internal/dist DIR URL PGO [OS/ARCH...]
//
// URL is where the archives will be. PGO is that of go build: auto, or off for a server that
// is slower and built in half the time. Without platforms it makes all; that of this machine must be among them.
package main

import (
	"context"
	"crypto/sha512"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/dist/archive"
	"github.com/miniapiserver/miniapiserver/internal/dist/packages"
	"github.com/miniapiserver/miniapiserver/internal/envtest"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/server"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: dist DIR URL auto|off [OS/ARCH...]")
		os.Exit(2)
	}
	if err := run(os.Args[1], strings.TrimSuffix(os.Args[2], "/"), os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// release is what is made.
type release struct {
	dir        string
	version    string // of the server, without a v
	kubernetes string // version that it serves
	programs   []program
	pages      []archive.Entry // that go along with each program
}

func run(dir, url, pgo string, only []string) error {
	if old, err := os.ReadDir(dir); err == nil && len(old) > 0 {
		return fmt.Errorf("%s has files, which may be of another release: remove it first", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	r := &release{dir: dir, kubernetes: envtest.Version(server.Version().GitVersion), programs: chosen(only)}
	if len(r.programs) == 0 {
		return fmt.Errorf("%v has no platform of a release", only)
	}
	for _, make := range []func() error{
		func() error { return r.build(pgo) },
		r.pack,
		func() error { return linuxPackages(r) },
		func() error {
			return packages.Build(context.Background(), "packaging", filepath.Join(dir, "packages"), r.files()...)
		},
		func() error { return writeFormula(filepath.Join(dir, "miniapiserver.rb"), url, r) },
		func() error { return r.sum(url) },
	} {
		if err := make(); err != nil {
			return err
		}
	}
	return nil
}

// files returns the paths of the programs.
func (r *release) files() (files []string) {
	for _, p := range r.programs {
		files = append(files, p.file(r.dir))
	}
	return files
}

// build builds the programs.
func (r *release) build(pgo string) (err error) {
	patched := filepath.Join(r.dir, "patched")
	goMod, err := patchModules(patched)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(patched)) }()
	for _, p := range r.programs {
		if err := p.build(r.dir, goMod, pgo); err != nil {
			return err
		}
	}
	info, err := buildinfo.ReadFile(r.files()[0])
	if err == nil {
		r.version = packages.Version(info)
	}
	return err
}

// pack makes the archives and the bills of materials.
func (r *release) pack() (err error) {
	if r.pages, err = pages(r.dir); err != nil {
		return err
	}
	for _, p := range r.programs {
		if err := p.pack(r); err != nil {
			return err
		}
		if err := writeBOM(filepath.Join(r.dir, p.name()+".cdx.json"), p.file(r.dir)); err != nil {
			return fmt.Errorf("the bill of materials of %s: %w", p.name(), err)
		}
	}
	return nil
}

// linuxPackages runs the module internal/dist/linux, whose libraries are not among the server's dependencies.
func linuxPackages(r *release) error {
	dir, err := filepath.Abs(r.dir)
	if err != nil {
		return err
	}
	man := filepath.Join(dir, "programs", "miniapiserver.1")
	if err := os.WriteFile(man, []byte(r.pages[0].Text), 0o644); err != nil {
		return err
	}
	c := exec.Command("go", "run", ".", "-dir", dir, "-version", r.version)
	c.Dir, c.Stdout, c.Stderr = filepath.Join("internal", "dist", "linux"), os.Stderr, os.Stderr
	return errors.Join(c.Run(), os.Remove(man))
}

// sum writes the checksums of all files, and the index of setup-envtest.
func (r *release) sum(url string) error {
	made, err := fs.Glob(os.DirFS(r.dir), "*")
	if err != nil {
		return err
	}
	more, err := fs.Glob(os.DirFS(r.dir), "packages/*/*")
	if err != nil {
		return err
	}
	var sums strings.Builder
	hashes := map[string]string{} // by file
	for _, file := range append(made, more...) {
		if info, err := os.Stat(filepath.Join(r.dir, file)); err != nil || info.IsDir() {
			continue
		}
		if hashes[file], err = checksum(filepath.Join(r.dir, file)); err != nil {
			return err
		}
		sums.WriteString(hashes[file] + "  " + file + "\n")
	}
	return errors.Join(
		os.WriteFile(filepath.Join(r.dir, "SHA512SUMS"), []byte(sums.String()), 0o644),
		os.WriteFile(filepath.Join(r.dir, "envtest-releases.yaml"), []byte(r.index(url, hashes)), 0o644))
}

func checksum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha512.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// index returns the index of setup-envtest for the archives, whose hashes are given.
func (r *release) index(url string, hashes map[string]string) string {
	releases := []string{r.kubernetes}
	for m := kubeversion.Oldest(); m.Before(kubeversion.Binary()); m.Minor++ {
		releases = append(releases, m.String()+".0")
	}
	var b strings.Builder
	b.WriteString("releases:\n")
	for _, release := range releases {
		b.WriteString("  v" + release + ":\n")
		for _, p := range r.programs {
			archive := envtest.ArchiveName(r.kubernetes, p.goos, p.goarch)
			fmt.Fprintf(&b, "    %s:\n      hash: %s\n      selfLink: %s/%s\n",
				envtest.ArchiveName(release, p.goos, p.goarch), hashes[archive], url, archive)
		}
	}
	return b.String()
}
