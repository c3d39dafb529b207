package server

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/internal/safefile"
	"github.com/miniapiserver/miniapiserver/server/credentials"
	"github.com/miniapiserver/miniapiserver/server/transport"
	"github.com/miniapiserver/miniapiserver/storage"
)

// ManyOptions configure servers that share a process, a port and their certificates.
type ManyOptions struct {
	// Server has the options of each server. The listener is that of all; Dir has a directory for each.
	Server Options
	// Count is the number of the servers. Their names are 1 to Count.
	Count int
	// Idle is the time without requests after which a server stops until the next one; 0 means a minute. An open
	// watch is a request.
	Idle time.Duration
	// Running is the maximum number of servers that run at the same time; 0 means 200. If all of them have requests,
	// a request that would start another one is refused with 429.
	Running int
}

// Many are servers behind one port. Each has its own etcd and objects, starts at the first request to its path,
// and stops when it has had none for a while; its objects are there again at the next start. They have the same
// certificates, so that one administrator has access to all.
type Many struct {
	// URL is the address of the port. ServerURL returns that of a server.
	URL string
	// KubeconfigFile is a kubeconfig file of the administrator, with a context for each server, named as it.
	KubeconfigFile string

	o        ManyOptions
	logger   *slog.Logger
	dir      string
	closers  []func() error
	http     *http.Server
	conns    transport.IdleConns
	wg       sync.WaitGroup
	lifetime context.Context
	end      context.CancelFunc
	starting chan struct{} // has an element for each start under way, at most one for each processor

	stopping sync.Once
	stopErr  error

	mu      sync.Mutex
	members map[string]*manyMember // those that were asked for
	running int
}

// manyMember is one of many servers. Many.mu guards it.
type manyMember struct {
	server *Server // nil unless it runs
	// changing is closed when the start or the stop that is under way has ended; nil if there is none.
	changing chan struct{}
	failed   error // why the last start or stop failed, for the request that waits for it
	requests int
	idle     *time.Timer // stops the server; set while it runs
	since    time.Time   // when the last request ended
}

// manyPath begins the paths of many servers; the name of a server follows.
const manyPath = "/servers/"

// StartMany opens the port of many servers. None of them runs yet. A program calls storage.PrepareForMany before.
func StartMany(ctx context.Context, o ManyOptions) (m *Many, err error) {
	if o.Count < 1 {
		return nil, fmt.Errorf("--count: %d servers, must be at least 1", o.Count)
	}
	if err := o.Server.Validate(); err != nil {
		return nil, err
	}
	o.Idle, o.Running = cmp.Or(o.Idle, time.Minute), cmp.Or(o.Running, 200)
	m = &Many{o: o, members: map[string]*manyMember{}, starting: make(chan struct{}, runtime.GOMAXPROCS(0))}
	m.lifetime, m.end = context.WithCancel(context.WithoutCancel(ctx))
	m.logger = cmp.Or(o.Server.Logger, slog.New(slog.DiscardHandler))
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Stop(ctx))
		}
	}()
	if err := m.openDir(); err != nil {
		return m, err
	}
	return m, m.listen()
}

// openDir makes and locks the directory of all servers, and completes the options.
func (m *Many) openDir() (err error) {
	var lock *os.File
	o := &m.o.Server
	if o.Ephemeral() {
		if m.dir, lock, err = makeEphemeralDir(m.logger); err != nil {
			return err
		}
		m.closers = append(m.closers, func() error { return os.RemoveAll(m.dir) })
		o.Etcd.UnsafeNoFsync = true
	} else {
		if m.dir, err = filepath.Abs(o.Dir); err == nil {
			err = safefile.MakeDir(m.dir, 0o700)
		}
		if err == nil {
			lock, err = storage.LockDir(m.dir)
		}
		if err != nil {
			return dataDirError(err)
		}
	}
	m.closers = append(m.closers, lock.Close)
	o.Dir = m.dir
	*o = o.withDefaults()
	return nil
}

