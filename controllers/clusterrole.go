package controllers

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

const aggregationName = "clusterrole-aggregation-controller"

// roleGatherer gives cluster roles that gather others the rules of those. A
// change of any cluster role may be one of what any of them gathers.
type roleGatherer struct {
	Config
	client *Client
	roles  *api.Resource
}

func newAggregation(c Config) Controller {
	a := &roleGatherer{Config: c, client: newClient(c.Handler, aggregationName), roles: c.served(rbacv1.SchemeGroupVersion, "clusterroles")}
	if a.roles == nil {
		return nil
	}
	everything := func(change) []string { return []string{""} }
	return &loop[string]{Config: c, name: aggregationName, sync: a.sync, sources: []source[string]{{resource: a.roles, keys: everything}}}
}

// sync looks at all roles, once for all changes that came meanwhile. What a role
// gathered may be gathered by another, which its change will bring about.
func (a *roleGatherer) sync(ctx context.Context, _ string) (verdict, error) {
	items, err := a.items(ctx, a.roles, "", registry.Selection{})
	if err != nil {
		return done, err
	}
	roles := make([]*rbacv1.ClusterRole, 0, len(items))
	for _, item := range items {
		obj, err := item.Object()
		if err != nil {
			continue // told of by the store
		}
		roles = append(roles, obj.(*rbacv1.ClusterRole))
	}
	slices.SortFunc(roles, func(x, y *rbacv1.ClusterRole) int { return cmp.Compare(x.Name, y.Name) })
	for _, role := range roles {
		if role.AggregationRule == nil {
			continue
		}
		rules, err := gathered(role, roles)
		if err != nil {
			continue // a selector that means nothing gathers nothing until it is mended
		}
		if equality.Semantic.DeepEqual(rules, role.Rules) {
			continue
		}
		if err := a.apply(ctx, role.Name, rules); err != nil {
			return done, err
		}
	}
	return done, nil
}

// gathered are the rules that a role is to have: those of the roles that it
// selects, each once, in the order of selectors and names.
func gathered(role *rbacv1.ClusterRole, roles []*rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
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
				if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(r, rule) }) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules, nil
}

// apply makes rules those of a role. The controller owns them, whoever else
// says so.
func (a *roleGatherer) apply(ctx context.Context, name string, rules []rbacv1.PolicyRule) error {
	path := pathOf(a.roles, "", name) + "?force=true&fieldManager=" + aggregationName
	err := a.client.do(ctx, http.MethodPatch, path, "application/apply-patch+yaml", map[string]any{
		"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": "ClusterRole",
		"metadata": map[string]any{"name": name}, "rules": rules,
	}, nil)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // told of, and looked at again
	}
	return err
}
