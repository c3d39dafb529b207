package credentials

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// servingRecheck is the minimum time between two checks of the certificate files, which
// handshakes trigger.
const servingRecheck = time.Second

// ServingCertificate is the serving certificate, read again when its two files change. If
// they cannot be read or do not match, which may be temporary, the former certificate
// remains.
type ServingCertificate struct {
	certFile, keyFile string
	logger            *slog.Logger
	now               func() time.Time

	mu      sync.Mutex
	current *tls.Certificate
	seen    string
	checked time.Time
}

func NewServingCertificate(p *KeyPair, certFile, keyFile string, logger *slog.Logger) (*ServingCertificate, error) {
	c, err := p.TLS()
	if err != nil {
		return nil, err
	}
	s := &ServingCertificate{certFile: certFile, keyFile: keyFile, logger: logger, now: time.Now, current: &c}
	s.seen, s.checked = s.fileState(), s.now()
	return s, nil
}

// Get implements tls.Config.GetCertificate.
func (s *ServingCertificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); now.Sub(s.checked) >= servingRecheck {
		s.checked = now
		s.reload()
	}
	return s.current, nil
}

// reload reads the files if they have changed.
func (s *ServingCertificate) reload() {
	state := s.fileState()
	if state == s.seen {
		return
	}
	p, err := ReadPair(s.certFile, s.keyFile)
	if err == nil {
		var c tls.Certificate
		if c, err = p.TLS(); err == nil {
			s.current, s.seen = &c, state
			s.logger.Info("serving certificate changed", "file", s.certFile)
			return
		}
	}
	s.logger.Warn("reading the changed serving certificate failed", "file", s.certFile, "error", err)
}

// fileState returns a value that changes with the files.
func (s *ServingCertificate) fileState() string {
	var b strings.Builder
	for _, path := range []string{s.certFile, s.keyFile} {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprint(&b, info.ModTime().UnixNano(), info.Size(), ";")
		}
	}
	return b.String()
}
