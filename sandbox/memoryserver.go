package sandbox

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/kubernetes/pkg/cluster/ports"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"

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

// healthAddresses returns the addresses at which the server checks the health of components, for
// kubectl get componentstatuses.
func healthAddresses() map[string]string {
	return map[string]string{
		ControllerManager: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports.KubeControllerManagerPort)),
		Scheduler:         net.JoinHostPort("127.0.0.1", strconv.Itoa(schedulerconfig.DefaultKubeSchedulerPort)),
	}
}

// serveHealth returns what makes a component without a port serve its own handlers to the server, at
// the address of its health check. Nobody else can connect.
func (s *controlPlane) serveHealth(name string) (*genericserver.SecureServingInfo, error) {
	certificate, key, err := certutil.GenerateSelfSignedCertKey(name, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("certificate of %s: %w", name, err)
	}
	content, err := dynamiccertificates.NewStaticCertKeyContent(name, certificate, key)
	if err != nil {
		return nil, err
	}
	listener := transport.ListenMemory()
	s.health.Store(healthAddresses()[name], listener)
	return &genericserver.SecureServingInfo{Listener: listener, Cert: content, DisableHTTP2: true}, nil
}
