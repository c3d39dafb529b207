package authn

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/miniapiserver/miniapiserver/internal/reload"
)

// CAFile is a set of CA certificates: static ones, and the ones in a file, which is reloaded when
// it changes. If reloading fails, the CAs stay as they are, so that a half-written file locks
// nobody out.
type CAFile struct {
	current *reload.Value[caSet]
}

type caSet struct {
	certificates []*x509.Certificate
	pool         *x509.CertPool
}

// NewCAFile returns the CAs in static (PEM, may be empty) and in the file at path (may be ""). A
// nil logger discards all messages; the name describes the CAs in them.
func NewCAFile(name string, static []byte, path string, logger *slog.Logger) (*CAFile, error) {
	var certs []*x509.Certificate
	if len(static) > 0 {
		var err error
		if certs, err = ParseCertificates(static); err != nil {
			return nil, err
		}
	}
	current, err := reload.New(name, logger, func(files *reload.Files) (caSet, error) {
		all := certs
		if path != "" {
			data, err := files.Read(path)
			if err != nil {
				return caSet{}, err
			}
			inFile, err := ParseCertificates(data)
			if err != nil {
				return caSet{}, fmt.Errorf("%s: %w", path, err)
			}
			all = slices.Concat(certs, inFile)
		}
		pool := x509.NewCertPool()
		for _, cert := range all {
			pool.AddCert(cert)
		}
		return caSet{all, pool}, nil
	})
	if err != nil {
		return nil, err
	}
	return &CAFile{current}, nil
}

// Pool returns the current CAs, and a generation that increases with each change.
func (c *CAFile) Pool() (*x509.CertPool, int) {
	set, generation := c.current.GetWithGeneration()
	return set.pool, generation
}

// Certificates is like Pool, and returns the CAs in order: static ones first. They must not be changed.
func (c *CAFile) Certificates() ([]*x509.Certificate, int) {
	set, generation := c.current.GetWithGeneration()
	return set.certificates, generation
}

// ParseCertificates returns the certificates in PEM data and ignores blocks of other types. It
// returns an error if there is none.
func ParseCertificates(data []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for len(data) > 0 {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(certs)+1, err)
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("no PEM certificate found")
	}
	return certs, nil
}
