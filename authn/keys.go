package authn

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/reload"
	"github.com/miniapiserver/miniapiserver/internal/safefile"
)

// PublicKey verifies signatures of tokens.
type PublicKey struct {
	// ID is derived from the key, so that all holders of the key use the same ID.
	ID string
	// Algorithm is the only one accepted in signatures with this key.
	Algorithm jose.SignatureAlgorithm
	Key       crypto.PublicKey
	// Hidden keys verify tokens, but are not published to relying parties.
	Hidden bool
}

// NewPublicKey returns a key with an ID that is derived from it, or an error if the key is of no
// supported kind.
func NewPublicKey(key crypto.PublicKey) (PublicKey, error) {
	algorithm, err := algorithmOf(key)
	if err != nil {
		return PublicKey{}, err
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return PublicKey{}, fmt.Errorf("public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return PublicKey{ID: base64.RawURLEncoding.EncodeToString(sum[:]), Algorithm: algorithm, Key: key}, nil
}

// signingAlgorithms are the algorithms of service account tokens.
var signingAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512}

func algorithmOf(key crypto.PublicKey) (jose.SignatureAlgorithm, error) {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return jose.RS256, nil
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			return jose.ES256, nil
		case elliptic.P384():
			return jose.ES384, nil
		case elliptic.P521():
			return jose.ES512, nil
		}
		return "", errors.New("unknown elliptic curve, must be P-256, P-384 or P-521")
	}
	return "", fmt.Errorf("unknown public key type %T, must be *rsa.PublicKey or *ecdsa.PublicKey", key)
}

// ExternalKeys are keys outside this process, by which another program signs.
type ExternalKeys interface {
	// Sign returns the token with a payload.
	Sign(ctx context.Context, payload []byte) (token string, err error)
	// Keys returns the known public keys.
	Keys() []PublicKey
	// Find returns the keys with an ID. It may ask the other program for keys that are not known.
	Find(ctx context.Context, id string) []PublicKey
	// Generation returns a number that increases when the known keys change.
	Generation() int
	// MaxAge returns the time for which the known keys can be considered current.
	MaxAge() time.Duration
}

// Keys sign and verify service account tokens. Keys in files are read again when the files change.
type Keys struct {
	// external has all keys; nil if they are in this process.
	external ExternalKeys

	files *reload.Value[fileKeys]
	// generated is nil if the signing key comes from a file of its own.
	generated *generatedKey
}

// fileKeys are the keys in files.
type fileKeys struct {
	public []PublicKey
	signer crypto.Signer // nil if there is no signing key in a file
}

// SigningKeyError is an error about the file of the key that signs, and not about those of the keys that verify.
type SigningKeyError struct{ err error }

// Error implements error.
func (e *SigningKeyError) Error() string { return e.err.Error() }

// Unwrap returns the error of the file.
func (e *SigningKeyError) Unwrap() error { return e.err }

// ReadKeys reads verification keys from files and the signing key from signingFile, which may be
// "". The public part of the signing key verifies tokens too. A nil logger discards all messages.
func ReadKeys(files []string, signingFile string, logger *slog.Logger) (*Keys, error) {
	value, err := reload.New("service account keys", logger, func(f *reload.Files) (k fileKeys, err error) {
		for _, path := range files {
			keys, err := readPublicKeys(path, f.Read)
			if err != nil {
				return k, err
			}
			k.public = append(k.public, keys...)
		}
		if signingFile == "" {
			return k, nil
		}
		if k.signer, err = readSigner(signingFile, f.Read); err != nil {
			return k, &SigningKeyError{err}
		}
		public, err := NewPublicKey(k.signer.Public())
		if err != nil {
			return k, &SigningKeyError{fmt.Errorf("%s: %w", signingFile, err)}
		}
		if !slices.ContainsFunc(k.public, func(p PublicKey) bool { return p.ID == public.ID }) {
			k.public = append(k.public, public)
		}
		return k, nil
	})
	return &Keys{files: value}, err
}

