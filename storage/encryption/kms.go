package encryption

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	kmsapi "k8s.io/kms/apis/v2"

	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
)

// Times of the status checks, as kube-apiserver's: how often the plugin is asked, how long a
// health check reuses its answer, and how long the server encrypts with a data key after the
// last good answer.
const (
	goodStatusInterval = time.Minute
	badStatusInterval  = 10 * time.Second
	goodStatusTTL      = 20 * time.Second
	badStatusTTL       = 3 * time.Second
	dataKeyTTL         = 3 * time.Minute
)

// plugin is a provider that encrypts with keys from a KMS v2 plugin.
//
// The plugin encrypts only seeds. The server generates a seed when it starts and when the
// plugin's key id changes, derives a key for each value from it, and stores the encrypted
// seed with each value. So a write never calls the plugin, and a read only if the seed is
// new to this server.
type plugin struct {
	health
	service *service
	metrics *Metrics

	seeds   seedCache
	current atomic.Pointer[dataKey] // with which values are encrypted; nil until the plugin first answered

	version string // of the plugin's API, from its first answer; guarded by mu
}

// dataKey is a seed with which values are encrypted. It is immutable.
type dataKey struct {
	codec     codec
	id        seedID
	keyIDHash string
	envelope  envelope // without data
	expires   time.Time
}

// newPlugin returns a plugin that was not called yet. answered is called after an outage, during
// a status check.
func newPlugin(c *kmsPluginConfig, o *Options, answered func()) (*plugin, error) {
	m := o.Metrics
	p := &plugin{health: newHealth(c.Name, o, answered), metrics: m}
	p.ask = p.checkStatus
	p.seeds = seedCache{now: o.Now, sized: func(n int) { m.cacheSized(c.Name, n) }}
	var err error
	p.service, err = newService(c.Endpoint, c.Timeout.Duration, func(method string, start time.Time, err error) {
		m.called(c.Name, method, start, err)
	})
	if err != nil {
		return nil, fmt.Errorf("could not configure KMSv2-Plugin's probe %q, error: %w", c.Name, err)
	}
	return p, nil
}

// run checks the plugin's status regularly until ctx is done.
func (p *plugin) run(ctx context.Context) {
	for ctx.Err() == nil {
		interval := goodStatusInterval
		if err := p.lastResult(); err != nil {
			interval = badStatusInterval
		}
		timer := time.NewTimer(interval)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-p.failed:
		}
		timer.Stop()
		if ctx.Err() == nil {
			p.checkAndLog(ctx)
		}
	}
}

// checkStatus asks the plugin for its status, and changes to another data key if the key id has
// changed; p.mu is held.
func (p *plugin) checkStatus(ctx context.Context) error {
	answer, err := p.service.status(ctx)
	if err != nil {
		return fmt.Errorf("failed to perform status section of the healthz check for KMS Provider %s, error: %w", p.name, err)
	}
	return p.evaluate(ctx, answer)
}

// evaluate returns the faults of a status, with kube-apiserver's texts.
func (p *plugin) evaluate(ctx context.Context, answer *kmsapi.StatusResponse) error {
	var errs []error
	if answer.GetHealthz() != "ok" {
		errs = append(errs, fmt.Errorf("got unexpected healthz status: %s", answer.GetHealthz()))
	}
	switch version := answer.GetVersion(); {
	case version != kmsV2 && version != "v2beta1":
		errs = append(errs, fmt.Errorf("expected KMSv2 API version %s, got %s", kmsV2, version))
	case p.version == "":
		p.version = version
	case p.version != version:
		errs = append(errs, fmt.Errorf("KMSv2 API version should not change after the initial status response version %s, got %s",
			p.version, version))
	}
	hash := configmetrics.Hash(answer.GetKeyId())
	if label, err := validateKeyID(answer.GetKeyId()); err != nil {
		p.metrics.invalidKeyID(p.name, label)
		errs = append(errs, fmt.Errorf("got invalid KMSv2 KeyID hash %q: %w", hash, err))
	} else {
		p.metrics.keyIDFromStatus(p.name, hash, p.now())
		errs = append(errs, p.renew(ctx, answer.GetKeyId()))
	}
	if err := utilerrors.Reduce(utilerrors.NewAggregate(errs)); err != nil {
		return fmt.Errorf("kmsv2 Provider %s is not healthy, error: %w", p.name, err)
	}
	return nil
}

