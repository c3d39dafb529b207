// Command dist builds the archives of a release into a directory: for each platform the
// server, and the programs of package envtest; their checksums in SHA512SUMS; and
// envtest-releases.yaml, the index from which setup-envtest downloads archives. The index has all
// releases of Kubernetes that the server can emulate: the archive is the same for all, and the
// server finds its release in the name of the directory that setup-envtest makes. The directory
// packages has the packages for other languages, see package packages; making them needs npm,
// javac with the jars of JUnit 5 as Debian installs them, and cargo.
//
//	go run ./internal/dist DIR URL PGO
//
// URL is where the archives will be. PGO is that of go build: auto, or off for a server that
// is slower and built in half the time.
package main

import (
	"context"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/dist/packages"
	"github.com/miniapiserver/miniapiserver/internal/envtest"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/server"
)

var platforms = [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: dist DIR URL auto|off")
		os.Exit(2)
	}
	if err := run(os.Args[1], strings.TrimSuffix(os.Args[2], "/"), os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(dir, url, pgo string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	version := envtest.Version(server.Version().GitVersion)
	var servers, files []string
	for _, p := range platforms {
		name := "miniapiserver-" + p[0] + "-" + p[1]
		if err := build(filepath.Join(dir, name), p[0], p[1], pgo); err != nil {
			return fmt.Errorf("building for %s/%s: %w", p[0], p[1], err)
		}
		archive := envtest.ArchiveName(version, p[0], p[1])
		if err := pack(filepath.Join(dir, archive), filepath.Join(dir, name)); err != nil {
			return err
		}
		servers, files = append(servers, filepath.Join(dir, name)), append(files, name, archive)
	}
	if err := packages.Build(context.Background(), "packaging", filepath.Join(dir, "packages"), servers...); err != nil {
		return err
	}
	made, err := fs.Glob(os.DirFS(dir), "packages/*/*")
	if err != nil {
		return err
	}
	var sums strings.Builder
	hashes := map[string]string{} // by file
	for _, file := range append(files, made...) {
		if hashes[file], err = checksum(filepath.Join(dir, file)); err != nil {
			return err
		}
		sums.WriteString(hashes[file] + "  " + file + "\n")
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "SHA512SUMS"), []byte(sums.String()), 0o644),
		os.WriteFile(filepath.Join(dir, "envtest-releases.yaml"), []byte(index(version, url, hashes)), 0o644))
}

// build builds the server for a platform.
func build(to, goos, goarch, pgo string) error {
	c := exec.Command("go", "build", "-pgo="+pgo, "-trimpath", "-ldflags", "-s -w", "-o", to, "./cmd/miniapiserver")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return c.Run()
}

func pack(to, program string) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	return errors.Join(envtest.WriteArchive(f, program), f.Close())
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

// index returns the index of setup-envtest for the archives of a version, whose hashes are given.
func index(version, url string, hashes map[string]string) string {
	releases := []string{version}
	for m := kubeversion.Oldest(); m.Before(kubeversion.Binary()); m.Minor++ {
		releases = append(releases, m.String()+".0")
	}
	var b strings.Builder
	b.WriteString("releases:\n")
	for _, release := range releases {
		b.WriteString("  v" + release + ":\n")
		for _, p := range platforms {
			archive := envtest.ArchiveName(version, p[0], p[1])
			fmt.Fprintf(&b, "    %s:\n      hash: %s\n      selfLink: %s/%s\n",
				envtest.ArchiveName(release, p[0], p[1]), hashes[archive], url, archive)
		}
	}
	return b.String()
}
