package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/internal/safefile"
	"github.com/miniapiserver/miniapiserver/server/transport"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Start starts a server and returns when it is ready: when it serves every request
// from loaded caches. The context bounds the start and not the server, which runs
// until Stop. An error about an option names its flag.
//
// A start whose context is done closes what it has opened. If something blocks that, such as a file system
// that does not answer, Start returns nevertheless, and leaves the rest to a goroutine.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Server{o: o, done: make(chan struct{})}
	s.lifetime, s.end = context.WithCancel(context.WithoutCancel(ctx))
	defer s.tellWhileSlow(ctx)()
	result := make(chan error, 1)
	go func() {
		if caught := recovery.Call(nil, "the start", func() { result <- s.startOrStop(ctx) }); caught != nil {
			result <- caught
		}
	}()
	select {
	case err := <-result:
		return s.started(err)
	case <-ctx.Done():
	}
	select {
	case err := <-result:
		return s.started(err)
	case <-time.After(blockedStart):
		s.Abandon()
		return nil, fmt.Errorf("a step of the start blocks: %w", context.Cause(ctx))
	}
}

// blockedStart is the time that a start has to end after its context is done.
const blockedStart = 3 * time.Second

func (s *Server) started(err error) (*Server, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// startOrStop starts the server, or closes what a failed start has opened.
func (s *Server) startOrStop(ctx context.Context) error {
	if err := s.start(ctx); err != nil {
		s.stopping.Do(func() { s.stop(ctx) })
		return errors.Join(err, s.stopErr)
	}
	return nil
}

// start lists what a server is made of, in the order in which it is made. A part is
// complete when its step returns, and is made only from parts above it. Steps that run
// concurrently do not need each other. If a step fails, stop closes what the steps before
// it opened.
func (s *Server) start(ctx context.Context) error {
	p := &builder{Server: s}
	for _, build := range []func() error{ // none of them reads or writes the store
		p.openDataDir,
		p.openListeners, // before anything slow, so that a port in use is reported at once
		p.openLog,
		p.makeClock,
		p.downloadOrigin,
		p.identify,
		p.openTracing,
		p.openStore, // connected by connectStore
		concurrently(
			p.loadCredentials, // certificates, and the administrator's kubeconfig
			p.buildCatalogue,
		),
		p.openOtherStores, // connected by connectOtherStores
		p.openEncryption,
		p.buildRegistry,
		p.prepareBootstrap,
		p.buildPublication, // how a cluster finds this server
		p.buildFlowControl,
		p.buildAuthorization,
		p.buildAdmission,
		p.buildAuthentication,
		p.guardWrites, // the registry consults admission, authorization and reviews from here on
		p.buildProxies,
		p.buildAudit,
		p.connectLab,
		p.buildHandler,
		p.buildControllers,
		p.serve, // health, metrics and the version; other requests are told to retry
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := build(); err != nil {
			return err
		}
	}
	for _, boot := range []func(context.Context) error{
		p.followEncryption,
		p.findIssuers, // first, since an issuer may take a while to answer
		p.connectSigner,
		p.connectStore,
		p.connectOtherStores,
		p.loadCaches,
		p.warnOfNewKeys,
		p.bootstrapObjects,
		p.enforceAdmission,
		p.beginRepair,
		bootConcurrently(
			p.configureFlowControl,
			p.loadCustomKinds,
			p.loadAPIServices,
		),
		p.serveResources, // all requests are served from here on
		p.awaitRepair,
		p.startControllers,
		p.serveLabPage,
		p.renewCertificates,
		p.saveSnapshots,
	} {
		if err := boot(ctx); err != nil {
			return err
		}
	}
	s.logger.Info("ready", "url", s.URL, "insecureURL", s.InsecureURL, "dir", s.o.Dir)
	return nil
}

// concurrently returns a step that runs steps at the same time, waits for all of them, and
// returns the error of the first one in the list that fails.
func concurrently(steps ...func() error) func() error {
	return func() error {
		errs := make([]error, len(steps))
		var wg sync.WaitGroup
		for i, step := range steps[1:] {
			wg.Go(func() {
				defer recovery.Into(nil, "a step of the start", &errs[i+1])
				errs[i+1] = step()
			})
		}
		errs[0] = steps[0]()
		wg.Wait()
		return cmp.Or(errs...)
	}
}

// bootConcurrently is the same for steps that have a context.
func bootConcurrently(steps ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		bound := make([]func() error, len(steps))
		for i, step := range steps {
			bound[i] = func() error { return step(ctx) }
		}
		return concurrently(bound...)()
	}
}

