package controllers

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
)

const roleAggregationName = "clusterrole-aggregation-controller"

// roleAggregator sets the rules of aggregated cluster roles. A change of any cluster role may
// change the rules of any aggregated one.
type roleAggregator struct {
	Config
	client *reconcile.Client
	roles  *api.Resource
}

func newRoleAggregator(c Config) Controller {
	a := &roleAggregator{Config: c, client: reconcile.NewClient(c.Handler, roleAggregationName),
		roles: c.Served(rbacv1.SchemeGroupVersion, "clusterroles")}
	if a.roles == nil {
		return nil
	}
	everything := func(reconcile.Change) []string { return []string{""} }
	return &reconcile.Loop[string]{BaseConfig: c.BaseConfig, Name: roleAggregationName, Sync: a.sync,
		Sources: []reconcile.Source[string]{{Resource: a.roles, Keys: everything}}}
}

// sync updates all aggregated roles. A role that aggregates a changed one is updated by the
// sync that the change triggers.
func (a *roleAggregator) sync(ctx context.Context, _ string) (reconcile.Result, error) {
	items, err := a.Items(ctx, a.roles, "", registry.Selection{})
	if err != nil {
		return reconcile.Done, err
	}
	roles := make([]*rbacv1.ClusterRole, 0, len(items))
	for _, item := range items {
		obj, err := item.Object()
		if err != nil {
			continue // the store has logged it
		}
		roles = append(roles, obj.(*rbacv1.ClusterRole))
	}
	slices.SortFunc(roles, func(x, y *rbacv1.ClusterRole) int { return cmp.Compare(x.Name, y.Name) })
	for _, role := range roles {
		if role.AggregationRule == nil {
			continue
		}
		rules, err := aggregatedRules(role, roles)
		if err != nil {
			continue // an invalid selector leaves the rules as they are
		}
		if slices.EqualFunc(rules, role.Rules, equalRules) {
			continue
		}
		if err := a.apply(ctx, role, rules); err != nil {
			return reconcile.AfterWrite(err)
		}
	}
	return reconcile.Done, nil
}

// aggregatedRules returns the rules of an aggregated role: those of the selected roles without
// duplicates, in the order of selectors and names.
func aggregatedRules(role *rbacv1.ClusterRole, roles []*rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	rules := []rbacv1.PolicyRule{}
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, err
		}
		for _, other := range roles {
			if other.Name == role.Name || !selector.Matches(labels.Set(other.Labels)) {
				continue
			}
			for _, rule := range other.Rules {
				if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return equalRules(r, rule) }) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules, nil
}

// equalRules reports whether two rules are the same. An empty list is equal to a missing one. The roles
// of a new server have some hundred rules, each of which is compared with all before it, so reflection
// would be noticed.
func equalRules(a, b rbacv1.PolicyRule) bool {
	return slices.Equal(a.Verbs, b.Verbs) && slices.Equal(a.APIGroups, b.APIGroups) && slices.Equal(a.Resources, b.Resources) &&
		slices.Equal(a.ResourceNames, b.ResourceNames) && slices.Equal(a.NonResourceURLs, b.NonResourceURLs)
}

// apply sets the rules of a role by a forced apply, so that the controller owns them. Like
// kube-controller-manager, it gives up the rules if there are none to set: rules that another manager
// owns stay. It returns a
// conflict if the role was changed, such as to one with rules of its own, or deleted meanwhile.
func (a *roleAggregator) apply(ctx context.Context, role *rbacv1.ClusterRole, rules []rbacv1.PolicyRule) error {
	path := reconcile.ObjectPath(a.roles, "", role.Name) + "?force=true&fieldManager=" + roleAggregationName
	applied := map[string]any{
		"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": "ClusterRole",
		"metadata": map[string]any{"name": role.Name, "uid": role.UID, "resourceVersion": role.ResourceVersion},
	}
	if len(rules) > 0 {
		applied["rules"] = rules
	}
	return a.client.Do(ctx, http.MethodPatch, path, "application/apply-patch+yaml", applied, nil)
}
