// Package server runs a complete Kubernetes API server in the process of the program that
// imports it:
//
//   - A test of a controller or a client starts a server of its own with the zero Options,
//     on a free port and in a temporary directory (package servertest does that for Go tests).
//   - A program embeds a server: Options.Dir keeps its data, Server.LocalConfig connects
//     clients in the process without a socket, Options.Dial reaches kubelets of its own.
//   - A test of compatibility selects a release of Kubernetes (Options.Emulation), feature
//     gates and APIs, for each of several servers side by side: servers share no state.
//   - The command miniapiserver sets Options from its flags, by a CommandLine.
//
// Start returns a Server when it is ready, and Server.RESTConfig has the administrator's
// access. Packages server and servertest, and module sandbox, are the API of this repository
// for other modules; the README says how stable it is.
//
// The files form these groups, in reading order:
//
//   - The life of a server: options.go; start.go, which lists the parts of a server in the
//     order in which they are built; assemble.go and boot.go with the steps of that list;
//     ephemeral.go, server.go, serve.go, stop.go.
//   - The command line: flagtable.go describes all options and their flags; flags.go,
//     flagvalue.go and flagcheck.go parse and validate them; flagkube.go and flagignored.go
//     are for other personalities, flagaudit.go and flagversion.go for their subjects;
//     featuregates.go, resources.go.
//   - Builders of one part each: store.go, etcdoverrides.go, options_authn.go, build_authn.go, build_oidc.go,
//     options_authz.go, build_authz.go, admission.go, latebound.go, flowcontrol.go, kubelets.go,
//     aggregation.go, controllers.go, audit.go, encryption.go, metrics.go, tracing.go; credentials.go and tls.go.
//   - Health and version: health.go, componentstatus.go, logwatch.go, version.go.
//
// Package credentials makes and reads certificates, keys and kubeconfig files; package transport is the
// part of the HTTP server below the handler chain; package bootstrap creates the objects that every cluster has.
//
// Package client-go is imported for the *rest.Config that Server.RESTConfig returns, and
// for the format of kubeconfig files.
package server

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/handlers"
	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/internal/clock"
	"github.com/miniapiserver/miniapiserver/internal/metrics"
	"github.com/miniapiserver/miniapiserver/lab"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/server/bootstrap"
	"github.com/miniapiserver/miniapiserver/server/credentials"
	"github.com/miniapiserver/miniapiserver/server/transport"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Server is a running API server. Start makes one and Stop ends it.
type Server struct {
	// URL is the address of HTTPS, as seen from this machine. InsecureURL is the address of
	// plain HTTP, or "".
	URL, InsecureURL string
	// SecondURL is the second address of a server with a lab, or "". Faults can match the requests that are sent to it.
	SecondURL string
	// LabPage is the address of the page of the lab, with the token of an administrator; empty if there is none.
	LabPage string
	// CA is the CA bundle in PEM that verifies the serving certificate.
	CA []byte
	// Token is a bearer token of the administrator. It is valid while this server runs, and
	// is not stored.
	Token string
	// KubeconfigFile is a kubeconfig file of the administrator. Stop removes that of an
	// ephemeral server.
	KubeconfigFile string

	o Options
	// ephemeralDir is the directory of an ephemeral server; nil for others. Abandon uses it while a start runs.
	ephemeralDir atomic.Pointer[string]
	secure       net.Listener
	insecure     net.Listener // nil without --insecure-port
	second       net.Listener // nil without --lab-second-port
	memory       *transport.Memory
	logger       *slog.Logger
	metrics      *metrics.Registry
	serverID     string // identity of the server in metrics, traces and its Lease
	admin        credentials.Access
	kubeconfig   []byte
	// renewed has what takes the place of admin and kubeconfig once their certificate was renewed.
	renewed   atomic.Pointer[renewedAccess]
	tls       *tls.Config
	waiting   waiting
	store     *storage.Store
	reg       *registry.Registry
	tokenKeys *authn.Keys // that sign service account tokens; nil before they are read
	lab       *lab.Lab    // nil without Options.Lab
	// clock is the clock of all stamps and expiries; nil, the wall clock, without Options.Lab.
	clock       *clock.Clock
	proxy       *proxy.Proxy
	handler     *handlers.Handler
	endpoints   *bootstrap.Endpoints // nil if the server does not publish its address
	servers     []*http.Server
	idle        transport.IdleConns
	controllers *controllers.Set
	// closers close the other parts, in the order in which the parts were opened.
	closers []func(context.Context) error

	// lifetime ends when the server stops. The goroutines that wg counts end with it or
	// with the request or the listener that they serve.
	lifetime context.Context
	end      context.CancelFunc
	wg       sync.WaitGroup

	stopping sync.Once
	done     chan struct{}
	// stopErr is the error of stopping, and err the failure that made the server stop by
	// itself. Both are set before done is closed.
	stopErr error
	failed  sync.Once
	err     error
}

// RESTConfig returns a client-go configuration with the administrator's credentials and
// without client-side rate limits. Each call returns a new one, which the caller may
// change.
func (s *Server) RESTConfig() *rest.Config {
	access, _ := s.access()
	return &rest.Config{
		Host: access.URL,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:     access.CA,
			ServerName: access.ServerName,
			CertData:   access.CertPEM,
			KeyData:    access.KeyPEM,
		},
		QPS: -1,
	}
}

// LocalConfig is RESTConfig for programs in the process of the server: its connections are neither
// sockets nor encrypted. Requests pass the same handler chain, and carry the administrator's token
// until the caller sets other credentials.
func (s *Server) LocalConfig() *rest.Config {
	return &rest.Config{Host: "http://" + localConfigHost, Dial: s.memory.Dial, BearerToken: s.Token, QPS: -1}
}

// localConfigHost is the Host of requests through LocalConfig. No name is looked up.
const localConfigHost = "localhost"

// Kubeconfig returns the content of KubeconfigFile.
func (s *Server) Kubeconfig() []byte {
	_, kubeconfig := s.access()
	return append([]byte(nil), kubeconfig...)
}

// renewedAccess is the administrator's access with a renewed certificate.
type renewedAccess struct {
	credentials.Access
	kubeconfig []byte
}

// access returns the administrator's access.
func (s *Server) access() (credentials.Access, []byte) {
	if r := s.renewed.Load(); r != nil {
		return r.Access, r.kubeconfig
	}
	return s.admin, s.kubeconfig
}

// Lab returns the lab of the server: checkpoints and rewinds for programs in its process. It is nil without Options.Lab.
func (s *Server) Lab() *lab.Lab { return s.lab }

// Done returns a channel that is closed when the server has stopped.
func (s *Server) Done() <-chan struct{} { return s.done }

// hasStopped reports whether Done is closed.
func (s *Server) hasStopped() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Err returns the failure that made the server stop by itself. It is nil while the server
// runs and after a call of Stop.
func (s *Server) Err() error {
	if !s.hasStopped() {
		return nil
	}
	return s.err
}
