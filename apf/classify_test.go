package apf

import (
	"slices"
	"strings"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/request"
)

// TestDefaultClasses checks the classification of requests by the default configuration.
func TestDefaultClasses(t *testing.T) {
	l := newDefault(t, Options{})
	const auth = request.GroupAuthenticated
	for _, c := range []struct {
		user, groups string
		request      string // verb group/resource/sub namespace, or verb path
		schema       string
		level        string
	}{
		{"admin", "system:masters " + auth, "delete /nodes -", "exempt", "exempt"},
		{"admin", "system:masters " + auth, "get /healthz", "exempt", "exempt"},
		{"kubelet", auth, "get /healthz", "probes", "exempt"},
		{"kubelet", auth, "get /healthz/etcd", "probes", "exempt"},
		{"kubelet", auth, "post /healthz", "global-default", "global-default"},
		{"system:anonymous", "system:unauthenticated", "get /livez", "probes", "exempt"},
		{"system:anonymous", "system:unauthenticated", "get /metrics", "global-default", "global-default"},
		{"system:kube-scheduler", auth, "update coordination.k8s.io/leases kube-system", "system-leader-election", "leader-election"},
		{"system:kube-controller-manager", auth, "get coordination.k8s.io/leases kube-system", "system-leader-election", "leader-election"},
		{"system:kube-controller-manager", auth, "list coordination.k8s.io/leases kube-system", "kube-controller-manager", "workload-high"},
		{"system:serviceaccount:kube-system:generic-garbage-collector", "system:serviceaccounts system:serviceaccounts:kube-system " + auth, "delete /pods ns", "kube-system-service-accounts", "workload-high"},
		{"system:serviceaccount:kube-system:x", "system:serviceaccounts " + auth, "create coordination.k8s.io/leases ns", "system-leader-election", "leader-election"},
		{"system:serviceaccount:default:x", "system:serviceaccounts " + auth, "get /pods ns", "service-accounts", "workload-low"},
		{"system:node:a", "system:nodes " + auth, "patch /nodes/status -", "system-node-high", "node-high"},
		{"system:node:a", "system:nodes " + auth, "update coordination.k8s.io/leases kube-node-lease", "system-node-high", "node-high"},
		{"system:node:a", "system:nodes " + auth, "get /pods ns", "system-nodes", "system"},
		{"system:kube-scheduler", auth, "get /version", "kube-scheduler", "workload-high"},
		{"alice", auth, "get /pods ns", "global-default", "global-default"},
		{"nobody", "", "get /pods ns", "catch-all", "catch-all"},
	} {
		u := &request.User{Name: c.user, Groups: strings.Fields(c.groups)}
		s := l.current.Load().match(u, infoOf(c.request))
		if s.name != c.schema || s.level.name != c.level {
			t.Errorf("%s of %s: %s, %s; want %s, %s", c.request, c.user, s.name, s.level.name, c.schema, c.level)
		}
	}
}

// infoOf parses "verb path" or "verb group/resource/subresource namespace".
func infoOf(text string) *request.Info {
	f := strings.Fields(text)
	if len(f) == 2 {
		return &request.Info{Verb: f[0], Path: f[1]}
	}
	info := &request.Info{IsResource: true, Verb: f[0], Namespace: strings.TrimPrefix(f[2], "-")}
	parts := append(strings.Split(f[1], "/"), "", "")
	info.Group, info.Resource, info.Subresource = parts[0], parts[1], parts[2]
	return info
}

