// Package externaljwt signs service account tokens by another program, which has the keys: an
// external signer, called over gRPC on a Unix socket (--service-account-signing-endpoint). Package
// authn builds the claims and verifies tokens with the public keys that the signer publishes.
package externaljwt

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	externaljwtv1 "k8s.io/externaljwt/apis/v1"

	"github.com/miniapiserver/miniapiserver/authn"
)

const (
	// callTimeout bounds requests for keys and metadata. A call waits for a signer that is not
	// there yet.
	callTimeout = time.Minute
	// retryInterval is the time between requests for keys after a failure.
	retryInterval = 10 * time.Second
	// maxRefresh is the maximum time between requests for keys, whatever the signer hints.
	maxRefresh = 24 * time.Hour
	// maxKeyID is the maximum length of the ID of a key.
	maxKeyID = 1024
	// MinExpiration is the minimum lifetime of tokens that a signer must support.
	MinExpiration = 10 * time.Minute
)

// Signer is a connection to an external signer. It implements authn.ExternalKeys.
type Signer struct {
	conn    *grpc.ClientConn
	client  externaljwtv1.ExternalJWTSignerClient
	logger  *slog.Logger
	metrics *Metrics
	now     func() time.Time

	keys atomic.Pointer[keySet]
	// fetching is held while keys are fetched. Requests that wait for it share the result.
	fetching chan struct{}
	fetches  atomic.Pointer[fetch]
}

// keySet are the keys of one response.
type keySet struct {
	keys []authn.PublicKey
	// generation increases when the keys change.
	generation int
	data       time.Time // when the signer read the keys
	refresh    time.Time // when they should be fetched again
}

// fetch is a completed request for keys.
type fetch struct {
	number int
	err    error
}

// New returns a Signer for the signer at a Unix socket: a path, or @ and a name in the abstract
// namespace. Connect must succeed before the Signer is used.
func New(socket string, metrics *Metrics, logger *slog.Logger) (*Signer, error) {
	s := &Signer{logger: logger, metrics: metrics, now: time.Now, fetching: make(chan struct{}, 1)}
	s.keys.Store(&keySet{})
	s.fetches.Store(&fetch{})
	var err error
	s.conn, err = grpc.NewClient("passthrough:///"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithContextDialer(func(ctx context.Context, path string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}),
		grpc.WithUnaryInterceptor(metrics.observeCall),
	)
	if err != nil {
		return nil, err
	}
	s.client = externaljwtv1.NewExternalJWTSignerClient(s.conn)
	return s, nil
}

// Connect fetches the keys for the first time, and returns the maximum lifetime of tokens.
func (s *Signer) Connect(ctx context.Context) (maxExpiration time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := s.fetch(ctx); err != nil {
		return 0, fmt.Errorf("while initially filling key cache: %w", err)
	}
	metadata, err := s.client.Metadata(ctx, &externaljwtv1.MetadataRequest{})
	if err != nil {
		return 0, fmt.Errorf("while setting up external-jwt-signer: %w", err)
	}
	seconds := metadata.MaxTokenExpirationSeconds
	if seconds < int64(MinExpiration/time.Second) {
		return 0, fmt.Errorf("max token life supported by external-jwt-signer (%ds) is less than acceptable (%ds)",
			seconds, int64(MinExpiration/time.Second))
	}
	return time.Duration(min(seconds, 1<<32)) * time.Second, nil
}

