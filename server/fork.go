package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/miniapiserver/miniapiserver/internal/safefile"
	"github.com/miniapiserver/miniapiserver/lab"
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
	o.Serving.Port, o.Lab.Page = 0, 0
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

// copyCertificates copies the certificates and keys that the origin of a fork has generated.
func (p *builder) copyCertificates() error {
	if p.o.forkOf == nil || p.o.Serving.CertDir != p.o.defaultCertDir() {
		return nil // the two share a directory
	}
	from, to := p.o.forkOf.o.Serving.CertDir, p.o.Serving.CertDir
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
