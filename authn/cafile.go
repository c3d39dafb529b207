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

// recheckAfter is the minimum time between two checks whether the file changed. Requests trigger
// the check, so no goroutine has to poll.
const recheckAfter = time.Second

// CAFile is a set of CA certificates: static ones, and the ones in a file, which is reloaded when
// it changes. If reloading fails, the CAs stay as they are, so that a half-written file locks
// nobody out.
type CAFile struct {
	static []*x509.Certificate
	path   string
	logger *slog.Logger
	now    func() time.Time

	mu         sync.Mutex
	pool       *x509.CertPool
	generation int
	seen       os.FileInfo
	checked    time.Time
}

// NewCAFile returns the CAs in static (PEM, may be empty) and in the file at path (may be ""). A
// nil logger discards all messages.
func NewCAFile(static []byte, path string, logger *slog.Logger) (*CAFile, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	c := &CAFile{path: path, logger: logger, now: time.Now, generation: 1}
	if len(static) > 0 {
		var err error
		if c.static, err = ParseCertificates(static); err != nil {
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

// Pool returns the current CAs, and a generation that increases with each change.
func (c *CAFile) Pool() (*x509.CertPool, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); c.path != "" && now.Sub(c.checked) >= recheckAfter {
		c.checked = now
		c.reload()
	}
	return c.pool, c.generation
}

// reload reads the file if it differs from the last one read.
func (c *CAFile) reload() {
	info, err := os.Stat(c.path)
	if err == nil && os.SameFile(info, c.seen) && info.ModTime().Equal(c.seen.ModTime()) && info.Size() == c.seen.Size() {
		return
	}
	pool, err := c.read()
	if err != nil {
		c.logger.Warn("failed to reload client CAs, using the previous ones", "file", c.path, "error", err)
		return
	}
	c.pool = pool
	c.generation++
	c.logger.Info("reloaded client CAs", "file", c.path)
}

func (c *CAFile) read() (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for _, cert := range c.static {
		pool.AddCert(cert)
	}
	if c.path == "" {
		return pool, nil
	}
	// Stat before reading, so that a change between the two is detected by the next check.
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
