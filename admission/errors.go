package admission

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/registry"
)

// forbidden is the answer of a plugin that refuses: 403, naming the object by
// its name or, before it has one, by what the name will begin with.
func forbidden(a *registry.Attributes, err error) *apierrors.StatusError {
	name := a.Name
	if name == "" {
		name = "Unknown"
		switch {
		case a.Object == nil:
		case a.Object.GetName() != "":
			name = a.Object.GetName()
		case a.Object.GetGenerateName() != "":
			name = a.Object.GetGenerateName()
		}
	}
	return apierrors.NewForbidden(a.GroupResource(), name, err)
}

// Forbidden is the answer of a plugin that is made elsewhere.
func Forbidden(a *registry.Attributes, err error) *apierrors.StatusError { return forbidden(a, err) }

func forbid(a *registry.Attributes, format string, args ...any) error {
	return forbidden(a, fmt.Errorf(format, args...))
}
