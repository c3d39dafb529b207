package plugins

import (
	"context"
	"errors"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/registry"
)

// alwaysAdmit admits every request, like a chain without plugins.
func alwaysAdmit() admission.Plugin {
	ok := func(context.Context, *registry.Attributes) error { return nil }
	return admission.Plugin{Handles: admission.HandlesFor(nil, allVerbs()...), Mutate: ok, Validate: ok}
}

// alwaysDeny rejects every request.
func alwaysDeny() admission.Plugin {
	no := func(_ context.Context, a *registry.Attributes) error {
		return admission.Forbidden(a, errors.New("admission control is denying all modifications"))
	}
	return admission.Plugin{Handles: admission.HandlesFor(nil, allVerbs()...), Mutate: no, Validate: no}
}

func allVerbs() []string { return append(admission.WriteVerbs(), registry.VerbConnect) }