// NewExternalKeys returns keys by which another program signs.
func NewExternalKeys(e ExternalKeys) *Keys { return &Keys{external: e} }

// NewGeneratedKeys returns keys that sign with a generated RSA key, stored in the file at path,
// besides the verification keys of fromFiles. The key is generated when the first token is signed or
// the public keys are requested, or by Generate: generating it takes longer than starting the server, and
// most test servers sign no tokens.
func NewGeneratedKeys(path string, fromFiles *Keys) *Keys {
	return &Keys{files: fromFiles.files, generated: &generatedKey{path: path}}
}

// Generate makes the generated key now, if it does not exist yet, and reports whether it did. It does
// nothing if the signing key is not a generated one.
func (k *Keys) Generate() (isNew bool, err error) {
	if k.generated == nil {
		return false, nil
	}
	_, isNew, err = k.generated.load(true)
	return isNew, err
}

// CanSign reports whether there is a signing key.
func (k *Keys) CanSign() bool {
	return k.external != nil || k.generated != nil || k.files.Get().signer != nil
}

// signing returns the signing key, which exists if CanSign is true and the keys are in this process.
// It generates the key if necessary.
func (k *Keys) signing() (crypto.Signer, error) {
	if k.generated != nil {
		signer, _, err := k.generated.load(true)
		return signer, err
	}
	return k.files.Get().signer, nil
}

// generation returns a number that increases when keys are replaced. Tokens that an
// earlier generation of keys verified must be verified again.
func (k *Keys) generation() int {
	if k.external != nil {
		return k.external.Generation()
	}
	_, generation := k.files.GetWithGeneration()
	return generation
}

// Public returns the public keys for relying parties. It generates the signing key if necessary.
func (k *Keys) Public() ([]PublicKey, error) {
	if k.external != nil {
		return slices.DeleteFunc(slices.Clone(k.external.Keys()), func(key PublicKey) bool { return key.Hidden }), nil
	}
	if _, err := k.Generate(); err != nil {
		return nil, err
	}
	return k.existing()
}

// existing returns the public keys without generating one: a key that does not exist has signed
// nothing.
func (k *Keys) existing() ([]PublicKey, error) {
	if k.external != nil {
		return k.external.Keys(), nil
	}
	inFiles := k.files.Get().public
	if k.generated == nil {
		return inFiles, nil
	}
	generated, err := k.generated.existing()
	if err != nil || generated == nil {
		return inFiles, err
	}
	return append([]PublicKey{*generated}, inFiles...), nil
}

// candidates returns the keys with a key ID, or all keys if the ID is empty.
func (k *Keys) candidates(ctx context.Context, id string) ([]PublicKey, error) {
	if k.external != nil && id != "" {
		return k.external.Find(ctx, id), nil
	}
	keys, err := k.existing()
	if err != nil || id == "" {
		return keys, err
	}
	for _, key := range keys {
		if key.ID == id {
			return []PublicKey{key}, nil
		}
	}
	return nil, nil
}

// Algorithms returns the names of the algorithms of all keys, without generating one.
func (k *Keys) Algorithms() []string {
	var names []string
	seen := map[jose.SignatureAlgorithm]bool{}
	add := func(a jose.SignatureAlgorithm) {
		if !seen[a] {
			seen[a] = true
			names = append(names, string(a))
		}
	}
	if k.generated != nil {
		generated, err := k.generated.existing()
		if err == nil && generated != nil {
			add(generated.Algorithm)
		} else {
			add(jose.RS256)
		}
	}
	if k.external != nil {
		public, _ := k.Public() // known keys cause no error
		for _, key := range public {
			add(key.Algorithm)
		}
		return names
	}
	for _, key := range k.files.Get().public {
		add(key.Algorithm)
	}
	return names
}

