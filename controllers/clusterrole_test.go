package controllers_test

import (
	"context"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestClusterRoleAggregation checks that a role has exactly the rules of the roles that it
// aggregates, including aggregated ones.
func TestClusterRoleAggregation(t *testing.T) {
	_, c := start(t, server.Options{})
	ctx, roles := t.Context(), c.RbacV1().ClusterRoles()
	rule := func(resource string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}}}
	}
	has := func(name string, resource string) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			role, err := roles.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			for _, r := range role.Rules {
				if r.Resources[0] == resource {
					return true, nil
				}
			}
			return false, nil
		}
	}
	eventually(t, "view is aggregated", has("view", "namespaces"))
	eventually(t, "edit has what view has", has("edit", "namespaces"))
	eventually(t, "admin has what edit has", has("admin", "namespaces"))

	part := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "part",
		Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}}, Rules: rule("widgets")}
	if _, err := roles.Create(ctx, part, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the rules of a new role are aggregated into admin", has("admin", "widgets"))
	if err := roles.Delete(ctx, "part", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the rules of the deleted role are removed from admin", func(ctx context.Context) (bool, error) {
		ok, err := has("admin", "widgets")(ctx)
		return !ok, err
	})

	// Rules of another manager stay until there are rules to aggregate. The sync that adds them comes after
	// those that found none.
	own := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Rules: rule("gadgets"),
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"in": "own"}}}}}
	if _, err := roles.Create(ctx, own, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	part.Labels, part.ResourceVersion = map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}, ""
	if _, err := roles.Create(ctx, part, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "roles are synced", has("admin", "widgets"))
	if ok, err := has("own", "gadgets")(ctx); err != nil || !ok {
		t.Errorf("the rules of another manager are removed: %v", err)
	}
}
