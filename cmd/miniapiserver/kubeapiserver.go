package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/envtest"
	"github.com/miniapiserver/miniapiserver/server"
)

// controllersVariable is the environment variable with the controllers that run beside
// kube-apiserver, in the form of --controllers. Without it, those run that "miniapiserver envtest" was
// called with, and else none, since they belong to kube-controller-manager.
const controllersVariable = "MINIAPISERVER_CONTROLLERS"

// labVariable is the environment variable that turns on the lab of kube-apiserver, in the form of --lab.
const labVariable = "MINIAPISERVER_LAB"

// runKubeAPIServer runs kube-apiserver and returns its exit status.
func runKubeAPIServer(args []string, stdout, stderr io.Writer) int {
	p := &program{name: asKubeAPIServer, began: time.Now(), stdout: stdout, stderr: stderr, flags: server.NewKubeAPIServerCommandLine(),
		parent: watchParent(args)}
	defer p.parent.removeDirs()
	if err := p.readProgramFiles(); err != nil {
		return p.fail(err)
	}
	if text := os.Getenv(controllersVariable); text != "" {
		if err := p.flags.SetControllers(text); err != nil {
			return p.fail(fmt.Errorf("%s: %w", controllersVariable, err))
		}
	}
	o, err := parseFlags(p.flags, args)
	if err != nil {
		return p.fail(err)
	}
	switch {
	case p.flags.Help:
		return p.status(printHelp(stdout, kubeUsage, p.flags.Flags()))
	case p.flags.Version != "":
		return p.status(printVersion(stdout, "Kubernetes", p.flags))
	}
	if text := os.Getenv(labVariable); text != "" {
		if o.Lab.Enabled, err = strconv.ParseBool(text); err != nil {
			return p.fail(fmt.Errorf("%s: %q is neither true nor false", labVariable, text))
		}
	}
	return p.serve(o, func(*server.Server) {})
}

// readProgramFiles takes the release of Kubernetes and the controllers from the files that "miniapiserver envtest" has
// written beside this program. No controllers run without them.
func (p *program) readProgramFiles() error {
	own, err := os.Executable()
	if err != nil {
		return p.flags.SetControllers("")
	}
	dir := filepath.Dir(own)
	if err := p.flags.SetControllers(envtest.Controllers(dir)); err != nil {
		return fmt.Errorf("the controllers of the programs in %s: %w", dir, err)
	}
	if release := envtest.Release(dir); release != "" {
		if err := p.flags.SetRelease(release); err != nil {
			return fmt.Errorf("the programs in %s are for Kubernetes %s: %w", dir, release, err)
		}
	}
	return nil
}
