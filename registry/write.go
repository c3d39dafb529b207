package registry

import (
	"context"

	"github.com/miniapiserver/miniapiserver/api"
)

// write is one attempt of a creation or an update. Its steps are methods, which
// createOnce and updateOnce list in their order.
type write struct {
	r *Registry
	t Target
	// obj is the new state of the object, and old the stored one, which must not be
	// changed; nil for a creation.
	obj, old api.Object
	o        WriteOptions

	attributes *Attributes // of admission; nil without
	allocation *allocation
	out        Outcome
}

// inOrder runs steps until one fails.
func inOrder(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// allocate allocates what the object needs. Validation and validating admission see
// what was allocated.
func (w *write) allocate(ctx context.Context) (err error) {
	w.allocation, err = w.r.allocate(ctx, w.t, w.obj, w.old, w.o.DryRun)
	return err
}

// admit asks validating admission.
func (w *write) admit(ctx context.Context) error { return w.r.validate(ctx, w.attributes) }

// finish returns the result of an attempt whose steps ended with err. It gives back what
// was allocated in vain, and tells admission plugins whether the write took place.
func (w *write) finish(ctx context.Context, err error) error {
	err = w.allocation.finish(ctx, err)
	w.attributes.finish(ctx, err == nil)
	return err
}
