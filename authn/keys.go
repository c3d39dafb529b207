package authn

import (
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
	"os"
	"path/filepath"
	"sync"

	"github.com/go-jose/go-jose/v4"
)

// PublicKey is what signatures of tokens are checked by.
type PublicKey struct {
	// ID is told from the key, so that everybody who has it calls it the same.
	ID string
	// Algorithm is the only one that signatures by this key may be of.
	Algorithm jose.SignatureAlgorithm
	Key       crypto.PublicKey
}

func newPublicKey(key crypto.PublicKey) (PublicKey, error) {
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

// algorithms are those that this server signs tokens by.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512}

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

// Keys are those by which tokens of service accounts are signed and checked.
type Keys struct {
	// fixed are the keys of files, which are there from the start.
	fixed   []PublicKey
	signing func() (crypto.Signer, error)
	// own makes the public part of a signing key that is not among the fixed.
	own func() (*PublicKey, error)
}

// ReadKeys reads the files that tokens are checked by, and the one they are
// signed by, whose own signatures are good too.
func ReadKeys(files []string, signingFile string) (*Keys, error) {
	k := &Keys{}
	for _, path := range files {
		keys, err := readPublicKeys(path)
		if err != nil {
			return nil, err
		}
		k.fixed = append(k.fixed, keys...)
	}
	if signingFile == "" {
		return k, nil
	}
	signer, err := readSigner(signingFile)
	if err != nil {
		return nil, err
	}
	public, err := newPublicKey(signer.Public())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", signingFile, err)
	}
	if k.find(public.ID) == nil {
		k.fixed = append(k.fixed, public)
	}
	k.signing = func() (crypto.Signer, error) { return signer, nil }
	return k, nil
}

// OwnKeys are the server's own: one RSA key, in a file that is made when the
// first token is signed or somebody asks for the public keys. To make it takes
// longer than to start the server, and most servers for a test sign no tokens.
// The fixed keys, which may be nil, are good besides.
func OwnKeys(path string, fixed *Keys) *Keys {
	k := &Keys{}
	if fixed != nil {
		k.fixed = fixed.fixed
	}
	var mu sync.Mutex
	var signer crypto.Signer
	load := func(make bool) (crypto.Signer, error) {
		mu.Lock()
		defer mu.Unlock()
		if signer != nil {
			return signer, nil
		}
		s, err := readSigner(path)
		if errors.Is(err, os.ErrNotExist) {
			if !make {
				return nil, nil
			}
			s, err = makeSigner(path)
		}
		if err != nil {
			return nil, err
		}
		signer = s
		return s, nil
	}
	k.signing = func() (crypto.Signer, error) { return load(true) }
	var public *PublicKey
	k.own = func() (*PublicKey, error) {
		s, err := load(false)
		if err != nil || s == nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		if public == nil {
			key, err := newPublicKey(s.Public())
			if err != nil {
				return nil, err
			}
			public = &key
		}
		return public, nil
	}
	return k
}

// CanSign tells whether there is a key to sign by.
func (k *Keys) CanSign() bool { return k.signing != nil }

// Public returns all keys, having made the own one if need be.
func (k *Keys) Public() ([]PublicKey, error) {
	if k.own == nil {
		return k.fixed, nil
	}
	if _, err := k.signing(); err != nil {
		return nil, err
	}
	return k.there()
}

// there are the keys that exist: a key that is yet to be made has signed
// nothing.
func (k *Keys) there() ([]PublicKey, error) {
	if k.own == nil {
		return k.fixed, nil
	}
	own, err := k.own()
	if err != nil || own == nil {
		return k.fixed, err
	}
	return append([]PublicKey{*own}, k.fixed...), nil
}

// Candidates are the keys that may have signed a token with a key id; without an
// id, that is any.
func (k *Keys) candidates(id string) ([]PublicKey, error) {
	keys, err := k.there()
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

func (k *Keys) find(id string) *PublicKey {
	for i := range k.fixed {
		if k.fixed[i].ID == id {
			return &k.fixed[i]
		}
	}
	return nil
}

// Algorithms are the names of the algorithms of all keys, without making one.
func (k *Keys) Algorithms() []string {
	var names []string
	seen := map[jose.SignatureAlgorithm]bool{}
	add := func(a jose.SignatureAlgorithm) {
		if !seen[a] {
			seen[a] = true
			names = append(names, string(a))
		}
	}
	if k.own != nil {
		own, err := k.own()
		if err == nil && own != nil {
			add(own.Algorithm)
		} else {
			add(jose.RS256)
		}
	}
	for _, key := range k.fixed {
		add(key.Algorithm)
	}
	return names
}

// ownKeyBits is the size of an own key.
const ownKeyBits = 2048

// makeSigner makes a key and keeps it in a file that only the server's user can
// read. The file is whole or not there at all; if another process was faster,
// its key is taken.
func makeSigner(path string) (crypto.Signer, error) {
	key, err := rsa.GenerateKey(rand.Reader, ownKeyBits)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	err = pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); errors.Is(err, os.ErrExist) {
		return readSigner(path)
	} else if err != nil {
		return nil, err
	}
	return key, nil
}

func readSigner(path string) (crypto.Signer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := ParsePrivateKey(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// ParsePrivateKey reads the first private key of a PEM file, in any of the usual
// forms.
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

// readPublicKeys reads the keys of a PEM file: public ones, those of
// certificates, and the public parts of private ones.
func readPublicKeys(path string) ([]PublicKey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var keys []PublicKey
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		raw, err := publicOf(block)
		if err != nil {
			return nil, fmt.Errorf("%s: key %d: %w", path, len(keys)+1, err)
		}
		if raw == nil {
			continue
		}
		key, err := newPublicKey(raw)
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

// publicOf is the public key of a block; nil when it has none.
func publicOf(block *pem.Block) (crypto.PublicKey, error) {
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
