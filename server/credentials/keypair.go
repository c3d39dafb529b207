package credentials

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/safefile"
)

// ErrMismatch is the error for a certificate and a key that do not match.
var ErrMismatch = errors.New("the certificate does not match the key")

// KeyError is an error about the file of a key, and not about that of its certificate.
type KeyError struct{ err error }

// Error implements error.
func (e *KeyError) Error() string { return e.err.Error() }

// Unwrap returns the error of the file.
func (e *KeyError) Unwrap() error { return e.err }

// KeyPair is a certificate and its key.
type KeyPair struct {
	Cert            *x509.Certificate
	Key             crypto.Signer
	CertPEM, KeyPEM []byte
}

// TLS returns the pair for package crypto/tls.
func (p *KeyPair) TLS() (tls.Certificate, error) { return tls.X509KeyPair(p.CertPEM, p.KeyPEM) }

// read returns the pair called name, or nil if one of its files is missing.
func (p *pki) read(name string) (*KeyPair, error) {
	if p.dir == "" {
		return nil, nil
	}
	files := p.files(name)
	for _, f := range files {
		if _, err := os.Stat(f); errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
	}
	for _, f := range files {
		if err := safefile.CheckFile(f); err != nil {
			return nil, err
		}
	}
	return ReadPair(files[0], files[1])
}

// files returns the files of the certificate and the key called name.
func (p pki) files(name string) [2]string {
	return [2]string{filepath.Join(p.dir, name+".crt"), filepath.Join(p.dir, name+".key")}
}

// ReadPair reads a certificate, which may be followed by its chain, and its key.
func ReadPair(certFile, keyFile string) (*KeyPair, error) {
	return readPairWith(configfile.Read, certFile, keyFile)
}

// readPairWith is ReadPair with a function that reads a file.
func readPairWith(read func(path string) ([]byte, error), certFile, keyFile string) (*KeyPair, error) {
	certPEM, err := read(certFile)
	if err != nil {
		return nil, err
	}
	keyPEM, err := read(keyFile)
	if err != nil {
		return nil, &KeyError{err}
	}
	certs, err := authn.ParseCertificates(certPEM)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", certFile, err)
	}
	key, err := authn.ParsePrivateKey(keyPEM)
	if err != nil {
		return nil, &KeyError{fmt.Errorf("%s: %w", keyFile, err)}
	}
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(certs[0].PublicKey) {
		return nil, ErrMismatch
	}
	return &KeyPair{Cert: certs[0], Key: key, CertPEM: certPEM, KeyPEM: keyPEM}, nil
}

// issue signs a certificate and writes the pair. It generates a key if keyPEM is nil, and
// self-signs the certificate if p has no CA.
func (p *pki) issue(name string, template *x509.Certificate, keyPEM []byte) (*KeyPair, error) {
	if keyPEM == nil {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		keyPEM = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	key, err := authn.ParsePrivateKey(keyPEM)
	if err != nil {
		return nil, err
	}
	// The clocks of clients may be slow, and behind that of a lab.
	template.NotBefore = p.now.Add(-time.Hour)
	if wall := time.Now().Add(-time.Hour); wall.Before(template.NotBefore) {
		template.NotBefore = wall
	}
	parent, signer := template, key
	if p.ca != nil {
		parent, signer = p.ca.Cert, p.ca.Key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", name, err)
	}
	signed := &KeyPair{Cert: cert, Key: key, KeyPEM: keyPEM,
		CertPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	return signed, p.write(name, signed)
}

// write writes the files of a pair, unless it is kept in memory.
func (p *pki) write(name string, pair *KeyPair) error {
	if p.dir == "" {
		return nil
	}
	files := p.files(name)
	// The key is written first, so that a certificate is never without a key.
	if err := safefile.Write(files[1], pair.KeyPEM, 0o600, p.durable); err != nil {
		return err
	}
	return safefile.Write(files[0], pair.CertPEM, 0o644, p.durable)
}
