package authn

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// JWTIssuers authenticates the tokens of the issuers in an AuthenticationConfiguration. A
// configuration file is reloaded when it changes; an invalid change is ignored.
type JWTIssuers struct {
	path    string
	data    []byte
	refuse  Restrictions
	metrics *JWTMetrics
	logger  *slog.Logger
	now     func() time.Time // nil means time.Now
	first   *issuerSet
	current atomic.Pointer[issuerSet]
}

// issuerSet holds the issuers of one version of the configuration.
type issuerSet struct {
	tokens Tokens
	all    []*oidcTokens
}

// NewJWTIssuers returns the authenticator of a configuration. data is the content of the file at
// path; path is empty if the configuration does not come from a file. metrics may be nil.
func NewJWTIssuers(c *Config, path string, data []byte, refuse Restrictions, metrics *JWTMetrics,
	logger *slog.Logger) (*JWTIssuers, error) {
	o := &JWTIssuers{path: path, data: data, refuse: refuse, metrics: metrics, logger: logger}
	set, err := o.build(c)
	if err != nil {
		return nil, err
	}
	if path != "" {
		metrics.reloads().Applied(configmetrics.Hash(string(data)))
	}
	o.first = set
	o.current.Store(set)
	return o, nil
}

// WithClock has tokens judged by a clock. It must be called before Run.
func (o *JWTIssuers) WithClock(now func() time.Time) {
	o.now = now
	for _, tokens := range o.first.all {
		tokens.now = now
	}
}

func (o *JWTIssuers) build(c *Config) (*issuerSet, error) {
	rules, errs := c.validate(newExpressions(), o.refuse)
	if err := errs.ToAggregate(); err != nil {
		return nil, err
	}
	set := &issuerSet{}
	for i, j := range c.JWT {
		tokens, err := newOIDCTokens(j, rules[i], o.refuse.Guard, o.metrics, o.logger)
		if err != nil {
			return nil, err
		}
		tokens.now = o.now
		set.all, set.tokens = append(set.all, tokens), append(set.tokens, tokens)
	}
	return set, nil
}

// AuthenticateToken implements Token.
func (o *JWTIssuers) AuthenticateToken(ctx context.Context, token string) (Identity, bool, error) {
	return o.current.Load().tokens.AuthenticateToken(ctx, token)
}

// reloadInterval is the time between two checks whether the file changed. discoveryTimeout is the
// time after which a new configuration takes effect even though some of its issuers have not been
// discovered.
const (
	reloadInterval   = time.Second
	discoveryTimeout = time.Minute
)

// Run discovers the issuers and reloads the configuration when it changes. It returns when ctx is
// done.
func (o *JWTIssuers) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	end := o.startDiscovery(ctx, &wg, o.first)
	defer func() { end() }()
	if o.path == "" {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(reloadInterval)
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
		endNext := o.startDiscovery(ctx, &wg, next)
		o.awaitDiscovery(ctx, next)
		last := o.current.Swap(next)
		end()
		end = endNext
		o.forgetRemoved(last, next)
		o.metrics.reloads().Reloaded(configmetrics.Hash(string(o.data)), nil)
		o.logger.Info("reloaded authentication configuration", "file", o.path)
	}
}

// startDiscovery discovers the issuers of a set in the background. The returned function stops it
// and closes idle connections.
func (o *JWTIssuers) startDiscovery(ctx context.Context, wg *sync.WaitGroup, set *issuerSet) context.CancelFunc {
	ctx, cancel := context.WithCancel(ctx)
	for _, tokens := range set.all {
		wg.Go(func() {
			recovery.RestartOnPanic(ctx, o.logger, "issuer discovery", func() { tokens.discover(ctx) })
		})
	}
	return func() {
		cancel()
		for _, tokens := range set.all {
			tokens.client.CloseIdleConnections()
		}
	}
}

// forgetRemoved removes the metrics of the issuers in last that are not in next.
func (o *JWTIssuers) forgetRemoved(last, next *issuerSet) {
	for _, old := range last.all {
		old.keys.ended.Store(true)
		if !slices.ContainsFunc(next.all, func(t *oidcTokens) bool { return t.config.Issuer.URL == old.config.Issuer.URL }) {
			o.metrics.forget(old.config.Issuer.URL)
		}
	}
}

// awaitDiscovery waits until all issuers of a set are discovered.
func (o *JWTIssuers) awaitDiscovery(ctx context.Context, set *issuerSet) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
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

// changed returns the issuers of a changed configuration file, or nil if the file is unchanged or
// invalid.
func (o *JWTIssuers) changed() *issuerSet {
	data, err := configfile.Read(o.path)
	if err != nil || bytes.Equal(data, o.data) {
		return nil
	}
	o.data = data
	c, err := parseConfig(data)
	if err == nil {
		var set *issuerSet
		if set, err = o.build(c); err == nil {
			return set
		}
	}
	o.metrics.reloads().Reloaded("", err)
	o.logger.Error("failed to reload authentication configuration, using the previous one", "file", o.path, "error", err)
	return nil
}
