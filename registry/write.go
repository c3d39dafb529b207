package registry

import (
	"context"

	"github.com/miniapiserver/miniapiserver/api"
)

// write is one attempt of a creation or an update. Its methods are steps, which createOnce
// and updateOnce list in their order.
type write struct {
	r *Registry
	t Target
	// obj is the new state of the object. old is the stored state, which must not be
	// changed; nil for a creation.
	obj, old api.Object
	o        WriteOptions

	attributes *Attributes // nil if admission does not apply
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

// allocate allocates addresses and ports, before validation and validating admission, which
// see them.
func (w *write) allocate(ctx context.Context) (err error) {
	w.allocation, err = w.r.allocate(ctx, w.t, w.obj, w.old, w.o.DryRun)
	return err
}

// admit runs validating admission.
func (w *write) admit(ctx context.Context) error { return w.r.validate(ctx, w.attributes) }

// finish ends an attempt whose steps returned err. It releases allocations of a failed
// attempt and calls the functions of Attributes.OnWriteEnd.
func (w *write) finish(ctx context.Context, err error) error {
	err = w.allocation.finish(ctx, err)
	w.attributes.finish(ctx, err == nil)
	return err
}
