package authz

import (
	"context"
	_ "embed"
	"log/slog"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

//go:embed bootstrap.txt
var bootstrapPolicy string

// autoUpdate is the annotation that enables updates of a default role or binding at startup.
const autoUpdate = rbacv1.AutoUpdateAnnotationKey

// aggregateTo is the prefix of the labels by which a role is aggregated into the role that the rest
// of the label names.
const aggregateTo = "rbac.authorization.k8s.io/aggregate-to-"

// BootstrapPolicy returns the default roles and bindings whose feature gates are enabled.
func BootstrapPolicy(gates features.Gates) []api.Object { return parsePolicy(bootstrapPolicy, gates) }

// parsePolicy parses the format that is documented in bootstrap.txt.
func parsePolicy(text string, gates features.Gates) []api.Object {
	var out []api.Object
	var rules *[]rbacv1.PolicyRule // rules of the current role; nil if its feature gate is disabled
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		words, on := cutGate(words, gates)
		rule := strings.HasPrefix(line, " ")
		switch {
		case rule && on && rules != nil:
			*rules = append(*rules, defaultRule(words, gates))
		case rule:
		case !on:
			rules = nil
		case words[0] == "controller":
			name := "system:controller:" + words[1]
			role := &rbacv1.ClusterRole{ObjectMeta: defaultMeta("", name)}
			out = append(out, role, &rbacv1.ClusterRoleBinding{
				ObjectMeta: defaultMeta("", name), RoleRef: roleRef("ClusterRole", name), Subjects: defaultSubjects([]string{"account:" + words[1]}),
			})
			rules = &role.Rules
		case words[0] == "clusterrole":
			role := &rbacv1.ClusterRole{ObjectMeta: defaultMeta("", words[1])}
			setAggregation(role, words[2:])
			out, rules = append(out, role), &role.Rules
		case words[0] == "role":
			namespace, name, _ := strings.Cut(words[1], "/")
			role := &rbacv1.Role{ObjectMeta: defaultMeta(namespace, name)}
			out, rules = append(out, role), &role.Rules
		case words[0] == "clusterrolebinding":
			out = append(out, &rbacv1.ClusterRoleBinding{
				ObjectMeta: defaultMeta("", words[1]), RoleRef: roleRef("ClusterRole", words[2]), Subjects: defaultSubjects(words[3:])})
		case words[0] == "rolebinding":
			namespace, name, _ := strings.Cut(words[1], "/")
			out = append(out, &rbacv1.RoleBinding{
				ObjectMeta: defaultMeta(namespace, name), RoleRef: roleRef("Role", words[2]), Subjects: defaultSubjects(words[3:])})
		}
	}
	return out
}

// cutGate removes the feature gate from the end of a line and reports whether the gate is enabled.
// A line without a gate is always enabled.
func cutGate(words []string, gates features.Gates) ([]string, bool) {
	last := len(words) - 1
	if gate, ok := strings.CutPrefix(words[last], "gate="); ok {
		return words[:last], gates.Enabled(gate)
	}
	return words, true
}

func defaultMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name,
		Labels:      map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
		Annotations: map[string]string{autoUpdate: "true"},
	}
}

func setAggregation(role *rbacv1.ClusterRole, words []string) {
	for _, w := range words {
		switch how, of, _ := strings.Cut(w, "="); how {
		case "to":
			role.Labels[aggregateTo+of] = "true"
		case "gathers":
			role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
				{MatchLabels: map[string]string{aggregateTo + of: "true"}}}}
		}
	}
}

func defaultRule(words []string, gates features.Gates) rbacv1.PolicyRule {
	list := func(i int) []string {
		if i >= len(words) {
			return nil
		}
		return strings.Split(words[i], ",")
	}
	if words[0] == "path" {
		return rbacv1.PolicyRule{NonResourceURLs: enabledPaths(list(1), gates), Verbs: list(2)}
	}
	r := rbacv1.PolicyRule{APIGroups: list(0), Resources: list(1), Verbs: list(2), ResourceNames: list(3)}
	for i, g := range r.APIGroups {
		if g == "core" {
			r.APIGroups[i] = ""
		}
	}
	return r
}

// enabledPaths returns the paths that have no feature gate or an enabled one.
func enabledPaths(paths []string, gates features.Gates) (out []string) {
	for _, p := range paths {
		if path, gate, gated := strings.Cut(p, "@"); !gated || gates.Enabled(gate) {
			out = append(out, path)
		}
	}
	return out
}

func roleRef(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

func defaultSubjects(words []string) (out []rbacv1.Subject) {
	for _, w := range words {
		switch kind, name, _ := strings.Cut(w, ":"); kind {
		case "user":
			out = append(out, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name})
		case "group":
			out = append(out, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name})
		case "account":
			out = append(out, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: name})
		}
	}
	return out
}

// ReconcileBootstrapPolicy updates the default roles and bindings that exist: it adds missing rules
// and subjects and leaves others unchanged. It deletes a binding to another role, and objects that
// cannot be decoded. Missing objects are created by the caller. An object that cannot be updated, for
// instance because it has an invalid field of another program, stays as it is.
func ReconcileBootstrapPolicy(ctx context.Context, reg *registry.Registry, defaults []registry.InitialObject,
	manager string, logger *slog.Logger) error {
	for _, m := range defaults {
		err := reconcileDefault(ctx, reg, m, manager, logger, storage.Read{Match: storage.Any})
		for apierrors.IsConflict(err) && ctx.Err() == nil { // another writer was faster
			err = reconcileDefault(ctx, reg, m, manager, logger, storage.Read{})
		}
		switch {
		case err == nil, apierrors.IsNotFound(err):
		case registry.IsUnavailable(err), ctx.Err() != nil:
			return err
		default:
			logger.Error("a default role or binding cannot be updated", "resource", m.Resource.Name, "namespace",
				m.Object.GetNamespace(), "name", m.Object.GetName(), "error", err)
		}
	}
	return nil
}

