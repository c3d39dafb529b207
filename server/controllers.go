package server

import (
	"fmt"
	"os"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/registry"
)

// controllersConfig is what controllers need, with what the options say of it.
func (s *Server) controllersConfig(own *certificates, catalogue *api.Catalogue, reg *registry.Registry) (controllers.Config, error) {
	c := controllers.Config{
		Handler: s.handler, Registry: reg, Catalogue: catalogue, Logger: s.logger,
		SigningDuration:         s.o.ClusterSigningDuration,
		NamespaceConditionDelay: s.o.NamespaceConditionDelay,
	}
	var err error
	if c.RootCA, err = rootCA(s.o.RootCAFile, s.CA); err != nil {
		return c, fmt.Errorf("--root-ca-file: %w", err)
	}
	if c.SigningCA, err = signingCA(s.o.ClusterSigningCertFile, s.o.ClusterSigningKeyFile, own.ca); err != nil {
		return c, fmt.Errorf("--cluster-signing-cert-file, --cluster-signing-key-file: %w", err)
	}
	return c, nil
}

// rootCA is by what pods verify the server: what a file says, or what other
// clients do it by.
func rootCA(file string, verify []byte) ([]byte, error) {
	if file == "" {
		return verify, nil
	}
	data, err := os.ReadFile(file)
	if err == nil {
		_, err = authn.ParseCertificates(data)
	}
	return data, err
}

// signingCA returns what reads the CA that signs requests for certificates: that
// of two files, as they are when it is needed, or the server's own.
func signingCA(certFile, keyFile string, own *pair) (func() (*controllers.CA, error), error) {
	if certFile == "" {
		ca := &controllers.CA{Certificate: own.cert, Key: own.key}
		return func() (*controllers.CA, error) { return ca, nil }, nil
	}
	read := func() (*controllers.CA, error) {
		p, err := readPair(certFile, keyFile)
		if err != nil {
			return nil, err
		}
		return &controllers.CA{Certificate: p.cert, Key: p.key}, nil
	}
	_, err := read()
	return read, err
}
