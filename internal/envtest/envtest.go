// Package envtest lays this server out as the programs that envtest of controller-runtime
// starts: kube-apiserver and etcd, which are both this server, and kubectl, which runs
// the one of the user. The scripts kubectl-lab and kubectl_complete-lab are the plugin "kubectl lab", which is this
// server as well; a script is small in an archive, which has no links. A file beside them has the servers end with the process that
// started them, since a test that is killed stops nothing. Other files have the release of
// Kubernetes that kube-apiserver has, and the controllers that run in it, since test suites pass no flags for them. The command
// miniapiserver writes them into a directory, and internal/dist into archives.
//
// Names of directories and archives are those of the program setup-envtest, which finds
// such directories by "use -i" and takes such archives by "sideload" or from an index.
package envtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/safefile"
)

// The scripts of a system: kubectl runs the one in PATH, plugin calls kube-apiserver beside it as the plugin of kubectl
// that the script's own name is, and etcd calls it as etcd.
var (
	//go:embed kubectl.sh
	kubectlUnix []byte
	//go:embed plugin.sh
	pluginUnix []byte
	//go:embed etcd.sh
	etcdUnix []byte
	//go:embed kubectl.cmd
	kubectlWindows []byte
	//go:embed plugin.cmd
	pluginWindows []byte
)

// serverNames are the names under which the server is called, without the suffix of programs.
var serverNames = []string{serverName, etcdName}

// script is a program that is not the server.
type script struct {
	name string
	text []byte
}

// scripts returns the scripts for a system.
func scripts(goos string) []script {
	suffix, kubectl, plugin := "", kubectlUnix, pluginUnix
	if goos == "windows" {
		suffix, kubectl, plugin = ".cmd", kubectlWindows, pluginWindows
	}
	return []script{{kubectlName + suffix, kubectl}, {"kubectl-lab" + suffix, plugin}, {"kubectl_complete-lab" + suffix, plugin}}
}

const (
	serverName  = "kube-apiserver"
	etcdName    = "etcd"
	kubectlName = "kubectl"

	// markName is the name of a file that marks a directory whose servers end with the process that
	// started them.
	markName = "ends-with-parent"
	mark     = "The servers in this directory end when the process that started them does.\n"

	// releaseName is the name of a file with the release of Kubernetes that kube-apiserver has.
	releaseName = "kubernetes-release"

	// controllersName is the name of a file with the controllers that run in kube-apiserver.
	controllersName = "controllers"
)

// ProgramName returns the name of the file of a program: etcd.exe for etcd on Windows.
func ProgramName(name, goos string) string {
	if goos == "windows" {
		return name + ".exe"
	}
	return name
}

// Version returns the number in a version of Kubernetes: 1.37.2 for v1.37.2+miniapiserver.
func Version(gitVersion string) string {
	number, _, _ := strings.Cut(strings.TrimPrefix(gitVersion, "v"), "+")
	return number
}

// baseName returns the name of a directory with the programs, without the path:
// 1.37.2-linux-amd64.
func baseName(version, goos, goarch string) string {
	return version + "-" + goos + "-" + goarch
}

// ArchiveName returns the name of an archive with the programs.
func ArchiveName(version, goos, goarch string) string {
	return "envtest-v" + baseName(version, goos, goarch) + ".tar.gz"
}

// Dir returns the directory below binDir, the --bin-dir of setup-envtest, in which
// setup-envtest looks for the programs.
func Dir(binDir, version, goos, goarch string) string {
	return filepath.Join(binDir, "k8s", baseName(version, goos, goarch))
}

// Write writes the programs into dir, which it creates. It returns an error if another user could replace
// the programs. server is the path of the server's
// executable, release the release of Kubernetes that it is to have, such as 1.35.4, and controllers what is to run in
// it, in the form of --controllers, or "" for none. Programs that run already, from an earlier Write, are not disturbed.
func Write(dir, server, release, controllers string) error {
	if err := safefile.MakeDir(dir, 0o755); err != nil {
		return err
	}
	for _, name := range serverNames {
		if err := linkOrCopy(server, filepath.Join(dir, ProgramName(name, runtime.GOOS))); err != nil {
			return err
		}
	}
	for _, s := range scripts(runtime.GOOS) {
		if err := update(filepath.Join(dir, s.name), s.text); err != nil {
			return err
		}
	}
	return errors.Join(update(filepath.Join(dir, markName), []byte(mark)),
		update(filepath.Join(dir, releaseName), []byte(release+"\n")),
		update(filepath.Join(dir, controllersName), []byte(controllers+"\n")))
}

