package encryption

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/crypto/nacl/secretbox"
)

// subject is the value that a codec encrypts or decrypts.
type subject struct {
	// key is the key in etcd. Codecs that authenticate other data than the value
	// authenticate it, so that a value that was moved to another key is refused.
	key string
	// resource is the resource in metrics: "secrets", "deployments.apps".
	resource string
}

// codec encrypts and decrypts values without the prefix that names it.
type codec interface {
	// encrypt appends the encrypted value to dst.
	encrypt(ctx context.Context, dst []byte, s *subject, value []byte) ([]byte, error)
	// decrypt returns the value, and whether it should be encrypted again although it did
	// not change. The value may share memory with data.
	decrypt(ctx context.Context, s *subject, data []byte) (value []byte, isStale bool, err error)
}

var errShort = errors.New("the stored data was shorter than the required size")

// gcm is AES-GCM with random nonces: nonce, ciphertext, tag.
type gcm struct{ aead cipher.AEAD }

func newGCM(key []byte) (codec, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return gcm{aead}, nil
}

func (c gcm) encrypt(_ context.Context, dst []byte, s *subject, value []byte) ([]byte, error) {
	dst = appendRandom(dst, c.aead.NonceSize(), len(value)+c.aead.Overhead())
	return c.aead.Seal(dst, dst[len(dst)-c.aead.NonceSize():], value, []byte(s.key)), nil
}

func (c gcm) decrypt(_ context.Context, s *subject, data []byte) ([]byte, bool, error) {
	if len(data) < c.aead.NonceSize() {
		return nil, false, errShort
	}
	value, err := c.aead.Open(nil, data[:c.aead.NonceSize()], data[c.aead.NonceSize():], []byte(s.key))
	return value, false, err
}

// appendRandom appends n random bytes to dst, and makes room for more bytes after them.
func appendRandom(dst []byte, n, more int) []byte {
	start := len(dst)
	dst = slices.Grow(dst, n+more)[:start+n]
	_, _ = rand.Read(dst[start:]) // it never fails: the program ends if there is no randomness
	return dst
}

// cbc is AES-CBC with PKCS #7 padding: initialization vector, ciphertext. It authenticates
// nothing.
type cbc struct{ block cipher.Block }

func newCBC(key []byte) (codec, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cbc{block}, nil
}

func (c cbc) encrypt(_ context.Context, dst []byte, _ *subject, value []byte) ([]byte, error) {
	padding := aes.BlockSize - len(value)%aes.BlockSize
	dst = appendRandom(dst, aes.BlockSize, len(value)+padding)
	vector, start := dst[len(dst)-aes.BlockSize:], len(dst)
	dst = append(dst, value...)
	for range padding {
		dst = append(dst, byte(padding))
	}
	cipher.NewCBCEncrypter(c.block, vector).CryptBlocks(dst[start:], dst[start:])
	return dst, nil
}

func (c cbc) decrypt(_ context.Context, _ *subject, data []byte) ([]byte, bool, error) {
	if len(data) < aes.BlockSize {
		return nil, false, errShort
	}
	vector, data := data[:aes.BlockSize], data[aes.BlockSize:]
	if len(data)%aes.BlockSize != 0 {
		return nil, false, errors.New("the stored data is not a multiple of the block size")
	}
	if len(data) == 0 {
		return nil, false, errPadding
	}
	value := make([]byte, len(data))
	cipher.NewCBCDecrypter(c.block, vector).CryptBlocks(value, data)
	padding := int(value[len(value)-1])
	if padding == 0 || padding > aes.BlockSize {
		return nil, false, errPadding
	}
	size := len(value) - padding
	if !bytes.Equal(value[size:], bytes.Repeat(value[len(value)-1:], padding)) {
		return nil, false, errors.New("invalid padding on input")
	}
	return value[:size], false, nil
}

var errPadding = errors.New("invalid PKCS7 data (empty or not padded)")

// box is XSalsa20 and Poly1305: nonce, tag, ciphertext. It does not authenticate the key in
// etcd.
type box struct{ key [32]byte }

const boxNonce = 24

func newBox(key []byte) (codec, error) {
	if len(key) != len(box{}.key) {
		return nil, fmt.Errorf("expected key size 32 for secretbox provider, got %d", len(key))
	}
	return &box{[32]byte(key)}, nil
}

func (c *box) encrypt(_ context.Context, dst []byte, _ *subject, value []byte) ([]byte, error) {
	dst = appendRandom(dst, boxNonce, len(value)+secretbox.Overhead)
	nonce := [boxNonce]byte(dst[len(dst)-boxNonce:])
	return secretbox.Seal(dst, value, &nonce, &c.key), nil
}

func (c *box) decrypt(_ context.Context, _ *subject, data []byte) ([]byte, bool, error) {
	if len(data) < boxNonce+secretbox.Overhead {
		return nil, false, errShort
	}
	nonce := [boxNonce]byte(data[:boxNonce])
	value, ok := secretbox.Open(make([]byte, 0, len(data)-boxNonce-secretbox.Overhead), data[boxNonce:], &nonce, &c.key)
	if !ok {
		return nil, false, errors.New("output array was not large enough for encryption") // kube-apiserver's text
	}
	return value, false, nil
}

// identity stores values as they are. It does not read encrypted ones, which the providers
// after it may.
type identity struct{}

const encryptedPrefix = "k8s:enc:"

var errEncrypted = errors.New("identity transformer tried to read encrypted data")

func (identity) encrypt(_ context.Context, dst []byte, _ *subject, value []byte) ([]byte, error) {
	if len(dst) == 0 {
		return value, nil
	}
	return append(dst, value...), nil
}

func (identity) decrypt(_ context.Context, _ *subject, data []byte) ([]byte, bool, error) {
	if bytes.HasPrefix(data, []byte(encryptedPrefix)) {
		return nil, false, errEncrypted
	}
	return data, false, nil
}