// listen opens the port, with the certificate that the servers have, and writes the kubeconfig file.
func (m *Many) listen() error {
	o := &m.o.Server
	names, err := o.certificateNames()
	if err != nil {
		return err
	}
	own, err := credentials.Load(o.Serving.CertDir, names, time.Now(), !o.Etcd.UnsafeNoFsync)
	if err != nil {
		return fmt.Errorf("--cert-dir: %w", err)
	}
	certificate, err := credentials.GeneratedPair("serving certificate", own.Serving, o.Serving.CertDir, credentials.ServingName, m.logger)
	if err != nil {
		return err
	}
	listener, err := listen(o.Serving.BindAddress, o.Serving.Port, nil)
	if err != nil {
		return o.listenError(err)
	}
	m.closers = append(m.closers, func() error {
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	m.http = newHTTPServer(o, m.logger.Handler(), m)
	m.http.ConnState = m.conns.Observe
	m.http.TLSConfig = tlsConfig(o, certificate.Serve)
	m.http.TLSConfig.ClientCAs = x509.NewCertPool() // the hint by which clients choose a certificate
	m.http.TLSConfig.ClientCAs.AddCert(own.CA.Cert)
	m.wg.Go(func() {
		if caught := recovery.Call(m.logger, "serving HTTPS", func() {
			if err := m.http.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
				m.logger.Error("the port of the servers is closed", "error", err)
			}
		}); caught != nil {
			m.logger.Error("the port of the servers is closed", "error", caught)
		}
	})
	host := localHost(net.ParseIP(o.Serving.BindAddress))
	m.URL = "https://" + net.JoinHostPort(host, strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	return m.writeKubeconfig(own, serverNameFor(own.Serving, host))
}

// writeKubeconfig writes the kubeconfig file.
func (m *Many) writeKubeconfig(own *credentials.Certificates, serverName string) error {
	admin := credentials.Access{User: credentials.AdminName, ServerName: serverName, CertPEM: own.Admin.CertPEM, KeyPEM: own.Admin.KeyPEM}
	servers := make([]credentials.NamedServer, m.o.Count)
	for i := range servers {
		servers[i] = credentials.NamedServer{Name: strconv.Itoa(i + 1), URL: m.ServerURL(i + 1)}
	}
	out, err := admin.KubeconfigOf(servers, filepath.Join(m.o.Server.Serving.CertDir, "ca.crt"))
	if err != nil {
		return err
	}
	m.KubeconfigFile = filepath.Join(m.dir, "admin.kubeconfig")
	return safefile.Write(m.KubeconfigFile, out, 0o600, !m.o.Server.Etcd.UnsafeNoFsync)
}

// ServerURL returns the URL of server n, from 1.
func (m *Many) ServerURL(n int) string { return m.URL + manyPath + strconv.Itoa(n) }

// Running returns the number of servers that run, start or stop.
func (m *Many) Running() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running
}

// ServeHTTP implements http.Handler: it passes a request on to the server that its path names.
func (m *Many) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, manyPath)
	name, _, _ := strings.Cut(rest, "/")
	if n, err := strconv.Atoi(name); !ok || err != nil || n < 1 || n > m.o.Count || strconv.Itoa(n) != name {
		writeStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound,
			fmt.Sprintf("the paths of the servers are %s1 to %s%d", manyPath, manyPath, m.o.Count))
		return
	}
	s, err := m.acquire(r.Context(), name)
	switch {
	case errors.Is(err, errAllBusy):
		w.Header().Set("Retry-After", "1")
		writeStatus(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
			fmt.Sprintf("%d servers run and have requests, more may not run at the same time (--running)", m.o.Running))
		return
	case err != nil:
		m.logger.Error("a server does not start", "server", name, "error", err)
		writeStatus(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
			fmt.Sprintf("server %s does not start: %v", name, err))
		return
	}
	defer m.release(name)
	http.StripPrefix(manyPath+name, s.handler).ServeHTTP(w, r)
}

// writeStatus answers a request that no server gets.
func writeStatus(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{ // an error means that the client is gone
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: message,
	})
}

// errAllBusy reports that the maximum number of servers run and have requests.
var errAllBusy = errors.New("too many servers have requests")

