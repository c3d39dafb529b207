package admission

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// ownerReferencesPermissionEnforcement requires permission to delete an object for changing its
// owner references, and permission to update the owner's finalizers for blocking the owner's
// deletion.
func ownerReferencesPermissionEnforcement(o *Objects, allowed Allowed) Plugin {
	return Plugin{
		Handles: handle(nil, api.VerbCreate, api.VerbUpdate),
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
					return forbiddenf(a, "cannot set an ownerRef on a resource you can't delete: %v, %v", reason, err)
				}
			}
			return o.checkBlockOwnerDeletion(ctx, allowed, a, old)
		},
	}
}

func (o *Objects) checkBlockOwnerDeletion(ctx context.Context, allowed Allowed, a *registry.Attributes, old []metav1.OwnerReference) error {
	blocks := func(r metav1.OwnerReference) bool { return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion }
	for _, ref := range a.Object.GetOwnerReferences() {
		before := slices.ContainsFunc(old, func(r metav1.OwnerReference) bool { return r.UID == ref.UID && blocks(r) })
		if !blocks(ref) || before {
			continue
		}
		info, err := o.finalizersRequest(ref, a.Namespace)
		if err != nil {
			return forbiddenf(a, "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion %v Kind %v: %w", ref.APIVersion, ref.Kind, err)
		}
		if ok, reason, err := allowed(ctx, a.User, info); !ok {
			return forbiddenf(a, "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: %v, %v", reason, err)
		}
	}
	return nil
}

// finalizersRequest returns the request that updates the finalizers of an owner.
func (o *Objects) finalizersRequest(ref metav1.OwnerReference, namespace string) (*request.Info, error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, err
	}
	res, _, ok := o.catalogue.Kind(gv, ref.Kind)
	if !ok {
		return nil, fmt.Errorf("no matches for kind %q in version %q", ref.Kind, ref.APIVersion)
	}
	info := &request.Info{IsResource: true, Verb: api.VerbUpdate, Group: gv.Group, Version: gv.Version,
		Resource: res.Name, Subresource: "finalizers", Name: ref.Name}
	if res.Namespaced {
		info.Namespace = namespace
	}
	return info, nil
}
