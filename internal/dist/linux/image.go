package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user and the group of the server in a container, as in other images without a shell.
const nobody = 65532

// image writes the container image for all architectures as an OCI layout, in a tar archive. It is what the Dockerfile
// builds: the server, the certificate authorities of the web, and the directory of the data.
func (r release) image() error {
	dir, err := os.MkdirTemp(r.dir, ".image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range r.arches() {
		image, err := r.imageFor(arch)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	written, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version})
	if err := written.AppendIndex(index, named); err != nil {
		return err
	}
	return writeTar(filepath.Join(r.dir, "miniapiserver-image.tar"), dir)
}

func (r release) imageFor(arch string) (v1.Image, error) {
	content, err := r.layer(arch)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: buildTime}, Comment: "the server, and the certificate authorities of the web"}}); err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, r.config(image, arch))
}

// config returns the configuration of an image, which has a layer already. The health check is not part of OCI's
// specification: Docker follows it, Podman and Kubernetes do not.
func (r release) config(image v1.Image, arch string) *v1.ConfigFile {
	old, err := image.ConfigFile()
	if err != nil {
		panic(err) // it was made in this process
	}
	config := old.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: buildTime}
	config.Config = v1.Config{
		User: "65532:65532", Entrypoint: []string{"/miniapiserver", "--data-dir=/data", "--bind-address=0.0.0.0", "--secure-port=6443"},
		ExposedPorts: map[string]struct{}{"6443/tcp": {}}, Volumes: map[string]struct{}{"/data": {}}, WorkingDir: "/",
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/miniapiserver", "health", "--data-dir=/data"},
			Interval: 5 * time.Second, StartPeriod: 30 * time.Second},
		Labels: map[string]string{
			"org.opencontainers.image.title": "miniapiserver", "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.source": "https://github.com/miniapiserver/miniapiserver", "org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return config
}

// layer returns the files of an image as a tar archive.
func (r release) layer(arch string) ([]byte, error) {
	program, err := os.ReadFile(r.program(arch))
	if err != nil {
		return nil, err
	}
	license, err := os.ReadFile(filepath.Join("..", "..", "..", "LICENSE"))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []struct {
		name    string
		mode    int64
		owner   int
		content []byte
	}{
		{"data/", 0o700, nobody, nil},
		{"etc/", 0o755, 0, nil}, {"etc/ssl/", 0o755, 0, nil}, {"etc/ssl/certs/", 0o755, 0, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, authorities()},
		{"LICENSE", 0o644, 0, license},
		{"miniapiserver", 0o755, 0, program},
		{"tmp/", 0o1777, 0, nil},
	} {
		header := &tar.Header{Name: f.name, Typeflag: tar.TypeReg, Mode: f.mode, Uid: f.owner, Gid: f.owner,
			Size: int64(len(f.content)), ModTime: buildTime}
		if f.content == nil {
			header.Typeflag = tar.TypeDir
		}
		err = errors.Join(err, w.WriteHeader(header))
		if err == nil {
			_, err = w.Write(f.content)
		}
	}
	return b.Bytes(), errors.Join(err, w.Close())
}

// authorities returns the certificate authorities that Mozilla trusts, without those that it trusts for some names only.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}

// writeTar writes the files of a directory into a tar archive.
func writeTar(to, dir string) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: filepath.ToSlash(name), Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content)), ModTime: buildTime}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	return errors.Join(err, w.Close(), f.Close())
}