// acquire returns a server for a request, which release ends. It starts the server if it does not run.
func (m *Many) acquire(ctx context.Context, name string) (*Server, error) {
	for {
		wait, s, err := m.tryAcquire(name)
		if wait == nil {
			return s, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryAcquire returns the server if it runs. Otherwise it begins to start it, or to stop another one that makes room,
// and returns a channel that is closed when it is worth another try.
func (m *Many) tryAcquire(name string) (wait <-chan struct{}, s *Server, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.lifetime.Err(); err != nil {
		return nil, nil, err
	}
	one := m.members[name]
	if one == nil {
		one = &manyMember{}
		m.members[name] = one
	}
	switch {
	case one.changing != nil:
		return one.changing, nil, nil
	case one.failed != nil:
		err, one.failed = one.failed, nil // the next request tries again
		return nil, nil, err
	case one.server != nil && one.server.hasStopped():
		m.change(one, func() { m.stop(one) }) // it failed, and starts again
		return one.changing, nil, nil
	case one.server != nil:
		one.idle.Stop()
		one.requests++
		return nil, one.server, nil
	case m.running < m.o.Running:
		m.change(one, func() { m.start(name, one) })
		m.running++
		return one.changing, nil, nil
	}
	victim := m.longestIdle()
	if victim == nil {
		return nil, nil, errAllBusy
	}
	m.change(victim, func() { m.stop(victim) })
	return victim.changing, nil, nil
}

// change starts or stops a server in a goroutine. The caller holds m.mu.
func (m *Many) change(one *manyMember, f func()) {
	done := make(chan struct{})
	one.changing = done
	m.wg.Go(func() {
		caught := recovery.Call(m.logger, "starting or stopping a server", f)
		if m.changed(one, caught); m.Running() == 0 {
			runtime.GC() // of what has a finalizer, whose memory is free after the next collection
			debug.FreeOSMemory()
		}
		close(done)
	})
}

// changed ends a start or a stop, which may have panicked.
func (m *Many) changed(one *manyMember, caught error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one.changing = nil
	if caught != nil {
		m.logger.Error("starting or stopping a server failed", "error", caught)
		one.failed = caught
	}
	if one.server == nil {
		m.running--
	}
}

// start starts a server. Its requests come through the port of all; its own port is for what follows the
// addresses that a server publishes.
func (m *Many) start(name string, one *manyMember) {
	m.starting <- struct{}{}
	defer func() { <-m.starting }()
	o := m.o.Server
	o.oneOfMany = true
	o.Dir = filepath.Join(m.dir, "servers", name)
	o.Serving.Port, o.Serving.InsecurePort = 0, 0
	o.Logger = m.logger.With("server", name)
	s, err := Start(m.lifetime, o)
	m.mu.Lock()
	defer m.mu.Unlock()
	if one.server, one.failed = s, err; err != nil {
		return
	}
	one.since = time.Now()
	one.idle = time.AfterFunc(m.o.Idle, func() {
		_ = recovery.Call(m.logger, "stopping an idle server", func() { m.stopIdle(one) }) // logged
	})
}

// release ends a request.
func (m *Many) release(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one := m.members[name]
	if one.requests--; one.requests == 0 {
		one.since = time.Now()
		one.idle.Reset(m.o.Idle)
	}
}

// stopIdle stops a server unless it has requests.
func (m *Many) stopIdle(one *manyMember) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one.requests == 0 && one.server != nil && one.changing == nil && m.lifetime.Err() == nil {
		m.change(one, func() { m.stop(one) })
	}
}

// longestIdle returns the server whose last request ended first, nil if all have requests. The caller holds m.mu.
func (m *Many) longestIdle() (found *manyMember) {
	for _, one := range m.members {
		if one.server != nil && one.changing == nil && one.requests == 0 && (found == nil || one.since.Before(found.since)) {
			found = one
		}
	}
	return found
}

// stop stops a server, which has no requests.
func (m *Many) stop(one *manyMember) {
	one.idle.Stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.lifetime), stopTimeoutOfMany)
	defer cancel()
	if err := one.server.Stop(ctx); err != nil {
		m.logger.Error("a server does not stop", "error", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	one.server = nil
}

// stopTimeoutOfMany is the time that a server has to stop, after which its connections are closed.
const stopTimeoutOfMany = 10 * time.Second

// Stop closes the port, stops the servers that run, and removes an ephemeral directory. If ctx is done first,
// connections are closed. A further call waits for the first.
func (m *Many) Stop(ctx context.Context) error {
	m.stopping.Do(func() { m.stopErr = m.stopAll(ctx) })
	return m.stopErr
}

func (m *Many) stopAll(ctx context.Context) error {
	m.mu.Lock()
	m.end()
	for _, one := range m.members {
		if one.server != nil {
			one.server.handler.BeginShutdown(0) // ends watches
		}
	}
	m.mu.Unlock()
	var errs []error
	if m.http != nil {
		errs = append(errs, shutdown(ctx, &m.conns, m.http))
	}
	m.wg.Wait() // starts and stops that are under way
	var stops sync.WaitGroup
	for _, one := range m.members {
		if one.server != nil {
			stops.Go(func() {
				if caught := recovery.Call(m.logger, "stopping a server", func() { m.stop(one) }); caught != nil {
					m.logger.Error("stopping a server failed", "error", caught)
				}
			})
		}
	}
	stops.Wait()
	for _, end := range slices.Backward(m.closers) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}
