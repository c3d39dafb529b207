package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Start starts a server and returns when it is ready: when it answers and has
// all that it read from the store. The context bounds the start and not the
// server, which runs until Stop. Errors name the option they are about by its
// flag.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Server{o: o, done: make(chan struct{})}
	s.lifetime, s.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.start(ctx); err != nil {
		s.stopping.Do(func() { s.stop(ctx) })
		return nil, errors.Join(err, s.stopErr)
	}
	return s, nil
}

// start is the server's parts in their order. What one leaves behind, stop
// clears away, even after a start that got no further than that.
func (s *Server) start(ctx context.Context) error {
	if err := s.openDir(); err != nil {
		return err
	}
	s.o = s.o.withDefaults()
	s.logger = s.o.Logger
	// The ports are taken before anything that takes time, so that a server
	// that cannot have them says so at once.
	secure, err := listen("secure-port", s.o.BindAddress, s.o.Port)
	if err != nil {
		return err
	}
	insecure, err := s.listenInsecure()
	if err != nil {
		return errors.Join(err, secure.Close())
	}
	s.listening = []netip.AddrPort{listenAddress(secure)}
	if insecure != nil {
		s.listening = append(s.listening, listenAddress(insecure))
	}
	p, err := s.assemble(secure)
	if err != nil {
		_ = secure.Close() // the first error is the one to tell of
		if insecure != nil {
			_ = insecure.Close()
		}
		return err
	}
	// Health is served from now on, and the rest when boot is done.
	s.serve(secure, insecure)
	if err := p.boot(ctx); err != nil {
		return err
	}
	// What they do first need not be waited for.
	s.controllers = controllers.Start(s.lifetime, s.loops, s.o.ControllersOff...)
	s.logger.Info("ready", "url", s.URL, "insecureURL", s.InsecureURL, "dir", s.o.Dir)
	return nil
}

// openDir makes the data directory and takes it for this server.
func (s *Server) openDir() (err error) {
	if s.o.Ephemeral() {
		s.o.Dir, err = os.MkdirTemp("", "miniapiserver-")
		if err != nil {
			return fmt.Errorf("--ephemeral: %w", err)
		}
		s.ephemeral = true
		return nil
	}
	if s.o.Dir, err = filepath.Abs(s.o.Dir); err == nil {
		err = os.MkdirAll(s.o.Dir, 0o700)
	}
	if err == nil {
		s.lock, err = lockDir(s.o.Dir)
	}
	if err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	return nil
}

// listen takes a port; the flag is that which chose it.
func listen(flag, host string, port int) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("--%s %d: %w", flag, port, err)
	}
	return l, nil
}

func (s *Server) listenInsecure() (net.Listener, error) {
	if s.o.InsecurePort == 0 {
		return nil, nil
	}
	l, err := listen("insecure-port", "127.0.0.1", max(s.o.InsecurePort, 0))
	if err == nil {
		s.InsecureURL = "http://" + l.Addr().String()
	}
	return l, err
}

// newStore makes the store, which is connected by boot.
func (s *Server) newStore() (*storage.Store, error) {
	for _, file := range []struct{ flag, path string }{
		{"etcd-cafile", s.o.EtcdCAFile}, {"etcd-certfile", s.o.EtcdCertFile}, {"etcd-keyfile", s.o.EtcdKeyFile},
	} {
		if file.path == "" {
			continue
		}
		if _, err := os.ReadFile(file.path); err != nil {
			return nil, fmt.Errorf("--%s: %w", file.flag, err)
		}
	}
	return storage.NewStore(storage.Options{
		Dir:                filepath.Join(s.o.Dir, "etcd"),
		Ephemeral:          s.ephemeral,
		SnapshotFile:       s.o.EtcdSnapshot,
		Servers:            s.o.EtcdServers,
		CAFile:             s.o.EtcdCAFile,
		CertFile:           s.o.EtcdCertFile,
		KeyFile:            s.o.EtcdKeyFile,
		Prefix:             s.o.EtcdPrefix,
		CompactionInterval: s.o.EtcdCompactionInterval,
		QuotaBytes:         s.o.EtcdQuotaBytes,
		Logger:             s.logger,
	}), nil
}

// connectPause is how long after an attempt an etcd that gives no answer is tried
// again.
const connectPause = 200 * time.Millisecond

// connectStore starts the embedded etcd or connects to another one, which has
// --storage-initialization-timeout to answer.
func (s *Server) connectStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.StorageInitializationTimeout)
	defer cancel()
	for {
		err := s.store.Connect(ctx)
		if err == nil {
			return nil
		}
		var snapshot *storage.SnapshotError
		switch {
		case errors.As(err, &snapshot):
			return fmt.Errorf("--etcd-snapshot: %w", err)
		case len(s.o.EtcdServers) == 0:
			return fmt.Errorf("--data-dir: %w", err)
		case !errors.Is(err, storage.ErrNoAnswer):
			return fmt.Errorf("--etcd-servers: %w", err)
		}
		if ctx.Err() == nil {
			s.logger.Warn("etcd gives no answer, trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("--etcd-servers: %w", err)
		case <-time.After(connectPause):
		}
	}
}

// loadCredentials makes or reads what the server shows to clients and what its
// administrator shows to it.
func (s *Server) loadCredentials(l net.Listener) (*certificates, error) {
	bind := net.ParseIP(s.o.BindAddress)
	service, err := serviceIPs(s.o.ServiceClusterIPRange)
	if err != nil {
		return nil, fmt.Errorf("--service-cluster-ip-range: %w", err)
	}
	own, err := loadCertificates(s.o.CertDir, sansFor(bind, service), time.Now(), !s.ephemeral)
	if err != nil {
		return nil, fmt.Errorf("--cert-dir: %w", err)
	}
	serving, verify, err := loadServing(&s.o, own)
	if err != nil {
		return nil, err
	}
	certFile, keyFile := s.o.TLSCertFile, s.o.TLSKeyFile
	if certFile == "" {
		certFile, keyFile = filepath.Join(s.o.CertDir, "apiserver.crt"), filepath.Join(s.o.CertDir, "apiserver.key")
	}
	certificate, err := newServingCertificate(serving, certFile, keyFile, s.logger)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-file: %w", err)
	}
	s.tls = tlsConfig(&s.o, certificate)
	host, port := localHost(bind), l.Addr().(*net.TCPAddr).Port
	s.admin = access{
		url:        "https://" + net.JoinHostPort(host, strconv.Itoa(port)),
		ca:         verify,
		serverName: serverNameFor(serving, host),
		cert:       own.admin.certPEM,
		key:        own.admin.keyPEM,
	}
	s.URL, s.CA, s.Token = s.admin.url, verify, newToken()
	if s.kubeconfig, err = s.admin.kubeconfig(); err != nil {
		return nil, err
	}
	s.KubeconfigFile = filepath.Join(s.o.Dir, "admin.kubeconfig")
	return own, writeFile(s.KubeconfigFile, s.kubeconfig, 0o600, !s.ephemeral)
}

// localHost is the host by which a listener is reached from this machine.
func localHost(bind net.IP) string {
	switch {
	case !bind.IsUnspecified():
		return bind.String()
	case bind.To4() != nil:
		return "127.0.0.1"
	}
	return "::1"
}
