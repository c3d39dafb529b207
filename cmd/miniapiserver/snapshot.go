package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/miniapiserver/miniapiserver/storage"
)

const snapshotUsage = `miniapiserver snapshot saves the data of a running server, or restores them.

save writes a snapshot of etcd to FILE, in the format of etcdctl. It needs a server that
runs with the same --data-dir, as the same user or root, or the flags by which the
server reaches its etcd. restore creates the data of a new server in --data-dir. A
snapshot has no certificates and keys: copy the directory pki as well.

Usage:
  miniapiserver snapshot save FILE [flags]
  miniapiserver snapshot restore FILE [flags]

Flags:
`

// snapshotCommand is a command line of runSnapshot.
type snapshotCommand struct {
	verb, file string
	dataDir    string // of the server
	etcd       storage.Options
}

// runSnapshot saves or restores a snapshot of etcd and returns the exit status.
func runSnapshot(args []string, stdout, stderr io.Writer) int {
	p := &program{name: "miniapiserver snapshot", stdout: stdout, stderr: stderr}
	c := &snapshotCommand{}
	fs := pflag.NewFlagSet(p.name, pflag.ContinueOnError)
	fs.Usage = func() {} // an error of a flag refers to --help instead
	fs.StringVar(&c.dataDir, "data-dir", ".miniapiserver", "Data directory of the server.")
	fs.StringSliceVar(&c.etcd.Servers, "etcd-servers", nil, "With save: comma-separated list of the URLs of an external etcd. The first member that responds is saved.")
	fs.StringVar(&c.etcd.CAFile, "etcd-cafile", "", "CA bundle used to verify an external etcd.")
	fs.StringVar(&c.etcd.CertFile, "etcd-certfile", "", "File containing the client certificate for an external etcd.")
	fs.StringVar(&c.etcd.KeyFile, "etcd-keyfile", "", "File containing the key of --etcd-certfile.")
	help := fs.BoolP("help", "h", false, "If true, this help is printed and nothing is done.")
	if err := fs.Parse(args); err != nil {
		return p.fail(fmt.Errorf("%w (see --help)", err))
	}
	if *help {
		_, err := io.WriteString(stdout, snapshotUsage+fs.FlagUsages())
		return p.status(err)
	}
	if fs.NArg() != 2 || fs.Arg(0) != "save" && fs.Arg(0) != "restore" {
		return p.fail(errors.New("takes save or restore, and the name of a file (see --help)"))
	}
	c.verb, c.file = fs.Arg(0), fs.Arg(1)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	message, err := c.run(ctx)
	if err == nil {
		_, err = fmt.Fprintln(stdout, message)
	}
	return p.status(err)
}

// run returns a message about what was done.
func (c *snapshotCommand) run(ctx context.Context) (string, error) {
	dir := filepath.Join(c.dataDir, "etcd")
	if c.verb == "restore" {
		if len(c.etcd.Servers) > 0 {
			return "", errors.New("--etcd-servers: a snapshot is restored into --data-dir; etcdutl restores it for the members of an external etcd")
		}
		if err := storage.RestoreSnapshot(c.file, dir); err != nil {
			return "", err
		}
		return fmt.Sprintf("Restored %s into %s.", c.file, dir), nil
	}
	if len(c.etcd.Servers) == 0 {
		c.etcd.Dir = dir
	}
	size, err := storage.SaveSnapshot(ctx, c.etcd, c.file)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Saved %d bytes to %s.", size, c.file), nil
}
