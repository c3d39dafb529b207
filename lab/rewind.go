package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// RewindsReview is the name of the review that answers Rewinds (registry.Options.Reviews).
const RewindsReview = resourceRewinds

// newRewinds returns the resource of Rewinds, which are answered and not stored.
func newRewinds() *api.Resource {
	res := newKind[v1alpha1.Rewind](api.Names{
		Name: resourceRewinds, Singular: "rewind", Kind: "Rewind", Verbs: []string{api.VerbCreate},
	}, nil, func(row *table.Row, obj api.Object) {
		row.Name(obj.GetName())
		row.Text("To", "resourceVersion of the state.", text(obj, "status", "to"))
		row.Text("Restored", "Number of objects that exist again.", text(obj, "status", "restored"))
		row.Text("Changed", "Number of objects that were changed.", text(obj, "status", "changed"))
		row.Text("Removed", "Number of objects that do not exist any more.", text(obj, "status", "removed"))
	})
	res.Storage.Prefix = ""
	res.Virtual = &api.Action{Source: RewindsReview}
	return res
}

// scopes are the resources whose objects contain others, the outer ones first.
func scopes() []schema.GroupResource {
	return []schema.GroupResource{
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, {Resource: "namespaces"},
	}
}

// leftOut are what a Rewind leaves as it is, by the word that includes it: what running programs hold, or was reported and not
// asked for.
var leftOut = map[string]func(gr schema.GroupResource, namespace, name string) bool{
	"leases": func(gr schema.GroupResource, _, _ string) bool {
		return gr == schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	},
	"events": func(gr schema.GroupResource, _, _ string) bool {
		return gr.Resource == "events" && (gr.Group == "" || gr.Group == "events.k8s.io")
	},
	"addresses": func(gr schema.GroupResource, namespace, name string) bool {
		return namespace == "default" && name == "kubernetes" && (gr.Resource == "endpoints" || gr.Resource == "endpointslices")
	},
}

// maxRewound is the maximum number of objects in the status of a Rewind.
const maxRewound = 1000

// AnswerRewind goes back to the state that a Rewind names.
func (l *Lab) AnswerRewind(ctx context.Context, _ registry.Target, sent api.Object) (api.Object, error) {
	var r v1alpha1.Rewind
	if err := recode(sent, &r); err != nil {
		return nil, apierrors.NewBadRequest("Rewind: " + err.Error())
	}
	r.Status = v1alpha1.RewindStatus{}
	r.Spec.DryRun = r.Spec.DryRun || request.From(ctx).Info.Query.Has("dryRun")
	if err := l.rewind(ctx, &r); err != nil {
		return nil, err
	}
	return encode(&r)
}

// rewind goes back, and sets the status of r.
func (l *Lab) rewind(ctx context.Context, r *v1alpha1.Rewind) error {
	began := time.Now()
	to, err := l.stateOf(ctx, &r.Spec)
	if err != nil {
		return err
	}
	selects, err := selection(&r.Spec)
	if err != nil {
		return err
	}
	objects, rev, err := l.connections.Registry.Rewind(ctx, to, registry.RewindOptions{Scopes: scopes(), Selects: selects, DryRun: r.Spec.DryRun})
	switch {
	case errors.Is(err, storage.ErrOtherWriter), errors.Is(err, registry.ErrManyStores):
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource(resourceRewinds).GroupResource(), r.Name, err)
	case err != nil:
		return err
	}
	st := &r.Status
	st.To, st.ResourceVersion = strconv.FormatInt(to.Revision(), 10), strconv.FormatInt(rev, 10)
	for _, o := range objects {
		action, n := v1alpha1.ActionChanged, &st.Changed
		switch {
		case o.IsGone:
			action, n = v1alpha1.ActionRemoved, &st.Removed
		case o.WasMissing:
			action, n = v1alpha1.ActionRestored, &st.Restored
		}
		if *n++; len(st.Objects) < maxRewound {
			ref := ObjectRef{o.Resource.Group, o.Resource.Resource, o.Namespace, o.Name}
			st.Objects = append(st.Objects, v1alpha1.RewoundObject{Object: ref.String(), Action: action})
		}
	}
	if !r.Spec.DryRun && len(objects) > 0 && l.connections.Settle != nil {
		l.connections.Settle(ctx, objects)
	}
	st.Took = roundedText(time.Since(began))
	return nil
}

