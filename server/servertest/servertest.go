// Package servertest starts servers for Go tests, in the process of the test: New starts one for
// a test, and Shared one for all tests of a package, which then have a namespace each. Both
// leave nothing behind when the tests end.
//
// It is package server for tests. What is not here, such as the options, is there.
package servertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/lab"
	"github.com/miniapiserver/miniapiserver/server"
)

// stopTimeout is the time after which connections of a stopping server are cut.
const stopTimeout = 10 * time.Second

// Server is a running server and clients with the administrator's access.
type Server struct {
	*server.Server
	// Config is the configuration of Client and Dynamic. Copy it (rest.CopyConfig) before a
	// change.
	Config  *rest.Config
	Client  kubernetes.Interface
	Dynamic dynamic.Interface

	filled lab.Mark // the state to which Shared.Rewound goes back
}

// New starts a server with options o, whose zero value is right for most tests, and stops it when
// t ends. Its log is part of t's output, unless o has a logger. New ends t if the server
// does not start.
func New(t testing.TB, o server.Options) *Server {
	t.Helper()
	if o.Logger == nil {
		o.Logger = newLogger(t.Output(), slog.LevelInfo)
	}
	s, err := start(t.Context(), o)
	if err != nil {
		t.Fatalf("starting a server: %v", err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("stopping the server: %v", err)
		}
	})
	return s
}

// Inject creates a Fault of the lab, which the options must have (Lab.Enabled). It acts until remove is called or t ends.
func (s *Server) Inject(t testing.TB, f lab.Fault) (remove func()) {
	t.Helper()
	if s.Lab() == nil {
		t.Fatal("injecting a fault: the server has no lab; set Lab.Enabled in its options")
	}
	remove, err := s.Lab().Inject(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	return remove
}

// Namespace creates a namespace for t and returns its name, which begins with t's name. The
// namespace is deleted when t ends, with all that is in it; that goes on in the background.
func (s *Server) Namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(t.Name(), rand.Uint32())}}
	if _, err := s.Client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		err := s.Client.CoreV1().Namespaces().Delete(ctx, namespace.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting namespace %s: %v", namespace.Name, err)
		}
	})
	return namespace.Name
}

// As returns a client configuration that acts as another user: the administrator impersonates it.
// Rights are granted by roles and bindings, as to any user.
func (s *Server) As(user string, groups ...string) *rest.Config {
	c := rest.CopyConfig(s.Config)
	c.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return c
}

// Shared is a server for all tests of a package. It belongs in a package-level variable of the
// tests, whose TestMain calls Run:
//
//	var shared servertest.Shared
//
//	func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }
//
// The server starts when the first test asks for it.
type Shared struct {
	// Options are the server's. Without a logger it logs warnings and errors to standard error.
	Options server.Options
	// Fill creates what all tests of Rewound find on their server, such as definitions, webhooks and the manifests of an operator.
	// Nil creates nothing.
	Fill func(context.Context, *Server) error

	mu      sync.Mutex
	running bool // in Run
	server  *Server
	err     error
	rewoundState
}

// Run runs the tests, stops the server if a test started it, and returns the exit status of the
// process.
func (s *Shared) Run(m *testing.M) int {
	return s.run(m.Run, os.Stderr)
}

func (s *Shared) run(tests func() int, stderr io.Writer) int {
	s.setRunning(true)
	code := tests()
	s.setRunning(false)
	if s.server == nil {
		return code
	}
	for _, one := range append(s.forks, s.server) {
		if err := one.stop(); err != nil {
			fmt.Fprintf(stderr, "stopping a shared server: %v\n", err)
			code = max(code, 1)
		}
	}
	return code
}

func (s *Shared) setRunning(running bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = running
}

// Get returns the server, which the first call starts. It ends t if that fails.
func (s *Shared) Get(t testing.TB) *Server {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil && s.err == nil {
		s.server, s.err = s.start()
	}
	if s.err != nil {
		t.Fatalf("starting the shared server: %v", s.err)
	}
	return s.server
}

func (s *Shared) start() (*Server, error) {
	if !s.running {
		return nil, errors.New("nobody would stop it: TestMain of the package must call Shared.Run")
	}
	o := s.Options
	if o.Logger == nil {
		o.Logger = newLogger(os.Stderr, slog.LevelWarn)
	}
	return start(context.Background(), o)
}

func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

func start(ctx context.Context, o server.Options) (*Server, error) {
	running, err := server.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	return withClients(running)
}

// withClients returns a running server with clients; it stops the server if that fails.
func withClients(running *server.Server) (s *Server, err error) {
	s = &Server{Server: running, Config: running.RESTConfig()}
	if s.Client, err = kubernetes.NewForConfig(s.Config); err == nil {
		s.Dynamic, err = dynamic.NewForConfig(s.Config)
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *Server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return s.Stop(ctx)
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// namespaceName returns a name of at most 63 characters for the namespace of a test.
func namespaceName(test string, suffix uint32) string {
	name := notInNames.ReplaceAllString(strings.ToLower(test), "-")
	return fmt.Sprintf("%s-%08x", strings.Trim(name[:min(len(name), 50)], "-"), suffix)
}