// TestClassifier compares the classifier with a linear search through all schemas.
func TestClassifier(t *testing.T) {
	words := func(t *rapid.T, label string, of ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 1, 2, rapid.ID[string]).Draw(t, label)
	}
	subject := rapid.Custom(func(t *rapid.T) flowcontrolv1.Subject {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return userSubject(rapid.SampledFrom([]string{"*", "a", "b", "system:serviceaccount:ns:x"}).Draw(t, "user"))
		case 1:
			return groupSubject(rapid.SampledFrom([]string{"*", "g", "h"}).Draw(t, "group"))
		}
		return serviceAccountSubject(rapid.SampledFrom([]string{"ns", "other"}).Draw(t, "ns"), rapid.SampledFrom([]string{"*", "x"}).Draw(t, "name"))
	})
	rule := rapid.Custom(func(t *rapid.T) flowcontrolv1.PolicyRulesWithSubjects {
		r := flowcontrolv1.PolicyRulesWithSubjects{Subjects: rapid.SliceOfN(subject, 1, 2).Draw(t, "subjects")}
		for range rapid.IntRange(0, 2).Draw(t, "resources") {
			r.ResourceRules = append(r.ResourceRules, flowcontrolv1.ResourcePolicyRule{
				Verbs: words(t, "verbs", "*", "get", "list"), APIGroups: words(t, "groups", "*", "", "apps"),
				Resources:  words(t, "resources", "*", "pods", "pods/status", "nodes"),
				Namespaces: words(t, "namespaces", "*", "ns"), ClusterScope: rapid.Bool().Draw(t, "cluster"),
			})
		}
		for range rapid.IntRange(0, 1).Draw(t, "paths") {
			r.NonResourceRules = append(r.NonResourceRules, flowcontrolv1.NonResourcePolicyRule{
				Verbs: words(t, "verbs", "*", "get"), NonResourceURLs: words(t, "urls", "*", "/a", "/a/*")})
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		var schemas []*flowcontrolv1.FlowSchema
		for i := range rapid.IntRange(0, 90).Draw(t, "schemas") {
			schemas = append(schemas, newFlowSchema(string(rune('a'+i%26))+strings.Repeat("x", i/26), "exempt", rapid.Int32Range(2, 6).Draw(t, "precedence"), "",
				rapid.SliceOfN(rule, 0, 2).Draw(t, "rules")...))
		}
		l, err := New(Options{Seats: 1})
		if err != nil {
			t.Fatal(err)
		}
		l.Configure(schemas, nil)
		u := &request.User{
			Name:   rapid.SampledFrom([]string{"a", "c", "system:serviceaccount:ns:x", "system:serviceaccount:ns:y", "system:serviceaccount:ns:x:y", "system:serviceaccount:ns:"}).Draw(t, "user"),
			Groups: rapid.SliceOf(rapid.SampledFrom([]string{"g", "h", "i", request.GroupMasters})).Draw(t, "groups"),
		}
		info := infoOf(rapid.SampledFrom([]string{"get /pods ns", "list /pods -", "get /pods/status ns", "get apps/pods other", "watch /nodes -", "get /a", "get /a/b", "post /a"}).Draw(t, "request"))
		_, all := withMandatory(nil, schemas)
		want := flowcontrolv1.FlowSchemaNameCatchAll
		if i := slices.IndexFunc(all, func(s *flowcontrolv1.FlowSchema) bool { return matchesReference(s, u, info) }); i >= 0 {
			want = all[i].Name
		}
		if got := l.current.Load().match(u, info); got.name != want {
			t.Fatalf("got %s, want %s", got.name, want)
		}
	})
}

// matchesReference is the reference implementation of matching.
func matchesReference(s *flowcontrolv1.FlowSchema, u *request.User, info *request.Info) bool {
	in := func(list []string, values ...string) bool {
		return slices.ContainsFunc(append(values, "*"), func(v string) bool { return slices.Contains(list, v) })
	}
	fits := func(s flowcontrolv1.Subject) bool {
		switch s.Kind {
		case flowcontrolv1.SubjectKindUser:
			return s.User.Name == "*" || s.User.Name == u.Name
		case flowcontrolv1.SubjectKindGroup:
			return s.Group.Name == "*" || slices.Contains(u.Groups, s.Group.Name)
		}
		parts := strings.Split(u.Name, ":")
		return len(parts) == 4 && strings.HasPrefix(u.Name, "system:serviceaccount:") && parts[3] != "" &&
			parts[2] == s.ServiceAccount.Namespace && (s.ServiceAccount.Name == "*" || s.ServiceAccount.Name == parts[3])
	}
	for _, r := range s.Spec.Rules {
		if !slices.ContainsFunc(r.Subjects, fits) {
			continue
		}
		resource := info.Resource
		if info.Subresource != "" {
			resource += "/" + info.Subresource
		}
		for _, rr := range r.ResourceRules {
			if info.IsResource && in(rr.Verbs, info.Verb) && in(rr.APIGroups, info.Group) && in(rr.Resources, resource) &&
				(info.Namespace == "" && rr.ClusterScope || info.Namespace != "" && in(rr.Namespaces, info.Namespace)) {
				return true
			}
		}
		for _, nr := range r.NonResourceRules {
			if !info.IsResource && in(nr.Verbs, info.Verb) && (in(nr.NonResourceURLs, info.Path) ||
				in(nr.NonResourceURLs, "/a", "/a/*") && strings.HasPrefix(info.Path, "/a/")) {
				return true
			}
		}
	}
	return false
}
