package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/request"
)

// Source computes the objects of a virtual resource.
type Source interface {
	// Get returns one object, or a NotFound Status when there is none.
	Get(ctx context.Context, name string) (api.Object, error)
	// List returns the objects, in their order in a list. It may leave out objects that o does not select, and those beyond
	// o.Limit; the other options are not used. The caller selects the others.
	List(ctx context.Context, o ListOptions) ([]api.Object, error)
}

// source returns the Source of the virtual resource that t names.
func (r *Registry) source(t Target) (Source, error) {
	if v, ok := t.Resource.Virtual.(*api.View); ok {
		if s, ok := r.o.Virtual[v.Source]; ok {
			return s, nil
		}
	}
	return nil, fmt.Errorf("nothing computes %s", t.Resource.Name)
}

// VirtualGet computes one object.
func (r *Registry) VirtualGet(ctx context.Context, t Target) (api.Object, error) {
	s, err := r.source(t)
	if err != nil {
		return nil, err
	}
	obj, err := s.Get(ctx, t.Name)
	if err != nil {
		return nil, r.StatusError(t, err)
	}
	return obj, nil
}

// VirtualList computes the selected objects.
func (r *Registry) VirtualList(ctx context.Context, t Target, o ListOptions) ([]api.Object, error) {
	s, err := r.source(t)
	if err != nil {
		return nil, err
	}
	objects, err := s.List(ctx, o)
	if err != nil {
		return nil, r.StatusError(t, err)
	}
	return slices.DeleteFunc(objects, func(obj api.Object) bool {
		return !o.Labels.Matches(labels.Set(obj.GetLabels())) || !o.Fields.Matches(virtualFields(t.Resource, obj))
	}), nil
}

// virtualFields returns the selectable fields of an object that is not stored.
func virtualFields(res *api.Resource, obj api.Object) fields.Set {
	out := fields.Set{"metadata.name": obj.GetName()}
	if res.Selectable != nil {
		maps.Copy(out, res.Selectable(obj))
	}
	return out
}

// Review answers a review, such as a SubjectAccessReview: Answer returns the object for the
// response. sent is of the hub type, admitted and valid; the function may change it. The
// user is in the scope of ctx.
type Review struct {
	Answer func(ctx context.Context, t Target, sent api.Object) (api.Object, error)
	// Complete sets what the server chooses in a sent object, before it is validated and validating admission sees it; nil
	// sets nothing.
	Complete func(sent api.Object)
}

// VirtualCreate handles an object that is not stored. It returns the answer of a review, or
// nil if the object is a change of another object, such as a binding.
func (r *Registry) VirtualCreate(ctx context.Context, t Target, obj api.Object, o WriteOptions) (api.Object, error) {
	action, ok := t.Resource.Virtual.(*api.Action)
	if !ok {
		return nil, fmt.Errorf("%s cannot be created", t.Resource.Name)
	}
	if action.At == "" {
		a, err := r.prepareSent(ctx, t, t.Resource, obj, o)
		if err != nil {
			return nil, err
		}
		return r.answerReview(ctx, t, t.Resource, action.Source, obj, a)
	}
	resource, subresource, _ := strings.Cut(action.At, "/")
	res, version, ok := r.catalogue.Lookup(t.Version.GroupVersion, resource)
	if !ok {
		return nil, fmt.Errorf("%s changes %s, which is not served", t.Resource.Name, resource)
	}
	t.Name = obj.GetName()
	a, err := r.prepareSent(ctx, t, t.Resource, obj, o)
	if err != nil {
		return nil, err
	}
	changed := Target{Resource: res, Version: version, Namespace: t.Namespace, Name: obj.GetName(), Sub: res.Subresource(subresource)}
	return r.post(ctx, changed, obj, a, o)
}

// answerReview validates a review of a kind, after mutating admission, and returns the
// answer.
func (r *Registry) answerReview(ctx context.Context, t Target, kind *api.Resource, source string, obj api.Object,
	a *Attributes) (api.Object, error) {
	review, ok := r.o.Reviews(source)
	if !ok {
		return nil, fmt.Errorf("nothing answers %s", kind.Name)
	}
	if review.Complete != nil {
		review.Complete(obj)
	}
	api.DedupOwnerReferences(obj, true, request.From(ctx).Warn)
	w := kind.NewWrite(api.Attempt{Context: ctx}, obj, nil)
	for _, check := range kind.Checks {
		check(w)
	}
	if len(w.Errors) > 0 {
		// As in kube-apiserver, the error has no name, and a kind only at a subresource.
		gk := schema.GroupKind{Group: kind.Versions[0].Group}
		if t.Sub != nil {
			gk.Kind = kind.Kind
		}
		return nil, validation.NewInvalid(gk, "", w.Errors)
	}
	if err := r.validate(ctx, a); err != nil {
		return nil, err
	}
	return review.Answer(ctx, t, obj)
}
