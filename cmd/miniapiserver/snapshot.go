package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/miniapiserver/miniapiserver/storage"
)

// etcdAccess name the data of a server.
type etcdAccess struct {
	dataDir string
	etcd    storage.Options
}

// addDataDir adds the flag that names the data directory of a server.
func addDataDir(fs *pflag.FlagSet, dir *string) {
	fs.StringVar(dir, "data-dir", ".miniapiserver", "Data directory of the server.")
}

func (f *etcdAccess) addServers(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.etcd.Servers, "etcd-servers", nil, "Comma-separated list of the URLs of an external etcd.")
	fs.StringVar(&f.etcd.CAFile, "etcd-cafile", "", "CA bundle used to verify an external etcd.")
	fs.StringVar(&f.etcd.CertFile, "etcd-certfile", "", "File containing the client certificate for an external etcd.")
	fs.StringVar(&f.etcd.KeyFile, "etcd-keyfile", "", "File containing the key of --etcd-certfile.")
}

// dir returns the directory of the embedded etcd.
func (f *etcdAccess) dir() string { return filepath.Join(f.dataDir, "etcd") }

// options returns how the etcd is reached.
func (f *etcdAccess) options() storage.Options {
	o := f.etcd
	if len(o.Servers) == 0 {
		o.Dir = f.dir()
	}
	return o
}

// snapshot returns the commands for snapshots of etcd.
func (c *commands) snapshot() *cobra.Command {
	cmd := &cobra.Command{
		Use: "snapshot", Short: "Save, restore and describe snapshots of etcd",
		Long: `snapshot saves the data of a running server, or restores them. A snapshot is in the
format of etcdctl and has no certificates and keys: copy the directory pki as well.`,
		Args: func(*cobra.Command, []string) error { return errNoFile },
		RunE: func(*cobra.Command, []string) error { return errNoFile },
	}
	cmd.AddCommand(c.saveSnapshot(), c.restoreSnapshot(), c.snapshotStatus())
	return cmd
}

var errNoFile = errors.New("takes save, restore or status, and the name of a file (see --help)")

// oneFile returns an error unless a command has the name of a file as its only argument.
func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("takes the name of a file (see --help)")
	}
	return nil
}

func (c *commands) saveSnapshot() *cobra.Command {
	f := &etcdAccess{}
	cmd := &cobra.Command{
		Use: "save FILE [flags]", Short: "Save a snapshot of a running server", Args: oneFile,
		Long: `save writes a snapshot of etcd to FILE. It needs a server that runs with the same
--data-dir, as the same user or root, or the flags by which the server reaches its etcd, of which
the first member that responds is saved.`,
		RunE: func(_ *cobra.Command, args []string) error {
			ctx, stop := untilStopped()
			defer stop()
			o, bar := f.options(), newProgress(c.stderr)
			o.Progress = bar.show
			size, err := storage.SaveSnapshot(ctx, o, args[0])
			bar.end()
			if err == nil {
				_, err = fmt.Fprintf(c.stdout, "Saved %d bytes to %s.\n", size, args[0])
			}
			return err
		},
	}
	addDataDir(cmd.Flags(), &f.dataDir)
	f.addServers(cmd.Flags())
	return cmd
}

func (c *commands) restoreSnapshot() *cobra.Command {
	f := &etcdAccess{}
	cmd := &cobra.Command{
		Use: "restore FILE [flags]", Short: "Restore a snapshot into a new data directory", Args: oneFile,
		Long: `restore creates the data of a new server in --data-dir from a snapshot, which may be compressed
with gzip. etcdutl restores it for the members of an external etcd.`,
		RunE: func(_ *cobra.Command, args []string) error {
			bar := newProgress(c.stderr)
			err := storage.RestoreSnapshot(args[0], f.dir(), bar.show)
			bar.end()
			if err == nil {
				_, err = fmt.Fprintf(c.stdout, "Restored %s into %s.\n", args[0], f.dir())
			}
			return err
		},
	}
	addDataDir(cmd.Flags(), &f.dataDir)
	return cmd
}

func (c *commands) snapshotStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status FILE", Short: "Verify a snapshot and describe it", Args: oneFile,
		Long: `status verifies the checksum of a snapshot and prints what "etcdutl snapshot status" prints: a
hash of its content, its revision, the number of its keys, and its size.`,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := storage.DescribeSnapshot(args[0])
			if err == nil {
				_, err = fmt.Fprintf(c.stdout, "Hash      %x\nRevision  %d\nKeys      %d\nSize      %d bytes\n", s.Hash, s.Revision, s.Keys, s.Size)
			}
			return err
		},
	}
}

// defrag returns the command that makes the database of etcd smaller.
func (c *commands) defrag() *cobra.Command {
	f := &etcdAccess{}
	cmd := &cobra.Command{
		Use: "defrag [flags]", Short: "Return free space of etcd to the file system", Args: noArguments,
		Long: `defrag makes the database of a running server as small as its data. Compaction leaves space
free in the file, which later writes use. Writes wait meanwhile. It needs what "snapshot save" needs.`,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := untilStopped()
			defer stop()
			before, after, err := storage.Defragment(ctx, f.options())
			if err == nil {
				_, err = fmt.Fprintf(c.stdout, "The database has %d bytes, and had %d.\n", after, before)
			}
			return err
		},
	}
	addDataDir(cmd.Flags(), &f.dataDir)
	f.addServers(cmd.Flags())
	return cmd
}

// untilStopped returns a context that a signal cancels.
func untilStopped() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}
