package kindtest

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// Writer is a user with some permissions, for the writes of a Kind. It implements api.Access.
type Writer struct {
	User *request.User
	// Permissions are the permitted requests, as "verb resource name" or "verb resource/subresource name".
	Permissions []string
	// NamespaceLabels are the labels of all namespaces.
	NamespaceLabels map[string]string
}

// By returns the kind with a writer. The writer of other kinds is a user without a name and with all
// permissions.
func (k *Kind) By(w Writer) *Kind {
	out := *k
	out.writer = &w
	return &out
}

// Authorize returns an error unless the writer has the permission.
func (w *Writer) Authorize(_ context.Context, info *request.Info) error {
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	permission := fmt.Sprintf("%s %s %s", info.Verb, resource, info.Name)
	if slices.Contains(w.Permissions, permission) {
		return nil
	}
	return fmt.Errorf("may not %s", permission)
}

// Namespace returns a namespace.
func (w *Writer) Namespace(_ context.Context, name string) (*corev1.Namespace, error) {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: w.NamespaceLabels}}, nil
}
