package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/patch/jsonpatch"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// Prefixes of audit annotations.
const (
	mutationKey     = "mutation.webhook.admission.k8s.io/"
	mutationOpenKey = "failed-open.mutation.webhook.admission.k8s.io/"
	patchKey        = "patch.webhook.admission.k8s.io/"
)

// Limits of a patch: the number of operations, and the total size of copied values.
const (
	maxOperations  = 10000
	maxCopiedBytes = 3 << 20
)

// mutate calls the mutating hooks in order.
func (w *Webhooks) mutate(ctx context.Context, a *registry.Attributes) error {
	hooks, err := applicable(ctx, w, a, w.static.mutating, w.hooks.mutating)
	if err != nil || len(hooks) == 0 {
		return err
	}
	m := reinvocationsOf(a)
	m.begin(a)
	defer m.end(a)
	s := w.newHookRequest(a)
	for i, h := range hooks {
		form, ok, err := w.matchHook(ctx, h, s)
		if err != nil {
			return err
		}
		// A hook that was not called in the first pass is not reinvoked.
		if !ok || a.IsReinvocation() && !m.due[h.id] {
			continue
		}
		if err := w.callMutating(ctx, h, i, s, form, m); err != nil {
			return err
		}
	}
	return nil
}

// callMutating calls the i-th hook and applies its patch.
func (w *Webhooks) callMutating(ctx context.Context, h *hook, i int, s *hookRequest, form match.Form, m *reinvocations) error {
	q, err := s.admissionRequest(form)
	if err != nil {
		return err
	}
	begin := time.Now()
	changed := false
	if s.Scope.Traced {
		var span *request.Span
		ctx, span = startSpan(ctx, "Call mutating webhook", h, q)
		defer span.End()
	}
	response, err := w.mutating.call(ctx, h, s.Attributes, q)
	s.Scope.Durations.Add(request.PartMutatingWebhook, time.Since(begin))
	position := fmt.Sprintf("round_%d_index_%d", pass(s.Attributes), i)
	if err == nil {
		changed, err = s.patch(ctx, h, form, q.Object.Raw, response)
		if err == nil {
			s.annotatePatch(position, h, response.patch)
		}
	}
	s.annotate(position, h, changed)
	if changed {
		m.changed()
		s.RequestReinvocation()
		s.RecordState("webhook " + h.config + "/" + h.name)
	}
	if h.reinvoke {
		m.addCandidate(h.id)
	}
	open, err := w.handleResult(h, typeAdmit, s.Operation(), begin, err)
	s.recordRefusal(h, err)
	if open {
		s.Annotate(mutationOpenKey+position, h.name)
		if ctx.Err() != nil {
			return requestTimeout()
		}
	}
	return err
}

func pass(a *registry.Attributes) int {
	if a.IsReinvocation() {
		return 1
	}
	return 0
}

func (s *hookRequest) annotate(position string, h *hook, changed bool) {
	value, err := json.Marshal(struct {
		Configuration string `json:"configuration"`
		Webhook       string `json:"webhook"`
		Mutated       bool   `json:"mutated"`
	}{h.config, h.name, changed})
	if err == nil {
		s.Annotate(mutationKey+position, string(value))
	}
}

// recordRefusal records, for the account of the request, that a hook refused it, or that a match condition of the hook failed.
func (s *hookRequest) recordRefusal(h *hook, err error) {
	if err != nil {
		s.Scope.Account.Refuse(request.Refusal{By: request.RefusedByWebhook, Name: h.config + "/" + h.name, Expression: expression.FailedIn(err)})
	}
}

// annotatePatch adds the applied patch to the audit events of requests whose objects they
// contain.
func (s *hookRequest) annotatePatch(position string, h *hook, patch []byte) {
	if !s.Scope.Audit.WantsRequestObject() {
		return
	}
	var operations []map[string]json.RawMessage
	if json.Unmarshal(patch, &operations) != nil || len(operations) == 0 {
		return
	}
	value, err := json.Marshal(struct {
		Configuration string                       `json:"configuration"`
		Webhook       string                       `json:"webhook"`
		Patch         []map[string]json.RawMessage `json:"patch"`
		PatchType     string                       `json:"patchType"`
	}{h.config, h.name, operations, string(admissionv1.PatchTypeJSONPatch)})
	if err == nil {
		s.Annotate(patchKey+position, string(value))
	}
}

