package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/miniapiserver/miniapiserver/handlers/proxy"
)

// newConnections is how clients are led on to kubelets, pods and services.
func newConnections(o *Options, own *certificates) (*proxy.Proxy, error) {
	shown := own.kubelets
	if o.KubeletCertFile != "" {
		var err error
		if shown, err = readPair(o.KubeletCertFile, o.KubeletKeyFile); err != nil {
			return nil, fmt.Errorf("--kubelet-client-certificate: %w", err)
		}
	}
	certificate, err := shown.tls()
	if err != nil {
		return nil, fmt.Errorf("--kubelet-client-certificate: %w", err)
	}
	c := proxy.Config{
		Certificate: func() (*tls.Certificate, error) { return &certificate, nil },
		Timeout:     o.KubeletTimeout, Dial: o.Dial, Logger: o.Logger,
	}
	if o.KubeletCAFile != "" {
		data, err := os.ReadFile(o.KubeletCAFile)
		if c.Roots = x509.NewCertPool(); err == nil && !c.Roots.AppendCertsFromPEM(data) {
			err = errors.New("has no certificate")
		}
		if err != nil {
			return nil, fmt.Errorf("--kubelet-certificate-authority: %w", err)
		}
	}
	return proxy.New(c), nil
}
