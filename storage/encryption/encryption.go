// Package encryption encrypts the values of resources before they are stored in etcd, as an
// EncryptionConfiguration (--encryption-provider-config) requires. Its formats are those of
// kube-apiserver, so that each server reads what the other one wrote.
//
// An Encryption is a configuration in use. A Transformer encrypts and decrypts the values of one
// resource: storage calls it, and has no other connection to this package.
//
// A value begins with the name of its provider and its key:
//
//	k8s:enc:aescbc:v1:KEY:     vector, ciphertext
//	k8s:enc:aesgcm:v1:KEY:     nonce, ciphertext, tag
//	k8s:enc:secretbox:v1:KEY:  nonce, tag, ciphertext
//	k8s:enc:kms:v2:PROVIDER:   a protobuf message (envelope.go)
//	k8s:enc:kms:v1:PROVIDER:   length of the encrypted key, encrypted key, nonce, ciphertext, tag
//
// The first provider of a resource encrypts, and all of them decrypt. A value that another
// provider or key than the first encrypted is stale: a write that does not change it stores it
// again, by which keys are rotated.
//
// Reading order: config.go and validate.go read the file; set.go makes the chains of providers
// (chain.go) of it; cipher.go has the providers with keys in the file; kms.go, seed.go,
// envelope.go and service.go those with keys in a KMS v2 plugin, kmsv1.go those with keys in a KMS
// v1 plugin, and health.go the health of both; reload.go follows the file.
package encryption

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
)

// Options configure an Encryption. File is required.
type Options struct {
	// File is the file with the EncryptionConfiguration.
	File string
	// KMSv1 allows KMS v1 plugins, which are deprecated.
	KMSv1 bool
	// Reload follows changes of the file.
	Reload bool
	// ReloadInterval is the time between two reads of the file; 0 means a second.
	ReloadInterval time.Duration
	// Logger receives the log messages; nil discards them.
	Logger *slog.Logger
	// Metrics count what the Encryption does; nil means that nothing is counted.
	Metrics *Metrics
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Encryption is an encryption configuration in use. It is safe for concurrent use.
type Encryption struct {
	o       Options
	current atomic.Pointer[providerSet]
	// changed signals Run that values which could not be decrypted may be readable now.
	changed chan struct{}
	// refused is the hash of the last file that could not be used, and refusedAt when. Only Run
	// uses them.
	refused   string
	refusedAt time.Time
}

// Open reads the configuration and asks its KMS plugins for their status. A plugin that does not
// answer is not an error: it may start later. Run must be called to follow the plugins and the
// file, and Close to end their connections.
func Open(ctx context.Context, o Options) (*Encryption, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ReloadInterval == 0 {
		o.ReloadInterval = time.Second
	}
	e := &Encryption{o: o, changed: make(chan struct{}, 1)}
	set, err := e.load()
	if err != nil {
		return nil, err
	}
	e.warnOfPermissions()
	set.checkAll(ctx, o.Logger)
	e.current.Store(set)
	e.o.Metrics.configuration().Applied(set.hash)
	return e, nil
}

// warnOfPermissions logs a warning if other users can read the file with the keys.
func (e *Encryption) warnOfPermissions() {
	if info, err := os.Stat(e.o.File); err == nil && info.Mode().Perm()&0o077 != 0 {
		e.o.Logger.Warn("encryption configuration can be accessed by other users", "file", e.o.File, "mode", info.Mode().Perm().String())
	}
}

// Run follows the KMS plugins and the file until ctx is done. It calls readable when values that
// could not be decrypted may be readable: another configuration is in use, or a plugin answers
// again.
func (e *Encryption) Run(ctx context.Context, readable func()) {
	ctx, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end() // also for a panic, after which the caller calls Run again
	endCurrent := e.follow(ctx, &wg, e.current.Load())
	var tick <-chan time.Time
	if e.o.Reload {
		ticker := time.NewTicker(e.o.ReloadInterval)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.changed:
			readable()
		case <-tick:
			former := e.current.Load()
			if !e.reload(ctx) {
				continue
			}
			endFormer := endCurrent
			endCurrent = e.follow(ctx, &wg, e.current.Load())
			wg.Go(func() {
				_ = recovery.Call(e.o.Logger, "ending former KMS plugins", func() { retire(ctx, former, endFormer) })
			})
			readable()
		}
	}
}

// follow checks the plugins of a set regularly, until ctx is done or the returned function is
// called.
func (e *Encryption) follow(ctx context.Context, wg *sync.WaitGroup, set *providerSet) (end func()) {
	ctx, end = context.WithCancel(ctx)
	for _, p := range set.plugins {
		wg.Go(func() {
			recovery.RestartOnPanic(ctx, e.o.Logger, "following a KMS plugin", func() { p.run(ctx) })
		})
	}
	return end
}

// signal makes Run call readable.
func (e *Encryption) signal() {
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// Close ends the connections to the KMS plugins. Run must have returned.
func (e *Encryption) Close() error { return e.current.Load().close() }

// HealthChecks returns the health checks of the KMS plugins by name. As in kube-apiserver, plugins have
// one check in common, or one each if some have KMS v1 and the file is not followed.
func (e *Encryption) HealthChecks() map[string]func(context.Context) error {
	set := e.current.Load()
	switch {
	case !e.o.Reload && set.usesV1:
		checks := map[string]func(context.Context) error{}
		for n, p := range set.plugins {
			checks[fmt.Sprintf("kms-provider-%d", n)] = p.check
		}
		return checks
	case e.o.Reload || len(set.plugins) > 0:
		return map[string]func(context.Context) error{"kms-providers": e.CheckHealth}
	}
	return nil
}

// NeedsPlugin reports whether values of a resource are encrypted with the help of a KMS plugin.
func (e *Encryption) NeedsPlugin(resource schema.GroupResource) bool {
	c := e.current.Load().chainOf(resource)
	return c != nil && slices.ContainsFunc(c.links, func(l link) bool {
		_, ok := l.codec.(kmsProvider)
		return ok
	})
}

// CheckHealth returns an error if a KMS plugin is not healthy.
func (e *Encryption) CheckHealth(ctx context.Context) error { return e.current.Load().check(ctx) }

// Transformer encrypts and decrypts the values of a resource by the current configuration.
type Transformer struct {
	encryption *Encryption
	resource   schema.GroupResource
	name       string
}

// Transformer returns the transformer of a resource; the group is the one by which etcd's keys
// are made.
func (e *Encryption) Transformer(resource schema.GroupResource) *Transformer {
	return &Transformer{encryption: e, resource: resource, name: resource.String()}
}

// Encrypt returns the value to store under a key of etcd. It may be value itself.
func (t *Transformer) Encrypt(ctx context.Context, key string, value []byte) ([]byte, error) {
	c := t.encryption.current.Load().chainOf(t.resource)
	if c == nil {
		return value, nil
	}
	var dst []byte
	if c.links[0].prefix != "" {
		const maxOverhead = 256 // of most values: prefix, nonce, tag, padding, encrypted seed
		dst = make([]byte, 0, len(value)+maxOverhead)
	}
	return c.encrypt(ctx, dst, &subject{key, t.name}, value)
}

// Decrypt returns the value that was stored under a key of etcd, and whether it should be stored
// again even if it does not change. The value may share memory with stored.
func (t *Transformer) Decrypt(ctx context.Context, key string, stored []byte) (value []byte, isStale bool, err error) {
	c := t.encryption.current.Load().chainOf(t.resource)
	s := subject{key, t.name}
	if c == nil {
		return identity{}.decrypt(ctx, &s, stored)
	}
	return c.decrypt(ctx, &s, stored)
}
