package registry

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Post handles a POST to the subresource that t names. It returns the object to respond
// with: the answer of a review, or nil for a change of an object.
func (r *Registry) Post(ctx context.Context, t Target, sent api.Object, o WriteOptions) (api.Object, error) {
	a, err := r.prepareSent(ctx, t, api.BodyKind(t.Sub), sent, o)
	if err != nil {
		return nil, err
	}
	return r.post(ctx, t, sent, a, o)
}

// prepareSent prepares a posted object of a kind and runs mutating admission for it.
func (r *Registry) prepareSent(ctx context.Context, t Target, kind *api.Resource, sent api.Object, o WriteOptions) (*Attributes, error) {
	api.DedupOwnerReferences(sent, false, request.From(ctx).Warn)
	if action, ok := t.Sub.(*api.Action); !ok || !action.KeepsSystemFields {
		clearSystemFields(sent)
	}
	if err := t.MatchNamespace(sent); err != nil {
		return nil, err
	}
	if m := r.fields.forResource(kind); m != nil && o.Manager != "" {
		_ = m.Update(nil, sent, ssa.Write{Version: &kind.Versions[0], Subresource: t.subresource(), Manager: o.Manager, Now: r.o.Now()})
	}
	a := r.newAttributes(ctx, t, api.VerbCreate, sent, nil, o)
	return a, r.mutate(ctx, a)
}

// post handles an object that was posted to the subresource that t names, after mutating
// admission. Its writes are part of the same request, so that admission does not run for
// them.
func (r *Registry) post(ctx context.Context, t Target, sent api.Object, a *Attributes, o WriteOptions) (api.Object, error) {
	action, ok := t.Sub.(*api.Action)
	if !ok {
		return nil, fmt.Errorf("%s is not an action", t.subresource())
	}
	if action.Check != nil {
		p := &api.ActionRequest{Name: t.Name, Sent: sent, DryRun: o.DryRun, Object: func() (api.Object, error) { return r.object(ctx, t) }}
		if err := action.Check(p); err != nil {
			return nil, err
		}
		o.DryRun = p.DryRun
	}
	if action.Source != "" {
		return r.answerReview(ctx, t, action.Kind, action.Source, sent, a)
	}
	if err := r.validate(ctx, a); err != nil {
		return nil, err
	}
	if err := CheckPathName(t.Name); err != nil {
		return nil, err
	}
	o.SkipAdmission, o.Manager = true, ""
	if action.Do != nil {
		return nil, action.Do(ctx, &actions{r: r, ctx: ctx, t: t, o: o}, t.Name, sent)
	}
	_, err := r.Update(ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
		return action.Change(old, sent)
	}, UpdateOptions{WriteOptions: o, SkipStrategy: true, Preconditions: preconditionsOf(sent)})
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

// preconditionsOf returns the uid and the resourceVersion in an object as preconditions.
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

// CheckPathName refuses names that cannot be a segment of a path. Names in a URL are always
// such segments, but names in a body may not be.
func CheckPathName(name string) error {
	if name == "" {
		return apierrors.NewBadRequest("Name parameter required.")
	}
	if why := path.IsValidPathSegmentName(name); len(why) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", name, strings.Join(why, ";")))
	}
	return nil
}
