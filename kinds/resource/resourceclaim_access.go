package resource

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// checkClaimAccess checks that a claim requests admin access only in a namespace that
// permits it. The spec of a stored claim cannot change.
func checkClaimAccess(ctx context.Context, access api.Access, obj, _ *resourcev1.ResourceClaim) field.ErrorList {
	return checkAdminRequests(ctx, access, obj.Namespace, obj.Spec.Devices.Requests)
}

// checkClaimStatusAccess checks that the user may write the changed parts of the status.
func (r *Rules) checkClaimStatusAccess(ctx context.Context, access api.Access, obj, old *resourcev1.ResourceClaim) field.ErrorList {
	errs := checkAdminResults(ctx, access, obj, old)
	if !r.statusParts {
		return errs
	}
	errs = append(errs, checkClaimBinding(ctx, access, &obj.Status, &old.Status)...)
	if obj.Status.Allocation == nil {
		return errs // the devices lost their status with the allocation: see prepareClaimStatus
	}
	return append(errs, checkDeviceStatus(ctx, access, obj, old)...)
}

// checkTemplateAccess checks the admin access that a template requests.
func checkTemplateAccess(ctx context.Context, access api.Access, t, _ *resourcev1.ResourceClaimTemplate) field.ErrorList {
	return checkAdminRequests(ctx, access, t.Namespace, t.Spec.Spec.Devices.Requests)
}

func checkAdminRequests(ctx context.Context, access api.Access, namespace string, requests []resourcev1.DeviceRequest) field.ErrorList {
	for i := range requests {
		if e := requests[i].Exactly; e != nil && e.AdminAccess != nil && *e.AdminAccess {
			return checkAdminNamespace(ctx, access, namespace, field.NewPath("spec", "devices", "requests").Index(i).Child("adminAccess"))
		}
	}
	return nil
}

// checkAdminResults checks the admin access of a new allocation. A stored allocation is
// immutable and is not checked.
func checkAdminResults(ctx context.Context, access api.Access, obj, old *resourcev1.ResourceClaim) field.ErrorList {
	if adminResult(old.Status.Allocation) >= 0 {
		return nil
	}
	i := adminResult(obj.Status.Allocation)
	if i < 0 {
		return nil
	}
	return checkAdminNamespace(ctx, access, obj.Namespace,
		field.NewPath("status", "allocation", "devices", "results").Index(i).Child("adminAccess"))
}

// adminResult returns the index of the first device that is allocated with admin access,
// or -1.
func adminResult(a *resourcev1.AllocationResult) int {
	if a == nil {
		return -1
	}
	return slices.IndexFunc(a.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool {
		return r.AdminAccess != nil && *r.AdminAccess
	})
}

func checkAdminNamespace(ctx context.Context, access api.Access, name string, path *field.Path) field.ErrorList {
	namespace, err := access.Namespace(ctx, name)
	switch {
	case err != nil:
		return field.ErrorList{field.InternalError(path, fmt.Errorf("could not retrieve namespace to verify admin access: %w", err))}
	case namespace.Labels[resourcev1.DRAAdminNamespaceLabelKey] != "true":
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf("admin access to devices requires the `%s: true` label on the containing namespace",
			resourcev1.DRAAdminNamespaceLabelKey))}
	}
	return nil
}

// claimRequest returns the request info for writing a part of a claim's status, with a
// subresource that exists only for authorization.
func claimRequest(verb, subresource, namespace, name string) *request.Info {
	return &request.Info{IsResource: true, Verb: verb, Group: resourcev1.GroupName, Version: resourcev1.SchemeGroupVersion.Version,
		Resource: "resourceclaims", Subresource: subresource, Namespace: namespace, Name: name}
}

// checkClaimBinding checks that the writer may allocate claims, in any namespace.
func checkClaimBinding(ctx context.Context, access api.Access, status, old *resourcev1.ResourceClaimStatus) field.ErrorList {
	if equality.Semantic.DeepEqual(status.Allocation, old.Allocation) && equality.Semantic.DeepEqual(status.ReservedFor, old.ReservedFor) {
		return nil
	}
	verb := request.From(ctx).Info.Verb
	err := access.Authorize(ctx, claimRequest(verb, resourcev1.SubresourceBinding, "", ""))
	if err == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("status"), fmt.Sprintf(
		`changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="%s" permission: %s`, verb, err))}
}

// checkDeviceStatus checks that the writer may change the status of devices, for each
// driver whose devices have a changed status. A service account on the node of the devices
// only needs the permission for its node.
func checkDeviceStatus(ctx context.Context, access api.Access, obj, old *resourcev1.ResourceClaim) field.ErrorList {
	drivers := changedDrivers(obj.Status.Devices, old.Status.Devices)
	if len(drivers) == 0 {
		return nil
	}
	scope := request.From(ctx)
	verbs := []string{resourcev1.VerbPrefixArbitraryNode + scope.Info.Verb}
	if node := allocatedNode(obj.Status.Allocation); node != "" && node == request.NodeOfAccount(scope.User) {
		verbs = slices.Insert(verbs, 0, resourcev1.VerbPrefixAssociatedNode+scope.Info.Verb)
	}
	var errs field.ErrorList
	for _, driver := range drivers {
		var refusal error
		for _, verb := range verbs {
			err := access.Authorize(ctx, claimRequest(verb, resourcev1.SubresourceDriver, obj.Namespace, driver))
			if err == nil {
				refusal = nil
				break
			}
			if refusal == nil {
				refusal = err
			}
		}
		if refusal != nil {
			errs = append(errs, field.Forbidden(field.NewPath("status", "devices"), fmt.Sprintf(
				`changing status.devices requires resource="resourceclaims/driver", verb="%s" permission: %s`, verbs, refusal)))
		}
	}
	return errs
}

// changedDrivers returns the sorted drivers of devices whose status was added, removed or
// changed.
func changedDrivers(list, stored []resourcev1.AllocatedDeviceStatus) []string {
	before := map[allocatedDevice]*resourcev1.AllocatedDeviceStatus{}
	for i := range stored {
		before[reportedDevice(&stored[i])] = &stored[i]
	}
	changed := map[string]bool{}
	for i := range list {
		id := reportedDevice(&list[i])
		if old, ok := before[id]; !ok || !equality.Semantic.DeepEqual(old, &list[i]) {
			changed[list[i].Driver] = true
		}
		delete(before, id)
	}
	for id := range before {
		changed[id.Driver] = true
	}
	return slices.Sorted(maps.Keys(changed))
}

// allocatedNode returns the node to which an allocation is bound; "" for several nodes or
// any node.
func allocatedNode(a *resourcev1.AllocationResult) string {
	if a == nil || a.NodeSelector == nil || len(a.NodeSelector.NodeSelectorTerms) != 1 {
		return ""
	}
	term := &a.NodeSelector.NodeSelectorTerms[0]
	if len(term.MatchExpressions) != 0 || len(term.MatchFields) != 1 {
		return ""
	}
	f := &term.MatchFields[0]
	if f.Key != api.NameLabel || f.Operator != corev1.NodeSelectorOpIn || len(f.Values) != 1 {
		return ""
	}
	return f.Values[0]
}
