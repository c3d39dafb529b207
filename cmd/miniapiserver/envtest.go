package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

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
	version := fs.String("version", served, "Version of Kubernetes under which \"setup-envtest use -i\" finds the programs.")
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
	dir, err := writePrograms(*binDir, *version, served)
	if err != nil {
		return p.fail(err)
	}
	_, err = fmt.Fprintln(stdout, dir)
	return p.status(err)
}

// writePrograms writes the programs for envtest and returns their directory.
func writePrograms(binDir, version, served string) (string, error) {
	version = strings.TrimPrefix(version, "v")
	if err := checkServed(version, served); err != nil {
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
	dir := envtest.Dir(binDir, version, runtime.GOOS, runtime.GOARCH)
	return dir, envtest.Write(dir, own)
}

// checkServed returns an error unless the server has the behaviour of a version of Kubernetes:
// patch releases behave alike.
func checkServed(version, served string) error {
	var major, minor, patch, servedMajor, servedMinor int
	if n, _ := fmt.Sscanf(version+" ", "%d.%d.%d ", &major, &minor, &patch); n != 3 || version != fmt.Sprintf("%d.%d.%d", major, minor, patch) {
		return fmt.Errorf("--version: %q is not a version such as %s", version, served)
	}
	if _, err := fmt.Sscanf(served, "%d.%d", &servedMajor, &servedMinor); err != nil {
		return errors.New("this build has no version of Kubernetes")
	}
	if major != servedMajor || minor != servedMinor {
		return fmt.Errorf("--version: this release serves Kubernetes %d.%d and not %d.%d", servedMajor, servedMinor, major, minor)
	}
	return nil
}