// stateOf returns the state that the spec of a Rewind names.
func (l *Lab) stateOf(ctx context.Context, spec *v1alpha1.RewindSpec) (*storage.Mark, error) {
	given := 0
	for _, s := range []string{spec.Checkpoint, spec.ResourceVersion, spec.Ago} {
		if s != "" {
			given++
		}
	}
	at := field.NewPath("spec")
	switch {
	case given != 1:
		return nil, invalidRewind(field.Invalid(at, "", "exactly one of checkpoint, resourceVersion and ago must be set"))
	case spec.Checkpoint != "":
		m, err := l.checkpoint(ctx, spec.Checkpoint)
		if apierrors.IsNotFound(err) {
			err = invalidRewind(field.NotFound(at.Child("checkpoint"), spec.Checkpoint))
		}
		return m, err
	}
	path, rev := at.Child("resourceVersion"), spec.ResourceVersion
	if spec.Ago != "" {
		path = at.Child("ago")
		ago, err := time.ParseDuration(spec.Ago)
		if err != nil || ago < 0 {
			return nil, invalidRewind(field.Invalid(path, spec.Ago, "must be a duration such as 30s or 5m"))
		}
		before, err := l.revisionBefore(ago)
		if err != nil {
			return nil, invalidRewind(field.Invalid(path, spec.Ago, err.Error()))
		}
		rev = strconv.FormatInt(before, 10)
	}
	m, err := l.stateAt(ctx, rev)
	if err != nil && !errors.Is(err, registry.ErrManyStores) {
		err = invalidRewind(field.Invalid(path, rev, err.Error()))
	}
	return m, err
}

func invalidRewind(e *field.Error) error {
	return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("Rewind").GroupKind(), "", field.ErrorList{e})
}

// selection returns which objects a Rewind changes.
func selection(spec *v1alpha1.RewindSpec) (func(gr schema.GroupResource, namespace, name string) bool, error) {
	var keep []func(schema.GroupResource, string, string) bool
	for word, is := range leftOut {
		if !slices.Contains(spec.Include, word) {
			keep = append(keep, is)
		}
	}
	for i, word := range spec.Include {
		if leftOut[word] == nil {
			return nil, invalidRewind(field.NotSupported(field.NewPath("spec", "include").Index(i), word, []string{"leases", "events", "addresses"}))
		}
	}
	return func(gr schema.GroupResource, namespace, name string) bool {
		for _, is := range keep {
			if is(gr, namespace, name) {
				return false
			}
		}
		inNamespace := len(spec.Namespaces) == 0 || slices.Contains(spec.Namespaces, namespace) ||
			gr == schema.GroupResource{Resource: "namespaces"} && slices.Contains(spec.Namespaces, name)
		return inNamespace && (len(spec.Resources) == 0 || slices.Contains(spec.Resources, strings.TrimSuffix(gr.String(), ".")))
	}, nil
}

// Mark is a state of all stored objects, to which Rewind goes back. It is immutable.
type Mark = *storage.Mark

// Checkpoint returns the present state. It takes no memory but for the objects that change later.
func (l *Lab) Checkpoint(ctx context.Context) (Mark, error) {
	return l.connections.Registry.Mark(ctx)
}

// Rewind goes back to a state: it makes the stored objects what they were, but for Leases, Events and the addresses of the server. It
// returns when the server has followed.
func (l *Lab) Rewind(ctx context.Context, to Mark) error {
	selects, err := selection(&v1alpha1.RewindSpec{})
	if err != nil {
		return err
	}
	objects, _, err := l.connections.Registry.Rewind(ctx, to, registry.RewindOptions{Scopes: scopes(), Selects: selects})
	if err == nil && len(objects) > 0 && l.connections.Settle != nil {
		l.connections.Settle(ctx, objects)
	}
	if err != nil {
		return fmt.Errorf("going back to revision %d: %w", to.Revision(), err)
	}
	return nil
}
