package admission

import (
	"context"
	"errors"

	"github.com/miniapiserver/miniapiserver/registry"
)

// alwaysAdmit admits every request, like a chain without plugins.
func alwaysAdmit() Plugin {
	ok := func(context.Context, *registry.Attributes) error { return nil }
	return Plugin{Handles: handle(nil, allVerbs()...), Mutate: ok, Validate: ok}
}

// alwaysDeny rejects every request.
func alwaysDeny() Plugin {
	no := func(_ context.Context, a *registry.Attributes) error {
		return forbidden(a, errors.New("admission control is denying all modifications"))
	}
	return Plugin{Handles: handle(nil, allVerbs()...), Mutate: no, Validate: no}
}

func allVerbs() []string { return append(writeVerbs(), registry.VerbConnect) }
