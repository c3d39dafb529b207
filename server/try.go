package server

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/lab/try"
)

// Try runs a program against a fork, and returns what it changed there, what was refused and why, and which webhooks were asked. The
// fork has a lab, and ends with the call; the server stays as it is. The configuration has the rights of the administrator. An error
// of the program comes with what it changed until then.
func (s *Server) Try(ctx context.Context, do func(context.Context, *rest.Config) error) (diff *try.Diff, err error) {
	fork, err := s.fork(ctx, ForkOptions{}, true)
	if err != nil {
		return nil, err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryStopTimeout)
		defer cancel()
		err = errors.Join(err, fork.Stop(end))
	}()
	return try.Run(ctx, fork.RESTConfig(), func(ctx context.Context) error { return do(ctx, fork.RESTConfig()) })
}

// tryStopTimeout is the time after which the connections of a program that does not end are cut.
const tryStopTimeout = 5 * time.Second
