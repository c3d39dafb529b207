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
	"github.com/miniapiserver/miniapiserver/request"
)

// validatingOpenKey is the prefix of audit annotations for ignored failures.
const validatingOpenKey = "failed-open.validating.webhook.admission.k8s.io/"

// validate calls the validating hooks concurrently.
func (w *Webhooks) validate(ctx context.Context, a *registry.Attributes) error {
	hooks, err := applicable(ctx, w, a, w.static.validating, w.hooks.validating)
	if err != nil || len(hooks) == 0 {
		return err
	}
	s := w.newHookRequest(a)
	var matching []*hook
	var requests []*admissionv1.AdmissionRequest
	for _, h := range hooks {
		form, ok, err := w.matchHook(ctx, h, s)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		q, err := s.admissionRequest(form)
		if err != nil {
			return err
		}
		matching, requests = append(matching, h), append(requests, q)
	}
	if len(matching) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return requestTimeout()
	}
	return firstError(len(matching), func(i int) error { return w.callValidating(ctx, matching[i], i, s, requests[i]) })
}

// callValidating calls the i-th matching hook.
func (w *Webhooks) callValidating(ctx context.Context, h *hook, i int, s *hookRequest, q *admissionv1.AdmissionRequest) error {
	begin := time.Now()
	if s.Scope.Traced {
		var span *request.Span
		ctx, span = startSpan(ctx, "Call validating webhook", h, q)
		defer span.End()
	}
	_, err := w.validating.call(ctx, h, s.Attributes, q)
	s.Scope.Durations.Raise(request.PartValidatingWebhook, time.Since(begin))
	open, err := w.handleResult(h, typeValidating, string(q.Operation), begin, err)
	s.recordRefusal(h, err)
	if open {
		s.Annotate(fmt.Sprintf("%sround_0_index_%d", validatingOpenKey, i), h.name)
	}
	return err
}

// firstError calls f for 0 to n-1 concurrently, waits for all calls and returns the first error.
func firstError(n int, f func(int) error) error {
	if n == 1 {
		return f(0)
	}
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		wg.Go(func() {
			var err error
			if caught := recovery.Call(nil, "calling a validating webhook", func() { err = f(i) }); caught != nil {
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
