package encryption

//lint:file-ignore SA1019 a gate enables KMS v1

import (
	"context"
	"crypto/aes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	kmsapi "k8s.io/kms/apis/v1beta1"
	"k8s.io/utils/lru"
)

// pluginV1 is a provider that encrypts with keys from a KMS v1 plugin. Each value has a key of its
// own, which the plugin encrypts. So each write calls the plugin, and each read whose key is not
// cached. A value is the length of the encrypted key, the encrypted key, and the value encrypted by
// gcm with the key.
type pluginV1 struct {
	health
	conn    *grpc.ClientConn
	client  kmsapi.KeyManagementServiceClient
	timeout time.Duration
	metrics *Metrics

	keys      *lru.Cache // codecs by encrypted key; nil if the cache is disabled
	cacheSize int
	checkedV1 atomic.Bool // the plugin has the expected version
}

// kmsV1API is the version of the interface of KMS v1 plugins.
const kmsV1API = "v1beta1"

// newPluginV1 returns a plugin that was not called yet. answered is called after an outage, during
// a health check.
func newPluginV1(c *kmsPluginConfig, o *Options, answered func()) (*pluginV1, error) {
	conn, err := connect(c.Endpoint, c.Timeout.Duration, nil)
	if err != nil {
		return nil, fmt.Errorf("could not configure KMSv1-Plugin's probe %q, error: %w", c.Name, err)
	}
	p := &pluginV1{
		health: newHealth(c.Name, o, answered), conn: conn, client: kmsapi.NewKeyManagementServiceClient(conn), timeout: c.Timeout.Duration,
		metrics: o.Metrics, cacheSize: int(*c.CacheSize),
	}
	p.ask = p.ping
	if p.cacheSize > 0 {
		p.keys = lru.New(p.cacheSize)
	}
	return p, nil
}

// run checks the plugin after each outage until it answers, until ctx is done.
func (p *pluginV1) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.failed:
		}
		for p.outage.Load() != nil && ctx.Err() == nil {
			p.checkAndLog(ctx)
			if p.outage.Load() == nil {
				break
			}
			timer := time.NewTimer(badStatusInterval)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			timer.Stop()
		}
	}
}

// ping has the plugin encrypt and decrypt a value. A failure wakes run.
func (p *pluginV1) ping(ctx context.Context) error {
	p.conn.ResetConnectBackoff()
	encrypted, err := p.encryptKey(ctx, []byte("ping"))
	if err != nil {
		err = fmt.Errorf("failed to perform encrypt section of the healthz check for KMS Provider %s, error: %w", p.name, err)
	} else if _, err = p.decryptKey(ctx, encrypted); err != nil {
		err = fmt.Errorf("failed to perform decrypt section of the healthz check for KMS Provider %s, error: %w", p.name, err)
	}
	if err != nil {
		p.noteOutage(err)
	}
	return err
}

// checkVersion returns an error unless the plugin has the version of this client.
func (p *pluginV1) checkVersion(ctx context.Context) error {
	if p.checkedV1.Load() {
		return nil
	}
	answer, err := p.client.Version(ctx, &kmsapi.VersionRequest{Version: kmsV1API})
	if err != nil {
		return fmt.Errorf("failed get version from remote KMS provider: %w", err)
	}
	if v := answer.GetVersion(); v != kmsV1API {
		return fmt.Errorf("KMS provider api version %s is not supported, only %s is supported now", v, kmsV1API)
	}
	p.checkedV1.Store(true)
	return nil
}

func (p *pluginV1) encryptKey(ctx context.Context, key []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	if err := p.checkVersion(ctx); err != nil {
		return nil, err
	}
	answer, err := p.client.Encrypt(ctx, &kmsapi.EncryptRequest{Version: kmsV1API, Plain: key})
	return answer.GetCipher(), err
}

