package sandbox

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	certutil "k8s.io/client-go/util/cert"

	"github.com/miniapiserver/miniapiserver/server/transport"
)

// memoryServer is a TLS server whose connections stay in the process.
type memoryServer struct {
	listener *transport.Memory
	server   *http.Server
	// ca is its certificate in PEM, which it has signed itself.
	ca []byte
}

// newMemoryServer returns a server with a certificate for a host name. Errors of single connections are
// logged at the level debug: after a restart a client has the former certificate for a while.
func newMemoryServer(host string, handler http.Handler, logger *slog.Logger) (*memoryServer, error) {
	certPEM, keyPEM, err := certutil.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", host, err)
	}
	certificate, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	return &memoryServer{listener: transport.ListenMemory(), ca: certPEM, server: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}},
	}}, nil
}

// run serves until ctx ends.
func (m *memoryServer) run(ctx context.Context) error {
	end := context.AfterFunc(ctx, func() { _ = m.server.Close() }) // Serve returns what matters
	defer end()
	err := m.server.ServeTLS(m.listener, "", "")
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