// MaxAge returns the time for which relying parties may cache the public keys.
func (k *Keys) MaxAge() time.Duration {
	if k.external != nil {
		return k.external.MaxAge()
	}
	return time.Hour
}

// generatedKey is a key that is generated when it is first needed, and kept in a file.
type generatedKey struct {
	path string

	mu     sync.Mutex
	signer crypto.Signer // nil until it is read or generated
	public *PublicKey
}

// load returns the key, or nil if it does not exist and is not to be created. isNew reports whether
// this call generated it.
func (g *generatedKey) load(create bool) (signer crypto.Signer, isNew bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.signer != nil {
		return g.signer, false, nil
	}
	signer, err = readSigner(g.path, readOwn)
	if errors.Is(err, os.ErrNotExist) {
		if !create {
			return nil, false, nil
		}
		signer, isNew, err = generateSigner(g.path)
	}
	if err != nil {
		return nil, false, err
	}
	public, err := NewPublicKey(signer.Public())
	if err != nil {
		return nil, false, err
	}
	g.signer, g.public = signer, &public
	return signer, isNew, nil
}

// existing returns the public part, or nil if the key does not exist yet.
func (g *generatedKey) existing() (*PublicKey, error) {
	if _, _, err := g.load(false); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.public, nil
}

// generatedKeyBits is the size of a generated RSA key.
const generatedKeyBits = 2048

// generateSigner generates a key and stores it in a file that only the server's user can read.
// Linking a complete temporary file makes the write atomic; if another process wrote its key first,
// that key is used, and isNew is false.
func generateSigner(path string) (signer crypto.Signer, isNew bool, err error) {
	key, err := rsa.GenerateKey(rand.Reader, generatedKeyBits)
	if err != nil {
		return nil, false, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, false, err
	}
	f, err := safefile.Create(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Discard()
	err = pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, false, err
	}
	if err := os.Link(f.Name(), path); errors.Is(err, os.ErrExist) {
		signer, err = readSigner(path, readOwn)
		return signer, false, err
	} else if err != nil {
		return nil, false, err
	}
	return key, true, nil
}

// readOwn reads a file that the server generated. It refuses one that another user owns or may write.
func readOwn(path string) ([]byte, error) {
	if err := safefile.CheckFile(path); err != nil {
		return nil, err
	}
	return configfile.Read(path)
}

func readSigner(path string, read func(path string) ([]byte, error)) (crypto.Signer, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	key, err := ParsePrivateKey(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// ParsePrivateKey returns the first private key in PEM data, in PKCS #1, PKCS #8 or SEC 1 form.
func ParsePrivateKey(data []byte) (crypto.Signer, error) {
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return nil, errors.New("no PEM private key found")
		}
		var key any
		var err error
		switch block.Type {
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		signer, ok := key.(crypto.Signer)
		if !ok {
			return nil, fmt.Errorf("a key of type %T cannot sign", key)
		}
		return signer, nil
	}
}

// readPublicKeys reads the keys in a PEM file: public keys, the keys of certificates, and the
// public parts of private keys.
func readPublicKeys(path string, read func(path string) ([]byte, error)) ([]PublicKey, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	var keys []PublicKey
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		raw, err := publicKeyOf(block)
		if err != nil {
			return nil, fmt.Errorf("%s: key %d: %w", path, len(keys)+1, err)
		}
		if raw == nil {
			continue
		}
		key, err := NewPublicKey(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: key %d: %w", path, len(keys)+1, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: no PEM public key found", path)
	}
	return keys, nil
}

// publicKeyOf returns the public key in a PEM block, or nil if there is none.
func publicKeyOf(block *pem.Block) (crypto.PublicKey, error) {
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return cert.PublicKey, nil
	case "EC PRIVATE KEY", "RSA PRIVATE KEY", "PRIVATE KEY":
		signer, err := ParsePrivateKey(pem.EncodeToMemory(block))
		if err != nil {
			return nil, err
		}
		return signer.Public(), nil
	}
	return nil, nil
}