// Controllers returns the controllers that Write was called with for dir, or "".
func Controllers(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, controllersName))
	if err != nil || !EndsWithParent(dir) {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Release returns the release of Kubernetes that kube-apiserver in dir has: the one in the file that
// Write wrote or, for the programs of an archive, the one in the name of the directory that
// setup-envtest made for them. It returns "" if dir has no such programs, or no release.
func Release(dir string) string {
	if !EndsWithParent(dir) {
		return ""
	}
	if text, err := os.ReadFile(filepath.Join(dir, releaseName)); err == nil {
		return strings.TrimSpace(string(text))
	}
	if release, ok := strings.CutSuffix(filepath.Base(dir), baseName("", runtime.GOOS, runtime.GOARCH)); ok {
		return release
	}
	return ""
}

// EndsWithParent reports whether the servers in dir end with the process that started them.
func EndsWithParent(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, markName))
	return err == nil
}

// update writes a file if it has another content.
func update(file string, content []byte) error {
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, content) {
		return nil
	}
	return replace(file, func(temp string) error { return writeFile(temp, bytes.NewReader(content)) })
}

// linkOrCopy makes to the same file as from or, on another file system, a copy of it. It does
// nothing if to is that already.
func linkOrCopy(from, to string) error {
	source, err := os.Stat(from)
	if err != nil {
		return err
	}
	if old, err := os.Stat(to); err == nil {
		copied := old.Size() == source.Size() && old.ModTime().Equal(source.ModTime())
		if os.SameFile(old, source) || copied {
			return nil
		}
	}
	return replace(to, func(temp string) error {
		if os.Link(from, temp) == nil {
			return nil
		}
		in, err := os.Open(from)
		if err != nil {
			return err
		}
		defer in.Close()
		if err := writeFile(temp, in); err != nil {
			return err
		}
		return os.Chtimes(temp, time.Time{}, source.ModTime())
	})
}

// replace replaces a file atomically by the file that write creates at a temporary path.
func replace(file string, write func(temp string) error) error {
	dir, err := os.MkdirTemp(filepath.Dir(file), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	temp := filepath.Join(dir, filepath.Base(file))
	if err := write(temp); err != nil {
		return err
	}
	return os.Rename(temp, file)
}

// writeFile writes an executable file.
func writeFile(file string, content io.Reader) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// WriteArchive writes a compressed tar archive of the programs, with the server only once. It
// has only regular files, because setup-envtest takes no others, and the same bytes for the same executable, which is for
// the system goos. launcher is the executable of package etcdlauncher, which Windows needs in place of a script.
func WriteArchive(w io.Writer, server, goos, launcher string) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	if err := addFile(archive, ProgramName(serverName, goos), server); err != nil {
		return fmt.Errorf("%s: %w", serverName, err)
	}
	scripts := scripts(goos)
	if goos != "windows" {
		scripts = append(scripts, script{etcdName, etcdUnix})
	} else if err := addFile(archive, ProgramName(etcdName, goos), launcher); err != nil {
		return fmt.Errorf("%s: %w", etcdName, err)
	}
	for _, s := range scripts {
		if err := add(archive, s.name, int64(len(s.text)), bytes.NewReader(s.text)); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return errors.Join(
		add(archive, markName, int64(len(mark)), strings.NewReader(mark)),
		archive.Close(), compressed.Close())
}

func addFile(archive *tar.Writer, name, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return add(archive, name, info.Size(), f)
}

func add(archive *tar.Writer, name string, size int64, content io.Reader) error {
	header := &tar.Header{Name: path.Join("controller-tools/envtest", name), Typeflag: tar.TypeReg, Mode: 0o755, Size: size}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(archive, content)
	return err
}
