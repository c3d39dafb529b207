package admission

import (
	"context"
	"errors"

	"github.com/miniapiserver/miniapiserver/registry"
)

// alwaysAdmit admits everything, as a chain without plugins does.
func alwaysAdmit() Plugin {
	ok := func(context.Context, *registry.Attributes) error { return nil }
	return Plugin{Handles: on(nil, allVerbs()...), Mutate: ok, Validate: ok}
}

// alwaysDeny denies everything.
func alwaysDeny() Plugin {
	no := func(_ context.Context, a *registry.Attributes) error {
		return forbidden(a, errors.New("admission control is denying all modifications"))
	}
	return Plugin{Handles: on(nil, allVerbs()...), Mutate: no, Validate: no}
}

func allVerbs() []string { return append(writes(), registry.VerbConnect) }
