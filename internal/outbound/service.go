package outbound

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Service names a port of a service.
type Service struct {
	Namespace, Name string
	Port            int32
}

// ServerName returns the name in the certificate of the service.
func (s Service) ServerName() string { return s.Name + "." + s.Namespace + ".svc" }

// Address is the address of a service.
type Address struct {
	// Host is the address within the cluster, and Dial the address to connect to, both with
	// the port.
	Host, Dial string
}

// ParseCABundle parses a CA bundle in PEM.
func ParseCABundle(data []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if pool.AppendCertsFromPEM(data) {
		return pool, nil
	}
	fault := func() error {
		for rest := data; len(rest) > 0; {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				return errors.New("unable to parse bytes as PEM block")
			}
			if block.Type != "CERTIFICATE" || len(block.Headers) > 0 {
				continue
			}
			if _, err := x509.ParseCertificate(block.Bytes); err != nil {
				return fmt.Errorf("failed to parse certificate: %w", err)
			}
		}
		return errors.New("no valid certificate authority data seen")
	}
	return nil, fmt.Errorf("unable to load root certificates: %w", fault())
}
