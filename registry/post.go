package registry

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/ssa"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Post does what a POST to the subresource that t names asks for. A question is
// answered with an object; of anything else the answer is nil.
func (r *Registry) Post(ctx context.Context, t Target, sent api.Object, o WriteOptions) (api.Object, error) {
	a, err := r.prepareSent(ctx, t, t.Sub.Kind, sent, o)
	if err != nil {
		return nil, err
	}
	return r.post(ctx, t, sent, a, o)
}

// prepareSent prepares what was posted, which is of a kind, and has it mutated.
func (r *Registry) prepareSent(ctx context.Context, t Target, kind *api.Resource, sent api.Object, o WriteOptions) (*Attributes, error) {
	if t.Sub == nil || !t.Sub.KeepsSystemFields {
		clearSystemFields(sent)
	}
	if err := setNamespace(t, sent); err != nil {
		return nil, err
	}
	if m := r.fields.forResource(kind); m != nil && o.Manager != "" {
		_ = m.Update(nil, sent, ssa.Write{Version: &kind.Versions[0], Subresource: t.subresource(), Manager: o.Manager, Now: r.o.Now()})
	}
	a := r.newAttributes(ctx, t, api.VerbCreate, sent, nil, o)
	return a, r.mutate(ctx, a)
}

// clearSystemFields removes what is not the client's to say of a new object.
func clearSystemFields(obj api.Object) {
	obj.SetUID("")
	obj.SetCreationTimestamp(metav1.Time{})
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
}

// post does what was posted to the subresource that t names, after mutating
// admission. What is written on the way belongs to the same request, and admission
// is not asked about it again.
func (r *Registry) post(ctx context.Context, t Target, sent api.Object, a *Attributes, o WriteOptions) (api.Object, error) {
	if t.Sub.Check != nil {
		p := &api.Posted{Name: t.Name, Sent: sent, DryRun: o.DryRun, Object: func() (api.Object, error) { return r.object(ctx, t) }}
		if err := t.Sub.Check(p); err != nil {
			return nil, err
		}
		o.DryRun = p.DryRun
	}
	if t.Sub.Source != "" {
		return r.answerReview(ctx, t, t.Sub.Kind, t.Sub.Source, sent, a)
	}
	if err := r.validate(ctx, a); err != nil {
		return nil, err
	}
	if err := checkPathName(t.Name); err != nil {
		return nil, err
	}
	o.SkipAdmission, o.Manager = true, ""
	if t.Sub.Act != nil {
		return nil, t.Sub.Act(ctx, &actions{r: r, ctx: ctx, t: t, o: o}, t.Name, sent)
	}
	_, err := r.Update(ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
		return t.Sub.Change(old, sent)
	}, UpdateOptions{WriteOptions: o, SkipStrategy: t.Sub.ChangesSpecAndStatus, Preconditions: preconditionsOf(sent)})
	return nil, err
}

// object reads the object that t names.
func (r *Registry) object(ctx context.Context, t Target) (api.Object, error) {
	item, err := r.Get(ctx, t, storage.Read{})
	if err != nil {
		return nil, err
	}
	return item.Object()
}

// preconditionsOf is what an object says of uid and resourceVersion.
func preconditionsOf(obj api.Object) metav1.Preconditions {
	var p metav1.Preconditions
	if uid := obj.GetUID(); uid != "" {
		p.UID = &uid
	}
	if rv := obj.GetResourceVersion(); rv != "" {
		p.ResourceVersion = &rv
	}
	return p
}

// checkPathName refuses names that no object can have, because they cannot be
// part of a path. A name in a URL is one already; one in a body may not be.
func checkPathName(name string) error {
	if name == "" {
		return apierrors.NewBadRequest("Name parameter required.")
	}
	if why := path.IsValidPathSegmentName(name); len(why) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", name, strings.Join(why, ";")))
	}
	return nil
}
