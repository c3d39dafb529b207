package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/miniapiserver/miniapiserver/internal/envtest"
	"github.com/miniapiserver/miniapiserver/server"
)

const envtestUsage = `miniapiserver envtest writes the programs kube-apiserver, etcd and kubectl, which
envtest of controller-runtime starts, into a directory, and prints the directory. The
first two are this server. kubectl runs the one in PATH.

  export KUBEBUILDER_ASSETS=$(miniapiserver envtest)

Usage:
  miniapiserver envtest [flags]

Flags:
`

// runEnvtest writes the programs for envtest, prints their directory and returns the exit
// status.
func runEnvtest(args []string, stdout, stderr io.Writer) int {
	p := &program{name: "miniapiserver envtest", stdout: stdout, stderr: stderr}
	served := envtest.Version(server.Version().GitVersion)
	fs := pflag.NewFlagSet(p.name, pflag.ContinueOnError)
	fs.Usage = func() {} // an error of a flag refers to --help instead
	binDir := fs.String("bin-dir", "", "Directory in which setup-envtest keeps programs, its --bin-dir. If empty, a directory in the user's cache.")
	wanted := fs.String("version", served, "Version of Kubernetes under which \"setup-envtest use -i\" finds the programs.")
	help := fs.BoolP("help", "h", false, "If true, this help is printed and nothing is written.")
	switch err := fs.Parse(args); {
	case err != nil:
		return p.fail(fmt.Errorf("%w (see --help)", err))
	case fs.NArg() > 0:
		return p.fail(fmt.Errorf("takes flags and no arguments, got %q (see --help)", fs.Arg(0)))
	case *help:
		_, err := io.WriteString(stdout, envtestUsage+fs.FlagUsages())
		return p.status(err)
	}
	dir, err := writePrograms(*binDir, *wanted, served)
	if err != nil {
		return p.fail(err)
	}
	_, err = fmt.Fprintln(stdout, dir)
	return p.status(err)
}

// writePrograms writes the programs for envtest and returns their directory.
func writePrograms(binDir, wanted, served string) (string, error) {
	wanted = strings.TrimPrefix(wanted, "v")
	if err := checkServed(wanted, served); err != nil {
		return "", err
	}
	if binDir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("%w; name a directory with --bin-dir", err)
		}
		binDir = filepath.Join(cache, "miniapiserver", "envtest")
	}
	binDir, err := filepath.Abs(binDir)
	if err != nil {
		return "", err
	}
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir := envtest.Dir(binDir, wanted, runtime.GOOS, runtime.GOARCH)
	return dir, envtest.Write(dir, own)
}

// checkServed returns an error unless the server has the behaviour of a version of Kubernetes:
// patch releases behave alike.
func checkServed(wanted, served string) error {
	want, err := version.ParseSemantic(wanted)
	if err != nil || wanted != fmt.Sprintf("%d.%d.%d", want.Major(), want.Minor(), want.Patch()) {
		return fmt.Errorf("--version: %q is not a version such as %s", wanted, served)
	}
	have, err := version.ParseSemantic(served)
	if err != nil {
		return fmt.Errorf("the version of Kubernetes of this build: %w", err)
	}
	if want.Major() != have.Major() || want.Minor() != have.Minor() {
		return fmt.Errorf("--version: this release serves Kubernetes %d.%d and not %d.%d", have.Major(), have.Minor(), want.Major(), want.Minor())
	}
	return nil
}
