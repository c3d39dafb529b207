package encryption

import (
	"context"
	"fmt"
	"time"
)

// The file is followed here and not by internal/reload, because a configuration must also be
// healthy before it is used, and because values of the former one must stay readable until it is.

// reload uses the file if it has changed, and reports whether it did. If the file has a fault, or
// a plugin in it is not healthy, the former configuration stays.
func (e *Encryption) reload(ctx context.Context) bool {
	_, hash, err := readFile(e.o.File)
	now := e.o.Now()
	if err == nil && hash == e.current.Load().hash {
		return false
	}
	if hash == e.refused && now.Sub(e.refusedAt) < retryInterval {
		return false
	}
	var set *providerSet
	if err == nil {
		set, err = e.loadHealthy(ctx)
	}
	if ctx.Err() != nil {
		if set != nil {
			_ = set.close() // the server ends
		}
		return false
	}
	if err != nil {
		e.o.Metrics.configuration().Reloaded("", err)
		e.refused, e.refusedAt = hash, now
		e.o.Logger.Error("encryption configuration not reloaded, the former one stays", "file", e.o.File, "error", err)
		return false
	}
	e.o.Metrics.configuration().Reloaded(set.hash, nil)
	e.refused, e.refusedAt = "", time.Time{}
	e.current.Store(set)
	e.warnOfPermissions()
	e.o.Logger.Info("encryption configuration reloaded", "file", e.o.File, "hash", set.hash)
	return true
}

// retryInterval is the time after which a file that could not be used is tried again: a plugin may
// answer then.
const retryInterval = 10 * time.Second

// minHealthWait is the shortest time in which the plugins of another configuration must become
// healthy.
const minHealthWait = 10 * time.Second

// loadHealthy reads the file and waits until its plugins are healthy.
func (e *Encryption) loadHealthy(ctx context.Context) (*providerSet, error) {
	set, err := e.load()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, max(set.grace, minHealthWait))
	defer cancel()
	for {
		if err = set.check(ctx); err == nil {
			return set, nil
		}
		select {
		case <-ctx.Done():
			_ = set.close() // the first error is returned
			return nil, fmt.Errorf("health check for new transformers failed: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// retire closes a set that was replaced, when the requests that use it have ended. end ends its
// status checks.
func retire(ctx context.Context, set *providerSet, end func()) {
	timer := time.NewTimer(set.grace)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	end()
	_ = set.close() // it reports only that it was closed
}
