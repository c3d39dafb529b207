package webhook

import (
	"context"
	"fmt"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
)

// validatingOpenKey begins annotations of audit events.
const validatingOpenKey = "failed-open.validating.webhook.admission.k8s.io/"

// validate asks the hooks that may only refuse, all at once.
func (w *Webhooks) validate(ctx context.Context, a *registry.Attributes) error {
	if exempt(a) {
		return nil
	}
	hooks, err := w.hooks.validating.now(ctx)
	if err != nil || len(hooks) == 0 {
		return err
	}
	s := w.subject(a)
	var asked []*hook
	var questions []*admissionv1.AdmissionRequest
	for _, h := range hooks {
		form, ok, err := w.concerns(ctx, h, s)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		q, err := s.question(form)
		if err != nil {
			return err
		}
		asked, questions = append(asked, h), append(questions, q)
	}
	if len(asked) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return timedOut()
	}
	return first(len(asked), func(i int) error { return w.validateBy(ctx, asked[i], i, s, questions[i]) })
}

// validateBy asks one hook, the i-th of those that are asked.
func (w *Webhooks) validateBy(ctx context.Context, h *hook, i int, s *subject, q *admissionv1.AdmissionRequest) error {
	begin := time.Now()
	_, err := w.validating.ask(ctx, h, s.Attributes, q)
	open, err := w.settle(h, typeValidating, string(q.Operation), begin, err)
	if open {
		s.Annotate(fmt.Sprintf("%sround_0_index_%d", validatingOpenKey, i), h.name)
	}
	return err
}

// first calls f for 0 to n-1 at once, waits for all and returns the error that
// came first.
func first(n int, f func(int) error) error {
	if n == 1 {
		return f(0)
	}
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		wg.Go(func() {
			var err error
			if caught := recovery.Call(nil, "asking a validating webhook", func() { err = f(i) }); caught != nil {
				err = apierrors.NewInternalError(caught)
			}
			if err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}