// openDataDir makes the data directory and locks it, and fills in the defaults of
// the options, some of which are files in it.
func (p *builder) openDataDir() (err error) {
	if p.o.NoDataDir {
		p.o = p.o.withDefaults()
		return nil
	}
	var lock *os.File
	if p.o.Ephemeral() {
		log := cmp.Or(p.o.Logger, slog.New(slog.DiscardHandler))
		if p.o.Dir, lock, err = makeEphemeralDir(log); err != nil {
			return err
		}
		p.ephemeral = true
		dir := p.o.Dir
		p.ephemeralDir.Store(&dir)
		p.atEnd(func(context.Context) error { return os.RemoveAll(dir) })
	} else {
		if p.o.Dir, err = filepath.Abs(p.o.Dir); err == nil {
			err = safefile.MakeDir(p.o.Dir, 0o700)
		}
		if err == nil {
			lock, err = storage.LockDir(p.o.Dir)
		}
		if err != nil {
			return dataDirError(err)
		}
	}
	p.atEnd(func(context.Context) error { return lock.Close() })
	p.o = p.o.withDefaults()
	return p.copyCertificates()
}

// dataDirError adds an advice to an error of making the data directory.
func dataDirError(err error) error {
	for _, unwritable := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.EROFS, syscall.ENOTDIR} {
		if errors.Is(err, unwritable) {
			return fmt.Errorf("--data-dir: %w; name a directory that can be written, or use --ephemeral to keep nothing", err)
		}
	}
	return fmt.Errorf("--data-dir: %w", err)
}

// openListeners opens the secure port, that for the process and, if it is enabled, the insecure
// port.
func (s *Server) openListeners() (err error) {
	s.memory = transport.ListenMemory()
	if s.secure, err = listen(s.o.Serving.BindAddress, s.o.Serving.Port, sharing(&s.o)); err != nil {
		return s.o.listenError(err)
	}
	if s.o.Lab.Enabled && s.o.Lab.SecondPort != 0 {
		if s.second, err = listen(s.o.Serving.BindAddress, max(s.o.Lab.SecondPort, 0), nil); err != nil {
			return portError("lab-second-port", s.o.Lab.SecondPort, "; use another one, or --lab-second-port -1 for a free one", err)
		}
	}
	if s.o.Serving.InsecurePort == 0 {
		return nil
	}
	if s.insecure, err = listen("127.0.0.1", max(s.o.Serving.InsecurePort, 0), nil); err != nil {
		return portError("insecure-port", s.o.Serving.InsecurePort,
			"; use another one, or --insecure-port -1 for a free one", err)
	}
	s.InsecureURL = "http://" + s.insecure.Addr().String()
	return nil
}

// control changes a socket before it is bound, see net.ListenConfig.
type control func(network, address string, conn syscall.RawConn) error

// listenError adds to an error of opening the secure port the flag that can repair it.
func (o *Options) listenError(err error) error {
	switch {
	case errors.Is(err, errNoSuchAddress):
		return fmt.Errorf("--bind-address %s: %w; use an address of this machine, or 0.0.0.0 for all of them",
			o.Serving.BindAddress, err)
	case o.NoDataDir: // kube-apiserver has no free port
		return portError("secure-port", o.Serving.Port, "; use another one", err)
	}
	return portError("secure-port", o.Serving.Port, "; use another one, or --secure-port 0 for a free one", err)
}

// portError adds to an error of opening a port its flag and, if another port may do, an advice.
func portError(flag string, port int, advice string, err error) error {
	if !errors.Is(err, errAddressInUse) && !errors.Is(err, errPortForbidden) {
		advice = ""
	}
	return fmt.Errorf("--%s %d: %w%s", flag, port, err, advice)
}

// listen opens a port.
func listen(host string, port int, c control) (net.Listener, error) {
	config := net.ListenConfig{Control: c}
	return config.Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}

// listenAddresses returns the addresses of the open listeners.
func (s *Server) listenAddresses() []netip.AddrPort {
	var addresses []netip.AddrPort
	for _, l := range []net.Listener{s.secure, s.second, s.insecure} {
		if l != nil {
			addresses = append(addresses, listenAddress(l))
		}
	}
	return addresses
}

// A start that takes longer than slowStart says in the log what it waits for, and again after each interval.
const (
	slowStart         = 2 * time.Second
	slowStartInterval = 5 * time.Second
)

// waiting is what a start does now.
type waiting struct{ what atomic.Pointer[string] }

// begin sets what the start does from now on.
func (w *waiting) begin(what string) { w.what.Store(&what) }

// progress is storage's Options.Progress.
func (w *waiting) progress(what string, done, _ int64) {
	if done > 0 {
		what = fmt.Sprintf("%s (%d MB done)", what, done>>20)
	}
	w.begin(what)
}

// tellWhileSlow logs what the start waits for, once it is slow, until the returned function is called.
func (s *Server) tellWhileSlow(ctx context.Context) (end func()) {
	began, log := time.Now(), cmp.Or(s.o.Logger, slog.New(slog.DiscardHandler))
	s.waiting.begin("the files that flags name")
	ctx, cancel := context.WithCancel(ctx)
	told := make(chan struct{})
	go func() {
		_ = recovery.Call(log, "telling of a slow start", func() {
			for after := slowStart; ; after = slowStartInterval {
				if pause(ctx, after); ctx.Err() != nil {
					return
				}
				log.Warn("the start takes long", "waitingFor", *s.waiting.what.Load(), "after", time.Since(began).Round(time.Second))
			}
		})
		close(told)
	}()
	return func() {
		cancel()
		<-told
	}
}
