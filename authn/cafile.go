package authn

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// recheckAfter is how old the last look at a CA file may be before a request
// has it looked at again. There is no goroutine that polls.
const recheckAfter = time.Second

// CAFile is a set of CA certificates: fixed ones, and those of a file, which is
// read again when it changes. A change that cannot be read leaves the CAs as
// they were, so that a half-written file locks nobody out.
type CAFile struct {
	fixed  []*x509.Certificate
	path   string
	logger *slog.Logger
	now    func() time.Time

	mu         sync.Mutex
	pool       *x509.CertPool
	generation int
	seen       os.FileInfo
	checked    time.Time
}

// NewCAFile returns the CAs of fixed (PEM, may be empty) and of the file at
// path (may be ""). A logger of nil logs nothing.
func NewCAFile(fixed []byte, path string, logger *slog.Logger) (*CAFile, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	c := &CAFile{path: path, logger: logger, now: time.Now, generation: 1}
	if len(fixed) > 0 {
		var err error
		if c.fixed, err = ParseCertificates(fixed); err != nil {
			return nil, err
		}
	}
	pool, err := c.read()
	if err != nil {
		return nil, err
	}
	c.pool, c.checked = pool, c.now()
	return c, nil
}

// Pool returns the CAs as they are now, and a number that grows whenever they
// change.
func (c *CAFile) Pool() (*x509.CertPool, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); c.path != "" && now.Sub(c.checked) >= recheckAfter {
		c.checked = now
		c.reload()
	}
	return c.pool, c.generation
}

// reload reads the file if it is another one than was seen last.
func (c *CAFile) reload() {
	info, err := os.Stat(c.path)
	if err == nil && os.SameFile(info, c.seen) && info.ModTime().Equal(c.seen.ModTime()) && info.Size() == c.seen.Size() {
		return
	}
	pool, err := c.read()
	if err != nil {
		c.logger.Warn("keeping the client CAs as they were", "err", err)
		return
	}
	c.pool = pool
	c.generation++
	c.logger.Info("client CAs changed", "file", c.path)
}

func (c *CAFile) read() (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for _, cert := range c.fixed {
		pool.AddCert(cert)
	}
	if c.path == "" {
		return pool, nil
	}
	// Looked at before it is read: a change in between shows as one next time.
	info, err := os.Stat(c.path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(c.path)
	if err != nil {
		return nil, err
	}
	certs, err := ParseCertificates(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.path, err)
	}
	for _, cert := range certs {
		pool.AddCert(cert)
	}
	c.seen = info
	return pool, nil
}

// ParseCertificates reads the certificates of a PEM file. One must be there;
// blocks of another type are passed over.
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