// patch applies the patch of a hook to the object that was sent as JSON, and reports whether the
// object changed.
func (s *hookRequest) patch(ctx context.Context, h *hook, form match.Form, sent []byte, response *hookResponse) (bool, error) {
	if len(response.patch) == 0 {
		return false, nil
	}
	p, err := jsonpatch.Decode(response.patch)
	switch {
	case err != nil:
		return false, &callError{hook: h.name, reason: fmt.Errorf("received undecodable patch in webhook response: %w", err), code: 503}
	case p.Len() == 0:
		return false, nil
	case s.Sent() == nil:
		return false, apierrors.NewInternalError(fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation", h.name))
	case p.Len() > maxOperations:
		return false, apierrors.NewInternalError(fmt.Errorf("the allowed maximum operations in a JSON patch is %d, got %d",
			maxOperations, p.Len()))
	case response.patchType != admissionv1.PatchTypeJSONPatch:
		return false, &callError{hook: h.name, reason: fmt.Errorf("unsupported patch type %q", response.patchType), code: 400}
	}
	made, err := p.Apply(ctx, sent, maxCopiedBytes)
	if err == nil {
		err = bounds.Object(made, s.Attributes.Resource.ObjectLimit())
	}
	if err != nil {
		return false, errPatched(h, err)
	}
	decoder := match.PatchDecoder{Kinds: s.kinds, Decode: decodeTyped, Invalid: func(err error) error { return errPatched(h, err) }}
	obj, err := decoder.Patched(s.Request, form, made)
	if err != nil {
		return false, err
	}
	changed, err := s.replaceObject(form, obj)
	if err != nil {
		return false, errPatched(h, err)
	}
	return changed, nil
}

func decodeTyped(data []byte, into runtime.Object) error {
	if err := bounds.JSONInto(data, into); err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(data, into)
}

// errPatched returns the error of an object that a hook has patched.
func errPatched(h *hook, err error) error {
	var limit *bounds.Error
	var size *api.ObjectSizeError
	if errors.As(err, &limit) || errors.As(err, &size) {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the object with the patch of admission webhook %q is out of bounds: %v",
			h.name, err))
	}
	return apierrors.NewInternalError(err)
}

// replaceObject replaces the object and reports whether it differs from the current one.
func (s *hookRequest) replaceObject(form match.Form, obj runtime.Object) (bool, error) {
	before, _, err := s.Objects(form)
	if err != nil {
		return false, err
	}
	obj.GetObjectKind().SetGroupVersionKind(before.GetObjectKind().GroupVersionKind())
	if equality.Semantic.DeepEqual(before, obj) {
		return false, nil
	}
	s.requests = nil
	return true, s.Replace(form, obj)
}

// reinvocationKey is the key of the reinvocation state in the request's attributes.
type reinvocationKey struct{}

// reinvocations is the state of reinvocation, which persists between the passes of the plugin.
type reinvocations struct {
	// candidates were called and request reinvocation; due are those after which the object has
	// changed.
	candidates, due map[string]bool
	// last is the object after the previous pass.
	last api.Object
}

func reinvocationsOf(a *registry.Attributes) *reinvocations {
	if m, ok := a.PluginState(reinvocationKey{}).(*reinvocations); ok {
		return m
	}
	m := &reinvocations{candidates: map[string]bool{}, due: map[string]bool{}}
	a.SetPluginState(reinvocationKey{}, m)
	return m
}

// begin starts a pass. It detects changes by other plugins since the previous pass.
func (m *reinvocations) begin(a *registry.Attributes) {
	if a.IsReinvocation() && m.last != nil && !equality.Semantic.DeepEqual(m.last, a.Object) {
		m.changed()
	}
}

// end ends a pass. It copies the object only if a hook may be reinvoked.
func (m *reinvocations) end(a *registry.Attributes) {
	if len(m.candidates) > 0 && !a.IsReinvocation() && a.Object != nil {
		m.last = a.Object.DeepCopyObject().(api.Object)
	}
}

func (m *reinvocations) changed() {
	for id := range m.candidates {
		m.due[id] = true
	}
	clear(m.candidates)
}

func (m *reinvocations) addCandidate(id string) { m.candidates[id] = true }