func (p *pluginV1) decryptKey(ctx context.Context, encrypted []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	if err := p.checkVersion(ctx); err != nil {
		return nil, err
	}
	answer, err := p.client.Decrypt(ctx, &kmsapi.DecryptRequest{Version: kmsV1API, Cipher: encrypted})
	return answer.GetPlain(), err
}

// keyLengthSize is the size of the length of the encrypted key.
const keyLengthSize = 2

func (p *pluginV1) encrypt(ctx context.Context, dst []byte, s *subject, value []byte) ([]byte, error) {
	p.metrics.keyArrived(toStorage, p.now())
	start, key := p.now(), make([]byte, dekSize)
	_, _ = rand.Read(key) // it never fails
	p.metrics.keyGenerated(start)
	encrypted, err := p.encryptKey(ctx, key)
	if err != nil {
		return nil, err
	}
	if len(encrypted) > math.MaxUint16 {
		return nil, fmt.Errorf("the encrypted key of KMS provider %q has %d bytes, at most %d are possible", p.name,
			len(encrypted), math.MaxUint16)
	}
	code, err := p.addKey(encrypted, key)
	if err != nil {
		return nil, err
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(encrypted)))
	return code.encrypt(ctx, append(dst, encrypted...), s, value)
}

var errKeyLength = errors.New("invalid data encountered by envelope transformer: failed to read uint16 length prefixed data")

func (p *pluginV1) decrypt(ctx context.Context, s *subject, data []byte) ([]byte, bool, error) {
	p.metrics.keyArrived(fromStorage, p.now())
	if len(data) < keyLengthSize {
		return nil, false, errKeyLength
	}
	size, data := int(binary.BigEndian.Uint16(data)), data[keyLengthSize:]
	if len(data) < size {
		return nil, false, errKeyLength
	}
	encrypted, data := data[:size], data[size:]
	code, err := p.codecOf(ctx, encrypted)
	if err != nil {
		return nil, false, err
	}
	return code.decrypt(ctx, s, data)
}

// codecOf returns the codec of an encrypted key, which the plugin decrypts if it is not cached.
func (p *pluginV1) codecOf(ctx context.Context, encrypted []byte) (codec, error) {
	if p.keys != nil {
		if code, ok := p.keys.Get(string(encrypted)); ok {
			return code.(codec), nil
		}
		p.metrics.cacheMissed()
	}
	if err := p.outage.Load(); err != nil {
		return nil, *err
	}
	key, err := p.decryptKey(ctx, encrypted)
	if err != nil {
		if ctx.Err() == nil { // else the client went away
			p.noteOutage(err)
		}
		return nil, err
	}
	return p.addKey(encrypted, key)
}

// addKey returns the codec of a key, and caches it.
func (p *pluginV1) addKey(encrypted, key []byte) (codec, error) {
	code, err := newGCMOrCBC(key)
	if err == nil && p.keys != nil {
		p.keys.Add(string(encrypted), code)
		p.metrics.cacheFilled(float64(p.keys.Len()) / float64(p.cacheSize))
	}
	return code, err
}

func (p *pluginV1) close() error { return p.conn.Close() }

// gcmOrCBC is AES-GCM, and reads values of AES-CBC, with which Kubernetes before 1.25 encrypted.
type gcmOrCBC struct {
	codec
	older codec
}

func newGCMOrCBC(key []byte) (codec, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	newer, err := newGCM(key)
	return gcmOrCBC{newer, cbc{block}}, err
}

func (c gcmOrCBC) decrypt(ctx context.Context, s *subject, data []byte) ([]byte, bool, error) {
	value, isStale, err := c.codec.decrypt(ctx, s, data)
	if err == nil {
		return value, isStale, nil
	}
	value, _, older := c.older.decrypt(ctx, s, data)
	if older != nil {
		return nil, false, utilerrors.Reduce(utilerrors.NewAggregate([]error{err, older}))
	}
	return value, true, nil
}
