package controllers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/request"
)

// userAgent is what controllers call themselves, and so the name of the field
// manager that their writes are recorded under.
const userAgent = "kube-controller-manager"

// Client sends requests to a server in this process, as one user, through its
// whole chain but without a connection.
type Client struct {
	handler http.Handler
	user    *request.User
}

// newClient makes a client for the controller of a name, who is a service
// account.
func newClient(handler http.Handler, name string) *Client {
	return &Client{handler: handler, user: &request.User{
		Name: "system:serviceaccount:kube-system:" + name,
		Groups: []string{
			"system:serviceaccounts", "system:serviceaccounts:kube-system", request.GroupAuthenticated,
		},
	}}
}

// managerClient makes a client for what kube-controller-manager does as itself:
// who sees to service accounts is none.
func managerClient(handler http.Handler) *Client {
	return &Client{handler: handler, user: &request.User{
		Name:   "system:kube-controller-manager",
		Groups: []string{request.GroupAuthenticated},
	}}
}

// serverName is under what name the server itself owns fields.
const serverName = "kube-apiserver"

// asServer is a context for what the server writes by itself.
func asServer(ctx context.Context) context.Context { return request.AsServer(ctx) }

// do sends a request and reads the answer into out, unless that is nil. An
// answer that is a failure comes back as *apierrors.StatusError.
func (c *Client) do(ctx context.Context, method, path, contentType string, body, out any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	r, err := http.NewRequestWithContext(authn.WithTrusted(ctx, c.user), method, path, bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	r.RequestURI = r.URL.RequestURI()
	r.Header.Set("User-Agent", userAgent)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := &answer{header: http.Header{}, code: http.StatusOK}
	c.handler.ServeHTTP(w, r)
	if w.code >= http.StatusBadRequest {
		var status metav1.Status
		if err := json.Unmarshal(w.body.Bytes(), &status); err != nil {
			return fmt.Errorf("%s %s: code %d: %s", method, path, w.code, w.body.String())
		}
		return &apierrors.StatusError{ErrStatus: status}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(w.body.Bytes(), out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// answer is the ResponseWriter of a request without a connection.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) { a.code = code }

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
