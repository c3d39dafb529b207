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
// kube-apiserver, in the form of --controllers. None run if it is not set, since they
// belong to kube-controller-manager.
const controllersVariable = "MINIAPISERVER_CONTROLLERS"

// labVariable is the environment variable that turns on the lab of kube-apiserver, in the form of --lab.
const labVariable = "MINIAPISERVER_LAB"

// runKubeAPIServer runs kube-apiserver and returns its exit status.
func runKubeAPIServer(args []string, stdout, stderr io.Writer) int {
	defer watchParent(args).removeDirs()
	p := &program{name: asKubeAPIServer, began: time.Now(), stdout: stdout, stderr: stderr, flags: server.NewKubeAPIServerCommandLine()}
	if err := p.flags.SetControllers(os.Getenv(controllersVariable)); err != nil {
		return p.fail(fmt.Errorf("%s: %w", controllersVariable, err))
	}
	if own, err := os.Executable(); err == nil {
		dir := filepath.Dir(own)
		if release := envtest.Release(dir); release != "" {
			if err := p.flags.SetRelease(release); err != nil {
				return p.fail(fmt.Errorf("the programs in %s are for Kubernetes %s: %w", dir, release, err))
			}
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
