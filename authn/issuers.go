package authn

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// OtherIssuers is the kind of the tokens that others issue, as a configuration
// tells. A configuration in a file is read again when it changes; one that is
// not good changes nothing.
type OtherIssuers struct {
	path    string
	data    []byte
	taken   []string
	logger  *slog.Logger
	first   *issuers
	current atomic.Pointer[issuers]
}

// issuers are those of one configuration.
type issuers struct {
	tokens Tokens
	all    []*oidcTokens
}

// NewOtherIssuers checks a configuration, which was read from the data of a
// file, unless path is empty. The issuers that are taken can be nobody else's.
func NewOtherIssuers(c *Config, path string, data []byte, taken []string, logger *slog.Logger) (*OtherIssuers, error) {
	o := &OtherIssuers{path: path, data: data, taken: taken, logger: logger}
	set, err := o.make(c)
	if err != nil {
		return nil, err
	}
	o.first = set
	o.current.Store(set)
	return o, nil
}

func (o *OtherIssuers) make(c *Config) (*issuers, error) {
	rules, errs := c.validate(newExpressions(), o.taken)
	if err := errs.ToAggregate(); err != nil {
		return nil, err
	}
	set := &issuers{}
	for i, j := range c.JWT {
		tokens, err := newOIDCTokens(j, rules[i], o.logger)
		if err != nil {
			return nil, err
		}
		set.all, set.tokens = append(set.all, tokens), append(set.tokens, tokens)
	}
	return set, nil
}

// AuthenticateToken implements Token.
func (o *OtherIssuers) AuthenticateToken(ctx context.Context, token string) (Identity, bool, error) {
	return o.current.Load().tokens.AuthenticateToken(ctx, token)
}

// reloadEvery is how often the file is looked at, patience how long those whom
// a new configuration names may take to be found before it counts all the same.
const (
	reloadEvery = time.Second
	patience    = time.Minute
)

// Run finds the issuers, and reads the configuration again when it changes. It
// returns when ctx is done.
func (o *OtherIssuers) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	end := o.begin(ctx, &wg, o.first)
	defer func() { end() }()
	if o.path == "" {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		next := o.changed()
		if next == nil {
			continue
		}
		endNext := o.begin(ctx, &wg, next)
		o.await(ctx, next)
		o.current.Store(next)
		end()
		end = endNext
		o.logger.Info("authentication configuration changed", "file", o.path)
	}
}

// begin finds the issuers of a set, until what it returns is called.
func (o *OtherIssuers) begin(ctx context.Context, wg *sync.WaitGroup, set *issuers) context.CancelFunc {
	ctx, cancel := context.WithCancel(ctx)
	for _, tokens := range set.all {
		wg.Go(func() {
			recovery.Keep(ctx, o.logger, "finding an issuer", func() { tokens.discover(ctx) })
		})
	}
	return func() {
		cancel()
		for _, tokens := range set.all {
			tokens.client.CloseIdleConnections()
		}
	}
}

// await waits until all issuers of a set are found.
func (o *OtherIssuers) await(ctx context.Context, set *issuers) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, tokens := range set.all {
		for tokens.verifier.Load() == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

// changed is the configuration that the file has now; nil if it is the same as
// before, or not good.
func (o *OtherIssuers) changed() *issuers {
	data, err := os.ReadFile(o.path)
	if err != nil || bytes.Equal(data, o.data) {
		return nil
	}
	o.data = data
	c, err := parseConfig(data)
	if err == nil {
		var set *issuers
		if set, err = o.make(c); err == nil {
			return set
		}
	}
	o.logger.Error("keeping the authentication configuration as it was", "file", o.path, "err", fmt.Errorf("%s: %w", o.path, err))
	return nil
}
