// Package member runs etcd as a process of its own, with the flags, environment
// variables and listeners of the command etcd.
package member

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"go.etcd.io/etcd/api/v3/version"

	"github.com/miniapiserver/miniapiserver/storage"
)

// Run runs etcd with a command line until ctx is done or etcd fails. With --help or
// --version it only prints to stdout. It calls ready when etcd serves requests. An error
// about a flag names it.
func Run(ctx context.Context, args []string, stdout io.Writer, ready func()) error {
	c := newCommandLine()
	if err := c.parse(args); err != nil {
		return err
	}
	switch {
	case c.help:
		return c.printHelp(stdout)
	case c.version:
		_, err := fmt.Fprintf(stdout, "etcd Version: %s\nGit SHA: %s\nGo Version: %s\nGo OS/Arch: %s/%s\n",
			version.Version, version.GitSHA, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	}
	cfg, err := c.complete()
	if err != nil {
		return err
	}
	cfg.SetupGlobalLoggers()
	etcd, err := storage.StartMember(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it was ready
		}
		return err
	}
	defer etcd.Close()
	ready()
	select {
	case <-ctx.Done():
		return nil
	case <-etcd.Server.StopNotify():
		return nil
	case err := <-etcd.Err():
		return fmt.Errorf("serving: %w", err)
	}
}
