package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/untyped"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/registry/jsonpatch"
)

// Annotations of audit events.
const (
	mutationKey     = "mutation.webhook.admission.k8s.io/"
	mutationOpenKey = "failed-open.mutation.webhook.admission.k8s.io/"
)

// Bounds of a patch: how many operations it has, and what its copies may add to
// an object.
const (
	maxOperations = 10000
	maxCopied     = 3 << 20
)

// mutate asks the hooks that may change the object, one after the other.
func (w *Webhooks) mutate(ctx context.Context, a *registry.Attributes) error {
	if exempt(a) {
		return nil
	}
	hooks, err := w.hooks.mutating.now(ctx)
	if err != nil || len(hooks) == 0 {
		return err
	}
	m := memoryOf(a)
	m.begin(a)
	defer m.end(a)
	s := w.subject(a)
	for i, h := range hooks {
		form, ok, err := w.concerns(ctx, h, s)
		if err != nil {
			return err
		}
		// A hook that was not asked in the first round is not in the second.
		if !ok || a.Rerun() && !m.due[h.id] {
			continue
		}
		if err := w.mutateBy(ctx, h, i, s, form, m); err != nil {
			return err
		}
	}
	return nil
}

// mutateBy asks one hook, the i-th, and does as it says.
func (w *Webhooks) mutateBy(ctx context.Context, h *hook, i int, s *subject, form match.Form, m *memory) error {
	q, err := s.question(form)
	if err != nil {
		return err
	}
	begin := time.Now()
	changed := false
	said, err := w.mutating.ask(ctx, h, s.Attributes, q)
	if err == nil {
		changed, err = s.patch(ctx, h, form, q.Object.Raw, said)
	}
	place := fmt.Sprintf("round_%d_index_%d", round(s.Attributes), i)
	s.annotate(place, h, changed)
	if changed {
		m.changed()
		s.Again()
	}
	if h.again {
		m.asked(h.id)
	}
	open, err := w.settle(h, typeAdmit, s.Operation(), begin, err)
	if open {
		s.Annotate(mutationOpenKey+place, h.name)
		if ctx.Err() != nil {
			return timedOut()
		}
	}
	return err
}

func round(a *registry.Attributes) int {
	if a.Rerun() {
		return 1
	}
	return 0
}

func (s *subject) annotate(place string, h *hook, changed bool) {
	value, err := json.Marshal(struct {
		Configuration string `json:"configuration"`
		Webhook       string `json:"webhook"`
		Mutated       bool   `json:"mutated"`
	}{h.config, h.name, changed})
	if err == nil {
		s.Annotate(mutationKey+place, string(value))
	}
}

// patch does what a hook said to an object, which was sent to it as JSON, and
// tells whether that changed anything.
func (s *subject) patch(ctx context.Context, h *hook, form match.Form, sent []byte, said *answer) (bool, error) {
	if len(said.patch) == 0 {
		return false, nil
	}
	p, err := jsonpatch.Decode(said.patch)
	switch {
	case err != nil:
		return false, apierrors.NewInternalError(err)
	case p.Len() == 0:
		return false, nil
	case s.Object == nil:
		return false, apierrors.NewInternalError(fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation", h.name))
	case p.Len() > maxOperations:
		return false, apierrors.NewInternalError(fmt.Errorf("the allowed maximum operations in a JSON patch is %d, got %d", maxOperations, p.Len()))
	case said.patchType != admissionv1.PatchTypeJSONPatch:
		return false, &callError{hook: h.name, reason: fmt.Errorf("unsupported patch type %q", said.patchType), code: 400}
	}
	made, err := p.Apply(ctx, sent, maxCopied)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	changed, err := s.become(form, made)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	return changed, nil
}

// become makes what data says the object, and tells whether that is another.
func (s *subject) become(form match.Form, data []byte) (bool, error) {
	before, _, err := s.Objects(form)
	if err != nil {
		return false, err
	}
	obj := s.New(form)
	if u, ok := obj.(*untyped.Object); ok {
		err = u.UnmarshalJSON(data)
	} else if err = bounds.Quantities(data, obj); err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(data, obj)
	}
	if err != nil {
		return false, err
	}
	kind := obj.GetObjectKind()
	if is := kind.GroupVersionKind(); is != form.Kind && !is.Empty() {
		return false, fmt.Errorf("converting %s to %s: unknown conversion", is, form.Kind)
	}
	kind.SetGroupVersionKind(before.GetObjectKind().GroupVersionKind())
	if equality.Semantic.DeepEqual(before, obj) {
		return false, nil
	}
	s.told = nil
	return true, s.Replace(form, obj)
}

// memoryKey is what the memory is kept by.
type memoryKey struct{}

// memory is what the plugin remembers of a request from round to round.
type memory struct {
	// willing were asked, and want to be asked again about what changes after
	// them; due are those for whom that came true.
	willing, due map[string]bool
	// left is the object as it was after the last round.
	left api.Object
}

func memoryOf(a *registry.Attributes) *memory {
	if m, ok := a.Kept(memoryKey{}).(*memory); ok {
		return m
	}
	m := &memory{willing: map[string]bool{}, due: map[string]bool{}}
	a.Keep(memoryKey{}, m)
	return m
}

// begin begins a round. What other plugins did to the object since the last one
// counts too.
func (m *memory) begin(a *registry.Attributes) {
	if a.Rerun() && m.left != nil && !equality.Semantic.DeepEqual(m.left, a.Object) {
		m.changed()
	}
}

// end ends a round. The state is kept only for those who want to know whether
// it changes.
func (m *memory) end(a *registry.Attributes) {
	if len(m.willing) > 0 && !a.Rerun() && a.Object != nil {
		m.left = a.Object.DeepCopyObject().(api.Object)
	}
}

func (m *memory) changed() {
	for id := range m.willing {
		m.due[id] = true
	}
	clear(m.willing)
}

func (m *memory) asked(id string) { m.willing[id] = true }
