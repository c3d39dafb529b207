package servertest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestNew checks that a server ends with its test and leaves nothing behind.
func TestNew(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var s *Server
	t.Run("using it", func(t *testing.T) {
		s = New(t, server.Options{})
		namespace := s.Namespace(t)
		_, err := s.Client.CoreV1().ConfigMaps(namespace).Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	select {
	case <-s.Done():
	default:
		t.Error("the server runs after its test")
	}
	if _, err := os.Stat(s.KubeconfigFile); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig is there after the test: %v", err)
	}
}

// TestShared checks that tests share a server and have different namespaces.
func TestShared(t *testing.T) {
	shared, out := &Shared{}, &bytes.Buffer{}
	code := shared.run(func() int {
		s := shared.Get(t)
		if shared.Get(t) != s {
			t.Error("another server for the second test")
		}
		t.Run("namespaces", func(t *testing.T) {
			if a, b := s.Namespace(t), s.Namespace(t); a == b {
				t.Errorf("both tests have the namespace %s", a)
			}
		})
		return 3
	}, out)
	if code != 3 || out.Len() > 0 {
		t.Errorf("Run returned %d, %s", code, out)
	}
	select {
	case <-shared.server.Done():
	default:
		t.Error("the server runs after Run")
	}
}

// TestAs checks that another user has no rights of the administrator.
func TestAs(t *testing.T) {
	s := New(t, server.Options{})
	client, err := kubernetes.NewForConfig(s.As("anna", "developers"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "anna"`) {
		t.Errorf("anna lists secrets: %v", err)
	}
}

// failing is a test whose Fatalf panics with the message, where that of a real test ends its
// goroutine.
type failing struct{ testing.TB }

func (f failing) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (f failing) Output() io.Writer                 { return io.Discard }

// fatal returns the message with which f ends its test.
func fatal(t *testing.T, f func(testing.TB)) (message string) {
	t.Helper()
	defer func() { message, _ = recover().(string) }()
	f(failing{t})
	return ""
}

// TestFatal checks that a server which cannot start ends the test with the reason.
func TestFatal(t *testing.T) {
	wrong := server.Options{Authentication: server.Authentication{TokenFile: "no such file"}}
	for name, tt := range map[string]struct {
		get  func(testing.TB)
		want string
	}{
		"wrong option":                  {func(t testing.TB) { New(t, wrong) }, "--token-auth-file"},
		"wrong option of shared server": {func(t testing.TB) { (&Shared{Options: wrong, running: true}).Get(t) }, "--token-auth-file"},
		"shared without Run":            {func(t testing.TB) { new(Shared).Get(t) }, "TestMain"},
	} {
		if got := fatal(t, tt.get); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want one about %s", name, got, tt.want)
		}
	}
}

// TestNamespaceName checks that names of tests become names of namespaces.
func TestNamespaceName(t *testing.T) {
	for _, test := range []string{"TestA", "TestB/a_b c", "Test/" + strings.Repeat("é", 100), "TestX/---", "TestY/" + strings.Repeat("x.", 60)} {
		name := namespaceName(test, 7)
		if errs := validation.IsDNS1123Label(name); errs != nil {
			t.Errorf("%s: %s: %v", test, name, errs)
		}
	}
}
