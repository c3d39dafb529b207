package plugins

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// ownerReferencesPermissionEnforcement requires permission to delete an object for changing its
// owner references, and permission to update the owner's finalizers for blocking the owner's
// deletion.
func ownerReferencesPermissionEnforcement(o *admission.Objects, allowed admission.Allowed) admission.Plugin {
	return admission.Plugin{
		Handles: admission.HandlesFor(nil, api.VerbCreate, api.VerbUpdate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			if a.Subresource == "status" || a.Object == nil {
				return nil
			}
			var old []metav1.OwnerReference
			if a.Old != nil {
				old = a.Old.GetOwnerReferences()
			}
			if equality.Semantic.DeepEqual(old, a.Object.GetOwnerReferences()) {
				return nil
			}
			if a.Verb == api.VerbUpdate {
				info := &request.Info{IsResource: true, Verb: api.VerbDelete, Group: a.Version.Group, Version: a.Version.Version,
					Resource: a.Resource.Name, Namespace: a.Namespace, Name: a.Name}
				if ok, reason, err := allowed(ctx, a.User, info); !ok {
					return admission.Forbiddenf(a, "cannot set an ownerRef on a resource you can't delete: %v, %v", reason, err)
				}
			}
			return checkBlockOwnerDeletion(ctx, o, allowed, a, old)
		},
	}
}

func checkBlockOwnerDeletion(ctx context.Context, o *admission.Objects, allowed admission.Allowed,
	a *registry.Attributes, old []metav1.OwnerReference) error {
	blocks := func(r metav1.OwnerReference) bool { return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion }
	for _, ref := range a.Object.GetOwnerReferences() {
		before := slices.ContainsFunc(old, func(r metav1.OwnerReference) bool { return r.UID == ref.UID && blocks(r) })
		if !blocks(ref) || before {
			continue
		}
		info, err := finalizersRequest(o, ref, a.Namespace)
		if err != nil {
			return admission.Forbiddenf(a,
				"cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion %v Kind %v: %w", ref.APIVersion, ref.Kind, err)
		}
		if ok, reason, err := allowed(ctx, a.User, info); !ok {
			return admission.Forbiddenf(a,
				"cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: %v, %v", reason, err)
		}
	}
	return nil
}

// finalizersRequest returns the request that updates the finalizers of an owner.
func finalizersRequest(o *admission.Objects, ref metav1.OwnerReference, namespace string) (*request.Info, error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, err
	}
	res, _, _ := o.Kind(gv.WithKind(ref.Kind))
	if res == nil {
		return nil, fmt.Errorf("no matches for kind %q in version %q", ref.Kind, ref.APIVersion)
	}
	info := &request.Info{IsResource: true, Verb: api.VerbUpdate, Group: gv.Group, Version: gv.Version,
		Resource: res.Name, Subresource: "finalizers", Name: ref.Name}
	if res.Namespaced {
		info.Namespace = namespace
	}
	return info, nil
}
