// Package server puts the parts together: it opens the store, loads the
// catalogue, sets up authentication and authorization, and listens. The command
// miniapiserver runs it; tests and other programs import it for a complete Kubernetes
// API server in their process.
//
// The nouns: Options configure a server, and their zero value is right for a test; a
// Server is a running server; a Flag sets an option from the CommandLine. Servers
// share nothing, so a process can have any number of them.
//
// Reading order: options.go; flagtable.go, which describes the options and their
// flags; start.go, which lists what a server is made of; assemble.go and boot.go with
// the steps of that list; stop.go; then certs.go and keypair.go for the certificates,
// authn.go for credentials, and insecure.go for the port without any.
//
// Package client-go is imported for the *rest.Config that Server.RESTConfig
// returns, and for the form of kubeconfig files.
package server

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/admission/webhook"
	"github.com/miniapiserver/miniapiserver/aggregation"
	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/handlers"
	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/registry/hooks"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Server is a running API server. Start makes one and Stop ends it.
type Server struct {
	// URL is where HTTPS is served, as seen from this machine; InsecureURL is
	// where plain HTTP is, or empty.
	URL, InsecureURL string
	// CA is the PEM of what verifies the serving certificate.
	CA []byte
	// Token is a bearer token of the administrator, for as long as this server
	// runs. It is written nowhere.
	Token string
	// KubeconfigFile is a file with the administrator's access. In an ephemeral
	// server it goes with the rest.
	KubeconfigFile string

	o           Options
	lock        *os.File
	ephemeral   bool
	secure      net.Listener
	insecure    net.Listener // nil without --insecure-port
	logger      *slog.Logger
	admin       adminAccess
	kubeconfig  []byte
	tls         *tls.Config
	store       *storage.Store
	webhooks    *webhook.Webhooks // of admission
	proxy       *proxy.Proxy
	remotes     *aggregation.Services
	handler     *handlers.Handler
	converters  *hooks.Clients // of conversion webhooks
	servers     []*http.Server
	idle        idleConns
	controllers *controllers.Set

	// lifetime ends when the server stops; the goroutines that wg counts end
	// with it or with what they serve.
	lifetime context.Context
	end      context.CancelFunc
	wg       sync.WaitGroup

	stopping sync.Once
	done     chan struct{}
	// stopErr is what went wrong while stopping, and err what made the server
	// stop by itself; both are for reading when done is closed.
	stopErr error
	failed  sync.Once
	err     error
}

// RESTConfig returns a client-go configuration with the administrator's access
// and without client-side limits. Each call makes a new one, which the caller
// may change.
func (s *Server) RESTConfig() *rest.Config {
	return &rest.Config{
		Host: s.admin.url,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:     s.admin.ca,
			ServerName: s.admin.serverName,
			CertData:   s.admin.cert,
			KeyData:    s.admin.key,
		},
		QPS: -1,
	}
}

// Kubeconfig returns the content of KubeconfigFile.
func (s *Server) Kubeconfig() []byte { return append([]byte(nil), s.kubeconfig...) }

// Done is closed when the server has stopped, whoever made it.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns what made the server stop by itself. It is nil while the server
// runs and after a Stop that somebody asked for.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}
