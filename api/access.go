package api

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// Access gives checks (see WithAccess) the data that the object does not contain.
type Access interface {
	// Authorize returns an error that tells the client why the user of the request
	// may not do what info describes, or nil if the user may.
	Authorize(ctx context.Context, info *request.Info) error
	// Namespace returns the stored namespace.
	Namespace(ctx context.Context, name string) (*corev1.Namespace, error)
}
