package admission

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/registry"
)

// Forbidden returns a plugin's rejection: a 403 with the name of the object or, before it has one,
// its generateName.
func Forbidden(a *registry.Attributes, err error) *apierrors.StatusError {
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

// Forbiddenf is Forbidden with a formatted error.
func Forbiddenf(a *registry.Attributes, format string, args ...any) error {
	return Forbidden(a, fmt.Errorf(format, args...))
}

// PluginError returns the error of a plugin that cannot be built, an InitError.
func PluginError(plugin string, err error) error { return &InitError{plugin, err} }

// InitError is the error of a plugin that cannot be built.
type InitError struct {
	Plugin string
	Err    error
}

// Error implements error.
func (e *InitError) Error() string {
	return fmt.Sprintf("couldn't init admission plugin %q: %v", e.Plugin, e.Err)
}

// Unwrap returns the reason.
func (e *InitError) Unwrap() error { return e.Err }
