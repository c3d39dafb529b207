package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// target is a server as seen by clients. Clients do not retry, since a second response reveals
// nothing about the first request.
type target struct {
	mu   sync.Mutex
	http *http.Client
	url  string
	// mortal reports that the server may be killed, so connections may fail.
	mortal atomic.Bool
}

// mortalTarget returns a target without a server, which may be killed.
func mortalTarget() *target {
	tg := &target{}
	tg.mortal.Store(true)
	return tg
}

// startServer starts a server in this process.
func startServer(t *testing.T, o server.Options) (*server.Server, *target) {
	t.Helper()
	var s *server.Server
	eventually(t, "the server starts", func(context.Context) (err error) {
		s, err = server.Start(t.Context(), o)
		return err
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	tg := &target{}
	tg.use(t, s.RESTConfig())
	return s, tg
}

// use directs the target to the server of a client configuration.
func (tg *target) use(t *testing.T, config *rest.Config) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	tg.mu.Lock()
	defer tg.mu.Unlock()
	if tg.http != nil {
		tg.http.CloseIdleConnections()
	}
	tg.http, tg.url = client, config.Host
}

// open sends a request; the caller closes the body of the response.
func (tg *target) open(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	tg.mu.Lock()
	client, url := tg.http, tg.url
	tg.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, method, url+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	return client.Do(r)
}

// answer is the result of a request. Status 0 means that there was no response.
type answer struct {
	code   int
	body   []byte
	status metav1.Status // set if the request failed
	fault  string        // name of the lab's Fault that hit the request
	err    error
}

func (tg *target) do(ctx context.Context, method, path string, body any) (a answer) {
	resp, err := tg.open(ctx, method, path, body)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	if a.body, a.err = io.ReadAll(resp.Body); a.err != nil {
		return answer{err: a.err}
	}
	a.code, a.fault = resp.StatusCode, resp.Header.Get("Lab-Fault")
	if a.code >= http.StatusBadRequest {
		if a.err = json.Unmarshal(a.body, &a.status); a.err == nil && (a.status.Reason == "" || a.status.Message == "" || int(a.status.Code) != a.code) {
			a.err = fmt.Errorf("a failure without a clear Status: %d %s", a.code, a.body)
		}
	}
	return a
}

// object is the part of a ConfigMap that the tests use.
type object struct {
	Metadata metadata          `json:"metadata"`
	Data     map[string]string `json:"data,omitempty"`
}

type metadata struct {
	Name            string `json:"name"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Continue        string `json:"continue,omitempty"`
}

func (m metadata) rev() int64 {
	n, err := strconv.ParseInt(m.ResourceVersion, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

const valueKey = "v"

func newObject(name, value string) object {
	return object{Metadata: metadata{Name: name}, Data: map[string]string{valueKey: value}}
}

// list is the part of a ConfigMapList that the tests use.
type list struct {
	Metadata metadata `json:"metadata"`
	Items    []object `json:"items"`
}

const (
	namespace  = "faults"
	collection = "/api/v1/namespaces/" + namespace + "/configmaps"
)

// createNamespace creates the namespace of the clients.
func createNamespace(t *testing.T, tg *target) {
	t.Helper()
	eventually(t, "the namespace is made", func(ctx context.Context) error {
		a := tg.do(ctx, http.MethodPost, "/api/v1/namespaces", object{Metadata: metadata{Name: namespace}})
		if a.code == http.StatusCreated || a.code == http.StatusConflict {
			return nil
		}
		return fmt.Errorf("%d %s %w", a.code, a.body, a.err)
	})
}