// renew extends the life of the data key, or replaces it if it has another key id. After an
// error the former data key is used until it expires.
func (p *plugin) renew(ctx context.Context, keyID string) error {
	expires, old := p.now().Add(dataKeyTTL), p.current.Load() // the time before the call, which may take long
	if old != nil && old.envelope.keyID == keyID {
		extended := *old
		extended.expires = expires
		p.current.Store(&extended)
		return nil
	}
	next, err := p.newDataKey(ctx)
	if err == nil && next.envelope.keyID != keyID {
		err = fmt.Errorf("the key id hash %q of the encrypted seed differs from that of the status", configmetrics.Hash(next.envelope.keyID))
	}
	if err != nil {
		return fmt.Errorf("failed to rotate DEK, statusKeyIDHash=%q: %w", configmetrics.Hash(keyID), err)
	}
	next.expires = expires
	p.seeds.put(next.id, next.codec) // before values are encrypted with it
	p.current.Store(next)
	p.logger.Info("KMS data key changed", "name", p.name, "keyIDHash", next.keyIDHash)
	return nil
}

// newDataKey generates a seed and has the plugin encrypt it.
func (p *plugin) newDataKey(ctx context.Context) (*dataKey, error) {
	start, seed := p.now(), make([]byte, seedSize)
	_, _ = rand.Read(seed) // it never fails
	p.metrics.keyGenerated(start)
	code, err := newExtendedGCM(seed)
	if err != nil {
		return nil, err
	}
	answer, err := p.service.encrypt(ctx, seed)
	if err != nil {
		return nil, fmt.Errorf("failed to encrypt DEK, error: %w", err)
	}
	k := &dataKey{codec: code, keyIDHash: configmetrics.Hash(answer.GetKeyId()), envelope: envelope{
		keyID: answer.GetKeyId(), seed: answer.GetCiphertext(), annotations: answer.GetAnnotations(), source: sourceSeed}}
	if err := k.envelope.validateKey(); err != nil {
		return nil, err
	}
	k.id = k.envelope.seedID()
	return k, nil
}

func (p *plugin) encrypt(ctx context.Context, dst []byte, s *subject, value []byte) ([]byte, error) {
	k, now := p.current.Load(), p.now()
	if k == nil {
		return nil, fmt.Errorf("KMS provider %q has no data key yet, the last status check: %w", p.name, p.lastResult())
	}
	if now.After(k.expires) {
		return nil, fmt.Errorf("encryptedDEKSource with keyID hash %q expired at %s (current time is %s)",
			k.keyIDHash, k.expires.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	dst = protowire.AppendTag(dst, envelopeData, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(infoSize+gcmOverhead+len(value)))
	dst, err := k.codec.encrypt(ctx, dst, s, value)
	if err != nil {
		return nil, err
	}
	p.metrics.keyIDUsed(toStorage, p.name, k.keyIDHash, now)
	return k.envelope.appendTail(dst), nil
}

func (p *plugin) decrypt(ctx context.Context, s *subject, data []byte) ([]byte, bool, error) {
	e, err := parseEnvelope(data)
	if err != nil {
		return nil, false, err
	}
	code, err := p.seeds.get(ctx, e.seedID(), func() (codec, error) { return p.decryptSeed(ctx, e) })
	if err != nil {
		return nil, false, err
	}
	p.metrics.keyIDUsed(fromStorage, p.name, configmetrics.Hash(e.keyID), p.now())
	value, isStale, err := code.decrypt(ctx, s, e.data)
	k := p.current.Load()
	return value, isStale || k != nil && (e.keyID != k.envelope.keyID || e.source != k.envelope.source), err
}

// decryptSeed has the plugin decrypt the seed of a value. The call continues if the caller goes
// away, because others may wait for the same seed.
func (p *plugin) decryptSeed(ctx context.Context, e *envelope) (codec, error) {
	p.metrics.cacheMissed()
	if err := p.outage.Load(); err != nil {
		return nil, *err
	}
	seed, err := p.service.decrypt(context.WithoutCancel(ctx), e)
	if err != nil {
		err = fmt.Errorf("failed to decrypt DEK, error: %w", err)
		p.noteOutage(err)
		return nil, err
	}
	if e.source == sourceKey {
		return newGCM(seed)
	}
	return newExtendedGCM(seed)
}

func (p *plugin) close() error { return p.service.close() }
