package kubectl

import (
	"fmt"
	"strings"

	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// roleFor returns the YAML of a role and a binding that would allow a request which authorization refused, and nothing more.
func roleFor(r *v1alpha1.Request) (string, error) {
	cause := r.Status.Cause
	if cause != nil && cause.Missing == nil {
		id := shortID(r.Name)
		return "", fmt.Errorf("no role would help: %s refused request %s (see kubectl lab explain %s)", cause.By, id, id)
	}
	if cause == nil {
		return "", fmt.Errorf("request %s was not refused: the server answered %s", shortID(r.Name), answer(r.Status.Code))
	}
	user := r.Spec.User
	if cause.By == v1alpha1.CauseImpersonation && r.Spec.Impersonator != "" {
		user = r.Spec.Impersonator
	}
	m := cause.Missing
	meta := metav1.ObjectMeta{Name: roleName(m, user), Namespace: m.Namespace}
	rules := []rbac.PolicyRule{ruleFor(m)}
	subjects := []rbac.Subject{subjectOf(user)}
	objects := []any{
		rbac.Role{TypeMeta: typeMeta("Role"), ObjectMeta: meta, Rules: rules},
		rbac.RoleBinding{TypeMeta: typeMeta("RoleBinding"), ObjectMeta: meta, Subjects: subjects, RoleRef: roleRef("Role", meta.Name)},
	}
	if m.Namespace == "" {
		objects = []any{
			rbac.ClusterRole{TypeMeta: typeMeta("ClusterRole"), ObjectMeta: meta, Rules: rules},
			rbac.ClusterRoleBinding{TypeMeta: typeMeta("ClusterRoleBinding"), ObjectMeta: meta, Subjects: subjects,
				RoleRef: roleRef("ClusterRole", meta.Name)},
		}
	}
	text := fmt.Sprintf("# allows %q to %s\n", user, permission(m))
	for i, object := range objects {
		data, err := yaml.Marshal(object)
		if err != nil {
			return "", err
		}
		if i > 0 {
			text += "---\n"
		}
		text += string(data)
	}
	return text, nil
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbac.SchemeGroupVersion.String(), Kind: kind}
}

func roleRef(kind, name string) rbac.RoleRef {
	return rbac.RoleRef{APIGroup: rbac.GroupName, Kind: kind, Name: name}
}

// ruleFor returns the rule for a permission.
func ruleFor(m *v1alpha1.MissingPermission) rbac.PolicyRule {
	if m.Resource == "" {
		return rbac.PolicyRule{Verbs: []string{m.Verb}, NonResourceURLs: []string{m.Path}}
	}
	rule := rbac.PolicyRule{Verbs: []string{m.Verb}, APIGroups: []string{m.Group}, Resources: []string{m.Resource}}
	// Authorization does not see the name of an object that is created, so a rule with a name would never allow it.
	if creates := m.Verb == "create" && !strings.Contains(m.Resource, "/"); m.Name != "" && !creates {
		rule.ResourceNames = []string{m.Name}
	}
	return rule
}

// subjectOf returns the subject of a binding for a user.
func subjectOf(user string) rbac.Subject {
	if rest, found := strings.CutPrefix(user, serviceAccounts); found {
		if namespace, name, found := strings.Cut(rest, ":"); found {
			return rbac.Subject{Kind: rbac.ServiceAccountKind, Namespace: namespace, Name: name}
		}
	}
	return rbac.Subject{Kind: rbac.UserKind, APIGroup: rbac.GroupName, Name: user}
}

// roleName returns a name for the role of a permission, which may be that of a file in a URL.
func roleName(m *v1alpha1.MissingPermission, user string) string {
	what := m.Resource
	if what == "" {
		what = m.Path
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.':
			return r
		}
		return '-'
	}, "lab-"+m.Verb+"-"+what+"-"+strings.TrimPrefix(user, serviceAccounts))
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	const longest = 100
	return strings.Trim(name[:min(len(name), longest)], "-.")
}
