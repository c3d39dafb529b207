package encryption

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// chain is an ordered list of codecs, each with the prefix of its values. The first one
// encrypts; the one whose prefix a value has decrypts it. The providers of a resource are a
// chain, and so are the keys of a provider.
type chain struct {
	links   []link
	missing error // no link has the prefix of a value
	// describe completes the text of missing for a value.
	describe func(value []byte) string
	metrics  *Metrics
}

// link is a codec and the prefix of its values.
type link struct {
	prefix string
	codec  codec
	// name is the name of the link in errors: "aescbc key "k"", or "" for a provider, which
	// its keys name.
	name string
}

// encrypt appends the prefix of the first link and the encrypted value to dst.
func (c *chain) encrypt(ctx context.Context, dst []byte, s *subject, value []byte) ([]byte, error) {
	start, first := time.Now(), &c.links[0]
	if first.prefix != "" {
		dst = append(dst, first.prefix...)
	}
	out, err := first.codec.encrypt(ctx, dst, s, value)
	c.metrics.transformed(s.resource, toStorage, first.prefix, start, err)
	return out, err
}

// decrypt decrypts by the first link with the prefix of data that can. The value is stale if
// that is not the first link.
func (c *chain) decrypt(ctx context.Context, s *subject, data []byte) ([]byte, bool, error) {
	start := time.Now()
	var errs []error
	for n := range c.links {
		l := &c.links[n]
		if !bytes.HasPrefix(data, []byte(l.prefix)) {
			continue
		}
		value, isStale, err := l.codec.decrypt(ctx, s, data[len(l.prefix):])
		switch {
		case l.prefix == "" && err != nil:
			continue // identity refuses an encrypted value, which a later link may decrypt
		case l.prefix == "":
			c.metrics.transformed(s.resource, fromStorage, "identity", start, nil)
		default:
			c.metrics.transformed(s.resource, fromStorage, l.prefix, start, err)
		}
		if err == nil {
			return value, isStale || n != 0, nil
		}
		if l.name != "" {
			err = fmt.Errorf("%s: %w", l.name, err)
		}
		errs = append(errs, err) // a later provider may have the same prefix with another key
	}
	if len(errs) > 0 {
		return nil, false, utilerrors.Reduce(utilerrors.NewAggregate(errs))
	}
	c.metrics.transformed(s.resource, fromStorage, "unknown", start, c.missing)
	return nil, false, fmt.Errorf("%w%s", c.missing, c.describe(data))
}

// errNoProvider and the texts of newKeyChain are kube-apiserver's.
var errNoProvider = errors.New("no matching prefix found")

// describeValue returns, for the error of a value that no provider reads, the provider and the key
// in its prefix.
func describeValue(value []byte) string {
	rest, ok := bytes.CutPrefix(value, []byte(encryptedPrefix))
	if !ok {
		return ": the value is not encrypted"
	}
	parts := bytes.SplitN(rest[:min(len(rest), maxPrefix)], []byte(":"), 4)
	if len(parts) < 4 || !isPrintable(parts[:3]) {
		return ""
	}
	return fmt.Sprintf(": the value names %s %s, key %q", parts[0], parts[1], parts[2])
}

// describeKey returns the name of the key at the beginning of a value without the prefix of the
// provider.
func describeKey(value []byte) string {
	name, _, ok := bytes.Cut(value[:min(len(value), maxPrefix)], []byte(":"))
	if !ok || !isPrintable([][]byte{name}) {
		return ""
	}
	return fmt.Sprintf(": the value names key %q", name)
}

// maxPrefix limits the part of a value in which a prefix is looked for.
const maxPrefix = 256

// isPrintable reports whether the parts of a prefix are printable ASCII.
func isPrintable(parts [][]byte) bool {
	for _, part := range parts {
		for _, b := range part {
			if b < ' ' || b > '~' {
				return false
			}
		}
	}
	return true
}

// newKeyChain returns the chain of the keys of a provider.
func newKeyChain(provider, title string, keys []namedKey, build func(key []byte) (codec, error), m *Metrics) (*chain, error) {
	c := &chain{missing: fmt.Errorf("no matching key was found for the provided %s transformer", title), describe: describeKey, metrics: m}
	for _, key := range keys {
		raw, err := key.decode()
		if err != nil {
			return nil, fmt.Errorf("could not obtain secret for named key %s", key.Name)
		}
		code, err := build(raw)
		if err != nil {
			return nil, fmt.Errorf("error while creating cipher for named key %s: %w", key.Name, err)
		}
		c.links = append(c.links, link{prefix: key.Name + ":", codec: code, name: fmt.Sprintf("%s key %q", provider, key.Name)})
	}
	return c, nil
}