// reconcileDefault reconciles one object. It returns a conflict if a binding that it wants to
// delete was changed meanwhile.
func reconcileDefault(ctx context.Context, reg *registry.Registry, m registry.InitialObject, manager string,
	logger *slog.Logger, how storage.Read) error {
	t := registry.Target{Resource: m.Resource, Version: &m.Resource.Versions[0], Namespace: m.Object.GetNamespace(), Name: m.Object.GetName()}
	item, err := reg.Get(ctx, t, how)
	if err != nil {
		return nil // which the creation of missing objects reports
	}
	current, err := item.Object()
	if err != nil {
		_, err = reg.RemoveUnreadable(ctx, t, logger)
		return err
	}
	if isUserControlled(current) {
		return nil
	}
	o := registry.WriteOptions{Manager: manager}
	if refersToOtherRole(current, m.Object) {
		uid, revision := current.GetUID(), current.GetResourceVersion()
		_, err := reg.Delete(ctx, t, registry.DeleteOptions{WriteOptions: o,
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &revision}})
		return err
	}
	if equality.Semantic.DeepEqual(reconciled(current, m.Object), current) {
		return nil
	}
	_, err = reg.Update(ctx, t, func(_ context.Context, old api.Object) (api.Object, error) {
		if isUserControlled(old) {
			return old, nil
		}
		return reconciled(old, m.Object), nil
	}, registry.UpdateOptions{WriteOptions: o})
	return err
}

// isUserControlled reports whether an object is annotated to be left as it is.
func isUserControlled(obj api.Object) bool { return obj.GetAnnotations()[autoUpdate] == "false" }

// reconciled returns current with the missing parts of want added.
func reconciled(current, want api.Object) api.Object {
	obj := current.DeepCopyObject().(api.Object)
	obj.SetLabels(mergeMissing(want.GetLabels(), obj.GetLabels()))
	obj.SetAnnotations(mergeMissing(want.GetAnnotations(), obj.GetAnnotations()))
	switch obj := obj.(type) {
	case *rbacv1.ClusterRole:
		want := want.(*rbacv1.ClusterRole)
		obj.Rules = append(obj.Rules, missingRules(obj.Rules, want.Rules)...)
		obj.AggregationRule = withSelectors(obj.AggregationRule, want.AggregationRule)
	case *rbacv1.Role:
		obj.Rules = append(obj.Rules, missingRules(obj.Rules, want.(*rbacv1.Role).Rules)...)
	case *rbacv1.ClusterRoleBinding:
		obj.Subjects = withSubjects(obj.Subjects, want.(*rbacv1.ClusterRoleBinding).Subjects)
	case *rbacv1.RoleBinding:
		obj.Subjects = withSubjects(obj.Subjects, want.(*rbacv1.RoleBinding).Subjects)
	}
	return obj
}

// missingRules returns what the rules of a default role add to the current ones. The rules of a
// default role are few, so that they are always compared.
func missingRules(current, want []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	missing, _ := uncovered(current, want)
	return missing
}

func refersToOtherRole(current, want api.Object) bool {
	switch current := current.(type) {
	case *rbacv1.ClusterRoleBinding:
		return current.RoleRef != want.(*rbacv1.ClusterRoleBinding).RoleRef
	case *rbacv1.RoleBinding:
		return current.RoleRef != want.(*rbacv1.RoleBinding).RoleRef
	}
	return false
}

// mergeMissing returns current with the missing keys of want added.
func mergeMissing(want, current map[string]string) map[string]string {
	out := maps.Clone(want)
	if out == nil {
		return current
	}
	maps.Copy(out, current)
	return out
}

func withSubjects(current, want []rbacv1.Subject) []rbacv1.Subject {
	for _, s := range want {
		if !slices.Contains(current, s) {
			current = append(current, s)
		}
	}
	return current
}

func withSelectors(current, want *rbacv1.AggregationRule) *rbacv1.AggregationRule {
	if want == nil {
		return current
	}
	if current == nil {
		current = &rbacv1.AggregationRule{}
	}
	for _, s := range want.ClusterRoleSelectors {
		if !slices.ContainsFunc(current.ClusterRoleSelectors, func(t metav1.LabelSelector) bool { return equality.Semantic.DeepEqual(s, t) }) {
			current.ClusterRoleSelectors = append(current.ClusterRoleSelectors, s)
		}
	}
	return current
}

// PolicyResource returns the resource of a default role or binding.
func PolicyResource(obj api.Object) schema.GroupResource {
	switch obj.(type) {
	case *rbacv1.ClusterRole:
		return rbacv1.Resource("clusterroles")
	case *rbacv1.Role:
		return rbacv1.Resource("roles")
	case *rbacv1.ClusterRoleBinding:
		return rbacv1.Resource("clusterrolebindings")
	}
	return rbacv1.Resource("rolebindings")
}
