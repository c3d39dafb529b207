package authz

import (
	"context"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// Escalation prevents privilege escalation: a user may only write a role with permissions that the
// user holds, and may only bind a role whose permissions the user holds. Exempt are members of
// system:masters and users with the verb escalate or bind on the role. It wraps the configured
// admission plugins, so that it sees the final object and cannot be disabled.
type Escalation struct {
	registry.Admission
	Authorizer Authorizer
	Roles      *RBAC
}

// Mutate implements registry.Admission.
func (e *Escalation) Mutate(ctx context.Context, a *registry.Attributes) error {
	if err := e.Admission.Mutate(ctx, a); err != nil || a.Resource.Versions[0].Group != rbacv1.GroupName {
		return err
	}
	return e.check(ctx, a)
}

// check runs after mutating admission and before validation.
func (e *Escalation) check(ctx context.Context, a *registry.Attributes) error {
	if a.Object == nil || a.Subresource != "" {
		return nil
	}
	user := request.From(ctx).User
	if user != nil && slices.Contains(user.Groups, request.GroupMasters) || changesOnlyGCFields(a.Object, a.Old) {
		return nil
	}
	var err error
	switch obj := a.Object.(type) {
	case *rbacv1.ClusterRole:
		old, _ := a.Old.(*rbacv1.ClusterRole)
		err = e.checkClusterRole(ctx, user, a, obj, old)
	case *rbacv1.Role:
		if !e.mayEscalate(ctx, user) {
			err = e.checkHeld(ctx, user, a, obj.Rules)
		}
	case *rbacv1.ClusterRoleBinding:
		err = e.checkBinding(ctx, user, a, obj.RoleRef, "")
	case *rbacv1.RoleBinding:
		err = e.checkBinding(ctx, user, a, obj.RoleRef, a.Namespace)
	}
	return err
}

// checkClusterRole also requires all permissions for an aggregation rule, since it can select any
// role.
func (e *Escalation) checkClusterRole(ctx context.Context, user *request.User, a *registry.Attributes, role,
	old *rbacv1.ClusterRole) error {
	if e.mayEscalate(ctx, user) {
		return nil
	}
	if err := e.checkHeld(ctx, user, a, role.Rules); err != nil {
		return err
	}
	if role.AggregationRule == nil && (old == nil || old.AggregationRule == nil) {
		return nil
	}
	star := []string{"*"}
	everything := []rbacv1.PolicyRule{{APIGroups: star, Resources: star, Verbs: star}, {NonResourceURLs: star, Verbs: star}}
	if e.checkHeld(ctx, user, a, everything) != nil {
		return forbidden(ctx, a, errors.New("must have cluster-admin privileges to use the aggregationRule"))
	}
	return nil
}

func (e *Escalation) checkBinding(ctx context.Context, user *request.User, a *registry.Attributes,
	role rbacv1.RoleRef, namespace string) error {
	if e.mayBind(ctx, user, role, namespace) {
		return nil
	}
	rules, err := e.Roles.roleRules(ctx, role, namespace)
	if err != nil {
		return asRequested(a, err)
	}
	return e.checkHeld(ctx, user, a, rules)
}

// mayEscalate checks the verb escalate on the role in the request's path, which has no name in a
// create.
func (e *Escalation) mayEscalate(ctx context.Context, user *request.User) bool {
	info := &request.From(ctx).Info
	if !info.IsResource || info.Group != rbacv1.GroupName || info.Resource != "roles" && info.Resource != "clusterroles" {
		return false
	}
	return e.may(ctx, user, &request.Info{
		Verb: "escalate", Group: info.Group, Resource: info.Resource, Namespace: info.Namespace, Name: info.PathName,
	})
}

func (e *Escalation) mayBind(ctx context.Context, user *request.User, role rbacv1.RoleRef, namespace string) bool {
	info := &request.Info{Verb: "bind", Group: role.APIGroup, Namespace: namespace, Name: role.Name}
	switch role.Kind {
	case "ClusterRole":
		info.Resource = "clusterroles"
	case "Role":
		info.Resource = "roles"
	default:
		return false
	}
	return e.may(ctx, user, info)
}

func (e *Escalation) may(ctx context.Context, user *request.User, info *request.Info) bool {
	info.IsResource, info.Version = true, "*"
	decision, _, _ := e.Authorizer.Authorize(ctx, user, info) // an error is not a permission
	return decision == Allow
}

// checkHeld returns an error if the user lacks one of the wanted permissions.
func (e *Escalation) checkHeld(ctx context.Context, user *request.User, a *registry.Attributes, wanted []rbacv1.PolicyRule) error {
	if user == nil {
		return forbidden(ctx, a, errors.New("no user on context"))
	}
	held, err := e.Roles.granted(ctx, user, a.Namespace)
	missing, tooMany := uncovered(held, wanted)
	switch {
	case tooMany != nil:
		return forbidden(ctx, a, tooMany)
	case len(missing) == 0:
		return nil
	}
	message := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s",
		user.Name, user.Groups, describeRules(missing))
	if err != nil {
		message += fmt.Sprintf("; resolution errors: %v", []error{asRequested(a, err)})
	}
	return forbidden(ctx, a, errors.New(message))
}

// asRequested changes the resource in errors of missing roles to the one of the request:
// kube-apiserver reads roles through their storage here, which names the resource of the request,
// unlike its authorizer.
func asRequested(a *registry.Attributes, err error) error {
	if all, ok := err.(utilerrors.Aggregate); ok {
		errs := make([]error, 0, len(all.Errors()))
		for _, err := range all.Errors() {
			errs = append(errs, asRequested(a, err))
		}
		return utilerrors.NewAggregate(errs)
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return err
	}
	return apierrors.NewNotFound(a.GroupResource(), status.Status().Details.Name)
}

// forbidden returns the error of a write that would grant too much, and records for the account of the request what refused it.
func forbidden(ctx context.Context, a *registry.Attributes, err error) error {
	request.From(ctx).Account.Refuse(request.Refusal{By: request.RefusedByAuthorization, Name: "of what the role grants"})
	return apierrors.NewForbidden(a.GroupResource(), a.Name, err)
}

// changesOnlyGCFields reports whether an update changes only the metadata that garbage collection
// uses, so that it can release an object that it could not create.
func changesOnlyGCFields(obj, old api.Object) bool {
	if old == nil {
		return false
	}
	same := obj.DeepCopyObject().(api.Object)
	same.SetOwnerReferences(old.GetOwnerReferences())
	same.SetFinalizers(old.GetFinalizers())
	same.SetSelfLink(old.GetSelfLink())
	same.SetManagedFields(old.GetManagedFields())
	same.GetObjectKind().SetGroupVersionKind(old.GetObjectKind().GroupVersionKind())
	return equality.Semantic.DeepEqual(same, old)
}
