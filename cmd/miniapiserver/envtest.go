package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/miniapiserver/miniapiserver/internal/envtest"
	"github.com/miniapiserver/miniapiserver/server"
)

// envtest returns the command that writes the programs for envtest and prints their directory.
func (c *commands) envtest() *cobra.Command {
	served := envtest.Version(server.Version().GitVersion)
	cmd := &cobra.Command{
		Use: "envtest [flags]", Short: "Write kube-apiserver, etcd and kubectl for envtest", Args: noArguments,
		Long: `envtest writes the programs kube-apiserver, etcd and kubectl, which
envtest of controller-runtime starts, into a directory, and prints the directory. The
first two are this server. kubectl runs the one in PATH. With the directory in PATH,
kubectl also has the plugin "kubectl lab". With --controllers, deleted namespaces end and the
objects of deleted owners are deleted.`,
		Example: `  export KUBEBUILDER_ASSETS=$(miniapiserver envtest)
  export KUBEBUILDER_ASSETS=$(miniapiserver envtest --controllers namespace,garbagecollector)`,
	}
	binDir := cmd.Flags().String("bin-dir", "",
		"Directory in which setup-envtest keeps programs, its --bin-dir. If empty, a directory in the user's cache.")
	wanted := cmd.Flags().String("version", served,
		"Release of Kubernetes that kube-apiserver has, such as 1.35 or 1.35.4, and as which \"setup-envtest use -i\" finds the programs. One of 1.34 to 1.37; an older one than that of this build is emulated as by --faithful-emulation.")
	controllers := cmd.Flags().String("controllers", "",
		"Controllers of kube-controller-manager that run in kube-apiserver, in the form of --controllers of the server, such as '*' for all. If empty, none, as in other programs for envtest. The programs are in a directory of their own in the user's cache, unless there is --bin-dir.")
	cmd.RunE = func(*cobra.Command, []string) error {
		dir, err := writePrograms(*binDir, *wanted, served, *controllers)
		if err == nil {
			_, err = fmt.Fprintln(c.stdout, dir)
		}
		return err
	}
	return cmd
}

// writePrograms writes the programs for envtest and returns their directory.
func writePrograms(binDir, wanted, served, controllers string) (string, error) {
	release, err := releaseOf(wanted, served)
	if err != nil {
		return "", err
	}
	if err := server.NewKubeAPIServerCommandLine().SetControllers(controllers); err != nil {
		return "", fmt.Errorf("--controllers: %w", err)
	}
	if binDir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("%w; name a directory with --bin-dir", err)
		}
		binDir = filepath.Join(cache, "miniapiserver", "envtest")
		if controllers != "" {
			binDir += "-" + strings.NewReplacer("*", "all", ",", "+").Replace(controllers)
		}
	}
	if binDir, err = filepath.Abs(binDir); err != nil {
		return "", err
	}
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir := envtest.Dir(binDir, release, runtime.GOOS, runtime.GOARCH)
	return dir, envtest.Write(dir, own, release, controllers)
}

// releaseOf returns the release that a version such as 1.35 or v1.35.4 means. Without a patch
// number it is the newest one for the minor version of the build, and the first one for others:
// patch releases behave alike.
func releaseOf(wanted, served string) (string, error) {
	text := strings.TrimPrefix(wanted, "v")
	v, err := version.ParseGeneric(text)
	if err != nil || text != fmt.Sprintf("%d.%d", v.Major(), v.Minor()) && text != fmt.Sprintf("%d.%d.%d", v.Major(), v.Minor(), v.Patch()) {
		return "", fmt.Errorf("--version: %q is not a version such as %s or 1.35", wanted, served)
	}
	minor := fmt.Sprintf("%d.%d", v.Major(), v.Minor())
	switch err := server.NewKubeAPIServerCommandLine().SetRelease(minor + ".0"); {
	case err != nil:
		return "", fmt.Errorf("--version: %w", err)
	case text != minor:
		return text, nil
	case strings.HasPrefix(served, minor+"."):
		return served, nil
	}
	return minor + ".0", nil
}
