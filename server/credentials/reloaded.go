package credentials

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/reload"
)

// ReloadedPair is a certificate with its key that the server presents, read again when its two
// files change. If they cannot be read or do not match, which may be temporary, the former
// certificate remains.
type ReloadedPair struct {
	name    string
	current *reload.Value[*loadedPair]
}

// loadedPair is a pair, also in the form that package crypto/tls uses.
type loadedPair struct {
	*KeyPair
	certificate *tls.Certificate
}

// NewReloadedPair returns the pair in two files. The name describes it in the log.
func NewReloadedPair(name, certFile, keyFile string, logger *slog.Logger) (ReloadedPair, error) {
	return newReloadedPair(name, logger, func(files *reload.Files) (*KeyPair, error) {
		return readPairWith(files.Read, certFile, keyFile)
	})
}

// GeneratedPair returns a pair of Certificates. If Load or Generate wrote it to dir, with the given name
// of its files, it is read again when they change; dir is empty if the pair is only in memory.
func GeneratedPair(name string, pair *KeyPair, dir, file string, logger *slog.Logger) (ReloadedPair, error) {
	first := true
	return newReloadedPair(name, logger, func(files *reload.Files) (*KeyPair, error) {
		if dir == "" {
			return pair, nil
		}
		paths := pki{dir: dir}.files(file)
		current, err := readPairWith(files.Read, paths[0], paths[1])
		if first && err != nil {
			current, err = pair, nil
		}
		first = false
		return current, err
	})
}

func newReloadedPair(name string, logger *slog.Logger, read func(*reload.Files) (*KeyPair, error)) (ReloadedPair, error) {
	current, err := reload.New(name, logger, func(files *reload.Files) (*loadedPair, error) {
		pair, err := read(files)
		if err != nil {
			return nil, err
		}
		c, err := pair.TLS()
		return &loadedPair{pair, &c}, err
	})
	return ReloadedPair{name, current}, err
}

// Serve implements tls.Config.GetCertificate.
func (p ReloadedPair) Serve(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.Present() }

// Present returns the certificate for a server that requests one. It never fails.
func (p ReloadedPair) Present() (*tls.Certificate, error) { return p.current.Get().certificate, nil }

// Pair returns the current certificate and its key.
func (p ReloadedPair) Pair() *KeyPair { return p.current.Get().KeyPair }

// WarnOfExpiry logs which of the pairs have expired or expire within 30 days.
func WarnOfExpiry(logger *slog.Logger, pairs []ReloadedPair, now time.Time) {
	for _, pair := range pairs {
		end := pair.current.Get().Cert.NotAfter
		switch left := end.Sub(now); {
		case left <= 0:
			logger.Error("a certificate has expired", "certificate", pair.name, "notAfter", end)
		case left < renewBefore:
			logger.Warn("a certificate is about to expire", "certificate", pair.name, "notAfter", end)
		}
	}
}
