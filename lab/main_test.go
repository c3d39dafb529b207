package lab

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testLab is a lab with a registry that serves its requests.
type testLab struct {
	*Lab
	t        testing.TB
	registry *registry.Registry
}

// startLab starts a lab with a memory in bytes; 0 means the default.
func startLab(t testing.TB, memory int64) *testLab {
	t.Helper()
	l := New(Config{Memory: memory})
	catalogue, err := api.New(l.Resources()...)
	if err != nil {
		t.Fatal(err)
	}
	other := storage.NewLocal(storage.Options{})
	reg, err := registry.New(other, catalogue, registry.Options{Stores: l.Stores()})
	if err != nil {
		t.Fatal(err)
	}
	l.Connect(Connections{Registry: reg})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		l.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		for _, s := range []interface{ Close() error }{l, other} {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return &testLab{l, t, reg}
}

// begin records the beginning of a request.
func (l *testLab) begin(method, target string, change func(*http.Request, *request.Scope)) (*request.Scope, request.Recording) {
	r := httptest.NewRequest(method, target, nil)
	scope := &request.Scope{ID: request.NewOrderedUUID(time.Now()), Account: &request.Account{}, Audit: &request.AuditRecord{},
		User: &request.User{Name: "jane", Groups: []string{"developers"}}}
	scope.Info = request.Parse(r)
	if change != nil {
		change(r, scope)
	}
	return scope, l.Begin(r, scope, time.Now())
}

// serve records a whole request.
func (l *testLab) serve(method, target string, code int, change func(*http.Request, *request.Scope)) *request.Scope {
	scope, recording := l.begin(method, target, change)
	recording.Ended(code, 10)
	return scope
}

func (l *testLab) target(name string) registry.Target {
	return registry.Target{Resource: l.requests, Version: &l.requests.Versions[0], Name: name}
}

// get returns a Request as a get shows it, once it is there and done reports true of it.
func (l *testLab) get(name string, done func(*v1alpha1.Request) bool) *v1alpha1.Request {
	l.t.Helper()
	var out v1alpha1.Request
	eventually.True(l.t, "the request "+name, func() bool {
		item, err := l.registry.Get(l.t.Context(), l.target(name), storage.Read{})
		if err != nil {
			return false
		}
		obj, err := item.Object()
		if err == nil {
			obj, err = l.requests.Detail(l.t.Context(), obj)
		}
		if err != nil {
			l.t.Fatal(err)
		}
		out = decode(l.t, obj)
		return done == nil || done(&out)
	})
	return &out
}

// decode returns an object as its Go type, which must have all fields of it.
func decode(t testing.TB, obj api.Object) (out v1alpha1.Request) {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return out
}

// names returns the names of all requests, ordered.
func (l *testLab) names() (names []string) {
	l.t.Helper()
	list, err := l.registry.List(l.t.Context(), l.target(""), registry.ListOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, i := range list.Items {
		names = append(names, i.Key())
	}
	return names
}
