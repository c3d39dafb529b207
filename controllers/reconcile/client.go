package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/request"
)

// userAgent is the user agent of the controllers, which is also the name of the field
// manager of their writes.
const userAgent = "kube-controller-manager"

// Client sends requests as one user to a server in this process, through its handler chain.
type Client struct {
	handler http.Handler
	user    *request.User
}

// NewClient returns a client with the service account of a controller.
func NewClient(handler http.Handler, name string) *Client {
	return &Client{handler: handler, user: &request.User{
		Name:   request.ServiceAccountName(metav1.NamespaceSystem, name),
		Groups: append(request.ServiceAccountGroups(metav1.NamespaceSystem), request.GroupAuthenticated),
	}}
}

// NewManagerClient returns a client with the user of kube-controller-manager, for controllers
// that have no service account, such as the controller that creates service accounts.
func NewManagerClient(handler http.Handler) *Client {
	return &Client{handler: handler, user: &request.User{
		Name:   "system:kube-controller-manager",
		Groups: []string{request.GroupAuthenticated},
	}}
}

// ServerManager is the field manager of the server's own writes.
const ServerManager = "kube-apiserver"

// AsServer returns a context for the server's own writes.
func AsServer(ctx context.Context) context.Context { return request.AsServer(ctx) }

// Do sends a request and decodes the response into out, unless out is nil. An error response
// is returned as *apierrors.StatusError.
func (c *Client) Do(ctx context.Context, method, path, contentType string, body, out any) error {
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
	w := &memoryResponse{header: http.Header{}, code: http.StatusOK}
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

// IgnoreDeleted returns nil if err means that the object was deleted or replaced.
func IgnoreDeleted(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// IgnoreNotCreatable returns nil if err means that the object exists already, or that its
// namespace is being deleted.
func IgnoreNotCreatable(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

// memoryResponse is an in-memory http.ResponseWriter.
type memoryResponse struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *memoryResponse) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *memoryResponse) WriteHeader(code int) { a.code = code }

// Write implements http.ResponseWriter.
func (a *memoryResponse) Write(b []byte) (int, error) { return a.body.Write(b) }
