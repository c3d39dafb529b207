package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapiserver/miniapiserver/internal/safefile"
	"github.com/miniapiserver/miniapiserver/lab"
	"github.com/miniapiserver/miniapiserver/lab/remote"
	"github.com/miniapiserver/miniapiserver/storage"
)

// ForkOptions configure a fork. Their zero value makes one of the present state.
type ForkOptions struct {
	// To is a state of the server, from its lab, with which the fork begins; nil means the present one.
	To lab.Mark
	// Dir is the data directory of the fork, which must be empty; "" means a temporary one that Stop removes.
	Dir string
}

// Fork starts a second, independent server with the same objects and the same history, options, certificate authority and signing
// keys, on a free port. It returns when the fork is ready. The server goes on meanwhile, and neither sees later writes of the
// other. Its etcd must be embedded.
func (s *Server) Fork(ctx context.Context, f ForkOptions) (*Server, error) {
	return s.fork(ctx, f, s.o.Lab.Enabled)
}

// fork starts a fork, with or without a lab.
func (s *Server) fork(ctx context.Context, f ForkOptions, withLab bool) (*Server, error) {
	if s.store == nil || !s.store.CanFork() {
		return nil, fmt.Errorf("fork: %w", storage.ErrNotEmbedded)
	}
	if f.To != nil && s.lab == nil {
		return nil, errors.New("fork: an earlier state needs a server with Options.Lab")
	}
	if s.tokenKeys != nil {
		if _, err := s.tokenKeys.Generate(); err != nil { // the fork must have the key that later tokens are signed with
			return nil, fmt.Errorf("fork: %w", err)
		}
	}
	o := s.o
	o.forkOf, o.Dir, o.oneOfMany = s, f.Dir, false
	o.Etcd.Snapshot, o.Etcd.SnapshotInterval = "", 0
	o.Serving.Port, o.Lab.Page, o.Lab.SecondPort, o.Lab.Enabled = 0, 0, 0, withLab
	if o.Serving.InsecurePort != 0 {
		o.Serving.InsecurePort = -1
	}
	if o.Serving.CertDir == s.o.defaultCertDir() {
		o.Serving.CertDir = ""
	}
	fork, err := Start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("fork: %w", err)
	}
	if f.To == nil {
		return fork, nil
	}
	// The fork has the history of its origin, and so its states.
	then, err := fork.reg.MarkAt(ctx, f.To.Revision())
	if err == nil {
		err = fork.lab.Rewind(ctx, then)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fork: %w", err), fork.Stop(ctx))
	}
	return fork, nil
}

// saveState writes a state as an etcd snapshot: that of a fork which went back to it, unless it is the present one.
func (s *Server) saveState(ctx context.Context, m lab.Mark, w io.Writer) error {
	now, err := s.lab.Checkpoint(ctx)
	if err != nil {
		return err
	}
	if len(m.Differences(now, nil)) == 0 {
		return s.store.WriteSnapshot(w)
	}
	fork, err := s.Fork(ctx, ForkOptions{To: m})
	if err != nil {
		return err
	}
	return errors.Join(fork.store.WriteSnapshot(w), fork.Stop(context.WithoutCancel(ctx)))
}

// copyCertificates copies the certificates and keys that the origin of a fork has generated.
func (p *builder) copyCertificates() error {
	if p.o.forkOf == nil || p.o.Serving.CertDir != p.o.defaultCertDir() {
		return nil // the two share a directory
	}
	return copyFiles(p.o.forkOf.o.Serving.CertDir, p.o.Serving.CertDir)
}

// copyFiles copies the files of a directory, which only their owner may read.
func copyFiles(from, to string) error {
	files, err := os.ReadDir(from)
	if err == nil {
		err = safefile.MakeDir(to, 0o700)
	}
	for _, file := range files {
		if err != nil {
			break
		}
		var data []byte
		if data, err = os.ReadFile(filepath.Join(from, file.Name())); err == nil {
			err = safefile.Write(filepath.Join(to, file.Name()), data, 0o600, false)
		}
	}
	return err
}

// Fork begins a server as a fork of one in another process.
type Fork struct {
	Of         string // --fork-of: kubeconfig file of the other server, which has a lab
	Checkpoint string // --fork-checkpoint; empty means the present state
}

// originFile is the file in the data directory with the objects of --fork-of, until etcd has them.
const originFile = "origin.db"

// downloadOrigin gets the objects of the server that --fork-of names, and its certificates and keys if they are where that server
// keeps them, beside the kubeconfig file.
func (p *builder) downloadOrigin() error {
	if p.o.Fork.Of == "" {
		return nil
	}
	p.waiting.begin("the server of --fork-of")
	ctx, cancel := context.WithTimeout(p.lifetime, p.o.Etcd.InitializationTimeout)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", p.o.Fork.Of)
	if err == nil {
		err = p.saveOrigin(ctx, config)
	}
	if err != nil {
		return fmt.Errorf("--fork-of %s: %w", p.o.Fork.Of, err)
	}
	if keys := filepath.Join(filepath.Dir(p.o.Fork.Of), "pki"); p.o.Serving.CertDir == p.o.defaultCertDir() {
		if err := copyFiles(keys, p.o.Serving.CertDir); errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			p.logger.Warn("the fork has a certificate authority and keys of its own, because those of the other server cannot be read", "dir", keys)
		} else if err != nil {
			return fmt.Errorf("--fork-of: %w", err)
		}
	}
	return nil
}

// saveOrigin saves the snapshot of a Checkpoint of another server, and has etcd begin with it.
func (p *builder) saveOrigin(ctx context.Context, config *rest.Config) error {
	origin, err := remote.New(config)
	if err != nil {
		return err
	}
	name := p.o.Fork.Checkpoint
	if name == "" {
		if name, err = origin.CreateCheckpoint(ctx); err != nil {
			return err
		}
		defer func() {
			if err := origin.DeleteCheckpoint(ctx, name); err != nil {
				p.logger.Warn("the checkpoint for the fork was not deleted", "checkpoint", name, "error", err)
			}
		}()
	}
	file, err := safefile.Create(filepath.Join(p.o.Dir, originFile))
	if err != nil {
		return err
	}
	defer file.Discard()
	if err := origin.Snapshot(ctx, name, file); err != nil {
		return err
	}
	if err := file.Commit(0o600, false); err != nil {
		return err
	}
	p.o.Etcd.Snapshot = filepath.Join(p.o.Dir, originFile)
	p.atEnd(func(context.Context) error { return removeIfExists(p.o.Etcd.Snapshot) })
	return nil
}

func removeIfExists(file string) error {
	if err := os.Remove(file); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// checkForkOf checks what cannot be together with --fork-of.
func (o *Options) checkForkOf() error {
	switch {
	case o.Fork.Of == "":
		return nil
	case len(o.Etcd.Servers) > 0:
		return errors.New("cannot be together with --etcd-servers: the fork has an etcd of its own")
	case o.Etcd.Snapshot != "":
		return errors.New("cannot be together with --etcd-snapshot")
	}
	return nil
}

// checkForkCheckpoint checks that there is a server of which the checkpoint is.
func (o *Options) checkForkCheckpoint() error {
	if o.Fork.Checkpoint != "" && o.Fork.Of == "" {
		return errors.New("needs --fork-of, the server that has the checkpoint")
	}
	return nil
}
