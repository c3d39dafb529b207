package servertest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/miniapiserver/miniapiserver/lab"
	"github.com/miniapiserver/miniapiserver/server"
)

// Rewound returns a server with what Shared.Fill made, and with nothing that an earlier test left. It takes milliseconds: the
// shared server goes back to the state after Fill. Tests that run in parallel get forks of it, which later tests use again.
//
// A test owns its server until it ends, may stop no part of it, and ends its own clients and controllers before.
func (s *Shared) Rewound(t testing.TB) *Server {
	t.Helper()
	one, err := s.acquire(t.Context())
	if err != nil {
		t.Fatalf("a server as it was: %v", err)
	}
	t.Cleanup(func() { s.release(one) })
	return one
}

// acquire returns a server that no other test has, in the state after Fill.
func (s *Shared) acquire(ctx context.Context) (*Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filled == nil && s.err == nil {
		s.err = s.fill(ctx)
	}
	if s.err != nil {
		return nil, s.err
	}
	if n := len(s.free); n > 0 {
		one := s.free[n-1]
		s.free = s.free[:n-1]
		return one, s.rewind(ctx, one)
	}
	fork, err := s.server.Fork(ctx, server.ForkOptions{To: s.filled})
	if err != nil {
		return nil, err
	}
	one, err := withClients(fork)
	if err != nil {
		return nil, err
	}
	s.forks = append(s.forks, one)
	if one.filled, err = fork.Lab().Checkpoint(ctx); err != nil {
		return nil, err
	}
	return one, nil
}

func (s *Shared) release(one *Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, one)
}

func (s *Shared) rewind(ctx context.Context, one *Server) error {
	return one.Lab().Rewind(ctx, one.filled)
}

// fill starts the server, unless a test has started it, and fills it.
func (s *Shared) fill(ctx context.Context) (err error) {
	if s.server == nil {
		s.Options.Lab.Enabled = true
		if s.server, err = s.start(); err != nil {
			return fmt.Errorf("starting the shared server: %w", err)
		}
	}
	if s.server.Lab() == nil {
		return errors.New("the shared server has no lab: a test has called Get first; set Options.Lab.Enabled")
	}
	if s.Fill != nil {
		if err := s.Fill(ctx, s.server); err != nil {
			return fmt.Errorf("filling the shared server: %w", err)
		}
	}
	if s.filled, err = s.server.Lab().Checkpoint(ctx); err != nil {
		return err
	}
	s.server.filled, s.free = s.filled, []*Server{s.server}
	return nil
}

// rewoundState is what Shared has for Rewound.
type rewoundState struct {
	filled      lab.Mark
	free, forks []*Server // free may have the shared server itself
}