// Run fetches the keys when the signer recommends it, until ctx ends.
func (s *Signer) Run(ctx context.Context) {
	for {
		wait := s.keys.Load().refresh.Sub(s.now())
		if s.fetches.Load().err != nil {
			wait = retryInterval
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		bound, cancel := context.WithTimeout(ctx, callTimeout)
		if err := s.fetch(bound); err != nil && ctx.Err() == nil {
			s.logger.Error("fetching the keys of the external signer failed, the former keys stay", "error", err)
		}
		cancel()
	}
}

// Close closes the connection.
func (s *Signer) Close() error { return s.conn.Close() }

// Generation implements authn.ExternalKeys.
func (s *Signer) Generation() int { return s.keys.Load().generation }

// MaxAge implements authn.ExternalKeys.
func (s *Signer) MaxAge() time.Duration { return max(0, s.keys.Load().refresh.Sub(s.now())) }

// Keys implements authn.ExternalKeys.
func (s *Signer) Keys() []authn.PublicKey { return s.keys.Load().keys }

// Find implements authn.ExternalKeys. An unknown key is fetched. At most one request is in flight,
// whatever key IDs clients make up.
func (s *Signer) Find(ctx context.Context, id string) []authn.PublicKey {
	seen := s.fetches.Load().number
	if found := s.find(id); len(found) > 0 {
		return found
	}
	if err := s.fetchAfter(ctx, seen); err != nil {
		s.logger.Error("fetching the keys of the external signer failed", "error", err)
		return nil
	}
	return s.find(id)
}

func (s *Signer) find(id string) []authn.PublicKey {
	var found []authn.PublicKey
	for _, key := range s.Keys() {
		if key.ID == id {
			found = append(found, key)
		}
	}
	return found
}

// fetch replaces the keys.
func (s *Signer) fetch(ctx context.Context) error {
	return s.fetchAfter(ctx, s.fetches.Load().number)
}

// fetchAfter replaces the keys, unless a request after the one with a number has completed: then it
// returns the result of that one.
func (s *Signer) fetchAfter(ctx context.Context, seen int) error {
	select {
	case s.fetching <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.fetching }()
	if last := s.fetches.Load(); last.number != seen {
		return last.err
	}
	fetched, err := s.fetchKeys(ctx)
	s.metrics.fetched(err, s.now())
	if err != nil {
		err = fmt.Errorf("while fetching token verification keys: %w", err)
		if ctx.Err() == nil { // the end of one request is no result for others
			s.fetches.Store(&fetch{seen + 1, err})
		}
		return err
	}
	s.metrics.dataFrom(fetched.data)
	old := s.keys.Load()
	fetched.generation = old.generation
	if !slices.EqualFunc(old.keys, fetched.keys, equalKeys) || !old.data.Equal(fetched.data) {
		fetched.generation++
	}
	s.keys.Store(fetched)
	s.fetches.Store(&fetch{seen + 1, nil})
	return nil
}

// equalKeys compares keys by their IDs: a signer does not reuse the ID of a key.
func equalKeys(a, b authn.PublicKey) bool { return a.ID == b.ID && a.Hidden == b.Hidden }

// fetchKeys fetches and checks the keys.
func (s *Signer) fetchKeys(ctx context.Context) (*keySet, error) {
	response, err := s.client.FetchKeys(ctx, &externaljwtv1.FetchKeysRequest{})
	switch {
	case err != nil:
		return nil, fmt.Errorf("while getting externally supported jwt signing keys: %w", err)
	case response.RefreshHintSeconds <= 0:
		return nil, fmt.Errorf("found invalid refresh hint (%ds)", response.RefreshHintSeconds)
	case len(response.Keys) == 0:
		return nil, errors.New("found no keys")
	}
	if err := response.DataTimestamp.CheckValid(); err != nil {
		return nil, fmt.Errorf("invalid data timestamp: %w", err)
	}
	refresh := time.Duration(min(response.RefreshHintSeconds, int64(maxRefresh/time.Second))) * time.Second
	set := &keySet{data: response.DataTimestamp.AsTime(), refresh: s.now().Add(refresh)}
	for _, key := range response.Keys {
		switch id := key.GetKeyId(); {
		case id == "" || len(id) > maxKeyID:
			return nil, fmt.Errorf("found invalid public key id %q", id)
		case len(key.Key) == 0:
			return nil, errors.New("found empty public key")
		}
		parsed, err := x509.ParsePKIXPublicKey(key.Key)
		if err != nil {
			return nil, fmt.Errorf("while parsing external public keys: %w", err)
		}
		public, err := authn.NewPublicKey(parsed)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", key.KeyId, err)
		}
		public.ID, public.Hidden = key.KeyId, key.ExcludeFromOidcDiscovery
		set.keys = append(set.keys, public)
	}
	return set, nil
}
