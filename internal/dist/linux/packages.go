package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// packager makes packages of a format.
type packager interface {
	nfpm.Packager
	ConventionalFileName(*nfpm.Info) string
}

// packages makes a .deb and a .rpm for each architecture. The unit is installed and not started: its flags are the
// administrator's business.
func (r release) packages() error {
	unit, err := r.unit()
	if err != nil {
		return err
	}
	defer os.Remove(unit)
	for _, arch := range r.arches() {
		for _, format := range []packager{deb.Default, rpm.DefaultRPM} {
			if err := r.makePackage(format, arch, unit); err != nil {
				return fmt.Errorf("the package for %s: %w", arch, err)
			}
		}
	}
	return nil
}

// unit writes the unit with the path that the program has in a package, and returns its file.
func (r release) unit() (string, error) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "packaging", "systemd", "miniapiserver.service"))
	if err != nil {
		return "", err
	}
	const own, packaged = "/usr/local/bin/miniapiserver", "/usr/bin/miniapiserver"
	if strings.Count(string(text), own) != 1 {
		return "", fmt.Errorf("the unit does not have %s once", own)
	}
	file := filepath.Join(r.dir, "miniapiserver.service")
	return file, os.WriteFile(file, []byte(strings.Replace(string(text), own, packaged, 1)), 0o644)
}

func (r release) makePackage(format packager, arch, unit string) error {
	root := filepath.Join("..", "..", "..")
	content := func(from, to string, mode os.FileMode) *files.Content {
		return &files.Content{Source: from, Destination: to, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: buildTime}}
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "miniapiserver", Arch: arch, Platform: "linux", Version: r.version, Release: "1", MTime: buildTime,
		Section: "net", Priority: "optional", License: "Apache-2.0", Homepage: "https://github.com/miniapiserver/miniapiserver",
		Maintainer:  "The authors of miniapiserver <miniapiserver@users.noreply.github.com>",
		Description: "Kubernetes API server in one binary, with etcd inside",
		Overridables: nfpm.Overridables{
			Scripts: nfpm.Scripts{PostInstall: filepath.Join(root, "packaging", "systemd", "postinstall.sh")},
			Contents: files.Contents{
				content(r.program(arch), "/usr/bin/miniapiserver", 0o755),
				content(unit, "/usr/lib/systemd/system/miniapiserver.service", 0o644),
				content(filepath.Join(root, "packaging", "systemd", "miniapiserver.conf"), "/usr/lib/sysusers.d/miniapiserver.conf", 0o644),
				content(filepath.Join(r.dir, "programs", "miniapiserver.1"), "/usr/share/man/man1/miniapiserver.1", 0o644),
				content(filepath.Join(root, "LICENSE"), "/usr/share/doc/miniapiserver/copyright", 0o644),
			},
			RPM: nfpm.RPM{BuildHost: "localhost"},
		},
	})
	if err := nfpm.PrepareForPackager(info, map[packager]string{deb.Default: "deb", rpm.DefaultRPM: "rpm"}[format]); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(r.dir, format.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	return errors.Join(format.Package(info, out), out.Close())
}
