package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/authn"
	"github.com/miniapiserver/miniapiserver/registry"
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
const ServerManager = registry.ServerManager

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
		return w.statusError(method)
	}
	if w.tooLarge {
		return fmt.Errorf("%s %s: the response has more than %d bytes", method, path, maxResponse)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(w.body.Bytes(), out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// DeleteUnchanged deletes an object of a resource if it is still in the state obj, on which the
// decision to delete it is based. It returns a conflict otherwise, so that the caller decides
// anew; see AfterWrite.
func (c *Client) DeleteUnchanged(ctx context.Context, res *api.Resource, obj api.Object, policy *metav1.DeletionPropagation) error {
	return c.Do(ctx, http.MethodDelete, ObjectPath(res, obj.GetNamespace(), obj.GetName()), "application/json",
		&metav1.DeleteOptions{PropagationPolicy: policy, Preconditions: Unchanged(obj)}, nil)
}

// Unchanged returns the precondition that an object is in the state obj.
func Unchanged(obj api.Object) *metav1.Preconditions {
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	return &metav1.Preconditions{UID: &uid, ResourceVersion: &version}
}

// IgnoreDeleted returns nil if err means that the object was deleted, or was changed by another
// writer. It is for syncs that this change triggers again.
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

// maxResponse bounds the response of a remote server.
const maxResponse = 64 << 20

// memoryResponse is an in-memory http.ResponseWriter.
type memoryResponse struct {
	header   http.Header
	code     int
	body     bytes.Buffer
	tooLarge bool
}

// statusError returns the Status in the response. A remote server may respond with another
// document, which yields the error that clients make of it.
func (a *memoryResponse) statusError(method string) error {
	var status metav1.Status
	if err := json.Unmarshal(a.body.Bytes(), &status); err == nil && status.Status == metav1.StatusFailure {
		return &apierrors.StatusError{ErrStatus: status}
	}
	const maxMessage = 2048
	message := a.body.Bytes()
	if len(message) > maxMessage {
		message = message[:maxMessage]
	}
	return apierrors.NewGenericServerResponse(a.code, method, schema.GroupResource{}, "", string(message), 0, true)
}

// Header implements http.ResponseWriter.
func (a *memoryResponse) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *memoryResponse) WriteHeader(code int) { a.code = code }

// Write implements http.ResponseWriter.
func (a *memoryResponse) Write(b []byte) (int, error) {
	if a.body.Len()+len(b) > maxResponse {
		a.tooLarge = true
		return 0, errors.New("the response is too large")
	}
	return a.body.Write(b)
}
