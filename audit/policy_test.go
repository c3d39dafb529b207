package audit

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/request"
)

func mustParse(t testing.TB, text string) *Policy {
	t.Helper()
	p, faults, err := parsePolicy([]byte(text))
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	return p
}

func policyOf(rules string) string {
	return "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n" + rules
}

// TestDecide checks which rule decides about a request.
func TestDecide(t *testing.T) {
	pod := request.Info{IsResource: true, Verb: "get", Namespace: "ns", Version: "v1", Resource: "pods", Name: "p"}
	with := func(change func(*request.Info)) request.Info {
		info := pod
		change(&info)
		return info
	}
	log := with(func(i *request.Info) { i.Subresource = "log" })
	role := request.Info{IsResource: true, Verb: "update", Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles", Name: "edit"}
	path := request.Info{Verb: "get", Path: "/logs/kubelet.log"}
	jane := &request.User{Name: "jane", Groups: []string{"dev", "qa"}}
	for _, c := range []struct {
		rule string
		user *request.User
		info request.Info
		want bool
	}{
		{`{level: Metadata}`, nil, pod, true},
		{`{level: Metadata, users: [jane]}`, jane, pod, true},
		{`{level: Metadata, users: [tim]}`, jane, pod, false},
		{`{level: Metadata, users: [jane]}`, nil, pod, false},
		{`{level: Metadata, userGroups: [ops, qa]}`, jane, pod, true},
		{`{level: Metadata, userGroups: [ops]}`, jane, pod, false},
		{`{level: Metadata, userGroups: [dev]}`, nil, pod, false},
		{`{level: Metadata, verbs: [list, get]}`, jane, pod, true},
		{`{level: Metadata, verbs: [list]}`, jane, pod, false},
		{`{level: Metadata, namespaces: [ns]}`, jane, pod, true},
		{`{level: Metadata, namespaces: [other]}`, jane, pod, false},
		{`{level: Metadata, namespaces: [""]}`, jane, pod, false},
		{`{level: Metadata, namespaces: [""]}`, jane, role, true},
		{`{level: Metadata, namespaces: [""]}`, jane, path, false},
		{`{level: Metadata, resources: [{}]}`, jane, pod, true},
		{`{level: Metadata, resources: [{}]}`, jane, role, false},
		{`{level: Metadata, resources: [{group: "*"}]}`, jane, role, true},
		{`{level: Metadata, resources: [{}]}`, jane, path, false},
		{`{level: Metadata, resources: [{resources: [pods]}]}`, jane, pod, true},
		{`{level: Metadata, resources: [{resources: [pods]}]}`, jane, log, false},
		{`{level: Metadata, resources: [{resources: [pods/log]}]}`, jane, log, true},
		{`{level: Metadata, resources: [{resources: [pods/status]}]}`, jane, log, false},
		{`{level: Metadata, resources: [{resources: ["pods/*"]}]}`, jane, log, true},
		{`{level: Metadata, resources: [{resources: ["pods/*"]}]}`, jane, pod, true},
		{`{level: Metadata, resources: [{resources: ["*/log"]}]}`, jane, log, true},
		{`{level: Metadata, resources: [{resources: ["*/log"]}]}`, jane, pod, false},
		{`{level: Metadata, resources: [{resources: ["*/*"]}]}`, jane, log, false},
		{`{level: Metadata, resources: [{resources: ["*"]}]}`, jane, log, true},
		{`{level: Metadata, resources: [{resources: [services]}, {resources: [pods]}]}`, jane, pod, true},
		{`{level: Metadata, resources: [{resources: [pods], resourceNames: [p]}]}`, jane, pod, true},
		{`{level: Metadata, resources: [{resources: [pods], resourceNames: [q]}]}`, jane, pod, false},
		{`{level: Metadata, nonResourceURLs: ["/logs*"]}`, jane, path, true},
		{`{level: Metadata, nonResourceURLs: ["/logs/*"]}`, jane, path, true},
		{`{level: Metadata, nonResourceURLs: ["/logs"]}`, jane, path, false},
		{`{level: Metadata, nonResourceURLs: ["/logs/kubelet.log"]}`, jane, path, true},
		{`{level: Metadata, nonResourceURLs: ["*"]}`, jane, path, true},
		{`{level: Metadata, nonResourceURLs: ["*"]}`, jane, pod, false},
	} {
		got := mustParse(t, policyOf("- "+c.rule)).decide(c.user, &c.info)
		if (got.level == request.AuditMetadata) != c.want {
			t.Errorf("%s: level %d for %+v", c.rule, got.level, c.info)
		}
	}
}

// TestFirstRuleDecides checks the order of rules, and what the policy adds to each.
func TestFirstRuleDecides(t *testing.T) {
	p := mustParse(t, `{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], omitManagedFields: true, rules: [
		{level: None, users: [a]},
		{level: Request, users: [a, b], omitStages: [Panic], omitManagedFields: false},
		{level: RequestResponse}]}`)
	for user, want := range map[string]decision{
		"a": {request.AuditNone, 1 << StageRequestReceived, true},
		"b": {request.AuditRequest, 1<<StageRequestReceived | 1<<StagePanic, false},
		"c": {request.AuditRequestResponse, 1 << StageRequestReceived, true},
	} {
		if got := p.decide(&request.User{Name: user}, &request.Info{}); got != want {
			t.Errorf("%s: got %+v, want %+v", user, got, want)
		}
	}
	if got := mustParse(t, policyOf("- {level: Request, users: [a]}")).decide(nil, &request.Info{}); got.level != request.AuditNone {
		t.Errorf("without a rule: level %d", got.level)
	}
}

// TestPolicyErrors checks the messages for invalid policies.
func TestPolicyErrors(t *testing.T) {
	for text, want := range map[string]string{
		"rules: [{level: Metadata}]": "failed decoding: Object 'Kind' is missing in 'rules: [{level: Metadata}]'",
		"kind: Policy":               "failed decoding: Object 'apiVersion' is missing in 'kind: Policy'",
		"{kind: Policy, apiVersion: audit.k8s.io/v1beta1}": `failed decoding: no kind "Policy" is registered for version "audit.k8s.io/v1beta1"`,
		"{kind: Event, apiVersion: audit.k8s.io/v1}":       `failed decoding: no kind "Event" is registered for version "audit.k8s.io/v1"`,
		"a: [":                    "failed decoding: yaml:",
		"[1]":                     "failed decoding: couldn't get version/kind",
		policyOf("  level: None"): "failed decoding: json: cannot unmarshal",
		"{kind: Policy, apiVersion: audit.k8s.io/v1}":                       "loaded illegal policy with 0 rules",
		policyOf("- {level: Metadata}\n- {}"):                               `rules[1].level: Required value`,
		policyOf("- {level: All}"):                                          `rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse"`,
		policyOf("- {level: None, nonResourceURLs: [a, /b*c]}"):             `[rules[0].nonResourceURLs[0]: Invalid value: "a": non-resource URL rules must begin with a '/' character, rules[0].nonResourceURLs[1]: Invalid value: "/b*c": non-resource URL wildcards '*' must be the final character of the rule]`,
		policyOf("- {level: None, nonResourceURLs: [/a], namespaces: [b]}"): `rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs`,
		policyOf("- {level: None, resources: [{group: a/v1}]}"):             `rules[0].resources.group: Invalid value: "a/v1": a lowercase RFC 1123 subdomain must consist of`,
		policyOf("- {level: None, resources: [{resourceNames: [a]}]}"):      `rules[0].resources.resourceNames: Invalid value: ["a"]: using resourceNames requires at least one resource`,
		policyOf("- {level: None, omitStages: [Panic, End]}"):               `rules[0].omitStages[1]: Invalid value: "End": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic`,
		"{kind: Policy, apiVersion: audit.k8s.io/v1, omitStages: [End]}":    `omitStages[0]: Invalid value: "End"`,
	} {
		_, _, err := parsePolicy([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
	if _, _, err := ReadPolicy("testdata/none.yaml"); err == nil || !strings.Contains(err.Error(), `failed to read file path "testdata/none.yaml"`) {
		t.Errorf("missing file: %v", err)
	}
}

// TestPolicyFaults checks that unknown and duplicate fields are reported but no error.
func TestPolicyFaults(t *testing.T) {
	p, faults, err := parsePolicy([]byte(policyOf("- {level: Metadata, level: None, usres: [a]}")))
	if err != nil || len(p.rules) != 1 || len(faults) != 2 {
		t.Fatal(err, faults)
	}
	if !strings.Contains(faults[1].Error(), `unknown field "rules[0].usres"`) {
		t.Error(faults)
	}
}

// FuzzPolicy checks that no text makes the parser panic, and that an accepted policy decides about a request.
func FuzzPolicy(f *testing.F) {
	f.Add([]byte(policyOf("- {level: Request, users: [a], resources: [{group: \"*\", resources: [\"*/a\"]}], omitStages: [Panic]}")), "a", "b", "c")
	f.Fuzz(func(t *testing.T, text []byte, user, resource, subresource string) {
		p, _, err := parsePolicy(text)
		if err != nil {
			return
		}
		if len(p.rules) == 0 {
			t.Error("a policy without rules")
		}
		p.decide(&request.User{Name: user}, &request.Info{IsResource: true, Resource: resource, Subresource: subresource})
		p.decide(nil, &request.Info{Path: resource})
	})
}
