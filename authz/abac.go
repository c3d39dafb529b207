package authz

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/request"
)

// abacV1beta1 is the API version of policies. Policies without a version use an older format in
// which a policy without a user and group applied to all users.
const abacV1beta1 = "abac.authorization.kubernetes.io/v1beta1"

// ABAC authorizes requests by the policies in a file, one JSON object per line.
type ABAC []abacPolicy

// abacPolicy allows requests of a user or group. An empty string matches only the empty string, "*"
// matches all.
type abacPolicy struct {
	User            string `json:"user"`
	Group           string `json:"group"`
	ReadOnly        bool   `json:"readonly"`
	APIGroup        string `json:"apiGroup"`
	Resource        string `json:"resource"`
	Namespace       string `json:"namespace"`
	NonResourcePath string `json:"nonResourcePath"`
}

// readABAC reads a policy file and skips empty lines and lines that start with #.
func readABAC(file string, log *slog.Logger) (ABAC, error) {
	data, err := configfile.Read(file)
	if err != nil {
		return nil, err
	}
	var policies ABAC
	unversioned := 0
	n := 0
	for line := range bytes.Lines(data) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		p, old, err := readABACLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if old {
			unversioned++
		}
		policies = append(policies, p)
	}
	if unversioned > 0 && log != nil {
		log.Warn("policies without a version are deprecated", "file", file, "lines", unversioned)
	}
	return policies, nil
}

func readABACLine(line []byte) (p abacPolicy, old bool, err error) {
	var typed struct {
		APIVersion string     `json:"apiVersion"`
		Kind       string     `json:"kind"`
		Spec       abacPolicy `json:"spec"`
	}
	if err := json.Unmarshal(line, &typed); err != nil {
		return p, false, fmt.Errorf("not a policy in JSON: %w", err)
	}
	switch {
	case typed.APIVersion == abacV1beta1 && typed.Kind == "Policy":
		return typed.Spec.withAuthenticatedGroup(), false, nil
	case typed.APIVersion != "" || typed.Kind != "":
		return p, false, fmt.Errorf("no kind %q is registered for version %q", typed.Kind, typed.APIVersion)
	}
	err = json.Unmarshal(line, &p)
	return p.upgraded(), true, err
}

// upgraded converts an unversioned policy to v1beta1.
func (p abacPolicy) upgraded() abacPolicy {
	if p.User == "" && p.Group == "" {
		p.Group = request.GroupAuthenticated
	}
	if p.Namespace == "" && p.Resource == "" {
		p.NonResourcePath = "*"
	}
	if p.Namespace == "" {
		p.Namespace = "*"
	}
	if p.Resource == "" {
		p.Resource = "*"
	}
	p.APIGroup = "*"
	return p.withAuthenticatedGroup()
}

// withAuthenticatedGroup replaces the user or group "*" by the group system:authenticated, so that
// no policy matches anonymous users.
func (p abacPolicy) withAuthenticatedGroup() abacPolicy {
	if p.User == "*" || p.Group == "*" {
		p.Group = request.GroupAuthenticated
	}
	return p
}

// Authorize implements Authorizer.
func (a ABAC) Authorize(_ context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	for i := range a {
		if a[i].appliesTo(user) && a[i].allows(info) {
			return Allow, "", nil
		}
	}
	return NoOpinion, "No policy matched.", nil
}

// RulesFor implements RuleResolver.
func (a ABAC) RulesFor(_ context.Context, user *request.User, namespace string) (Rules, error) {
	var out Rules
	for i := range a {
		p := &a[i]
		if !p.appliesTo(user) || p.Namespace != "*" && p.Namespace != namespace {
			continue
		}
		verbs := []string{"*"}
		if p.ReadOnly {
			verbs = []string{"get", "list", "watch"}
		}
		if p.Resource != "" {
			out.Resources = append(out.Resources,
				authorizationv1.ResourceRule{Verbs: verbs, APIGroups: []string{p.APIGroup},
					Resources: []string{p.Resource}})
		}
		if p.NonResourcePath != "" {
			out.Paths = append(out.Paths, authorizationv1.NonResourceRule{Verbs: verbs, NonResourceURLs: []string{p.NonResourcePath}})
		}
	}
	return out, nil
}

// appliesTo reports whether the policy applies to a user. A policy with a user and a group requires
// both; one with neither applies to nobody.
func (p *abacPolicy) appliesTo(user *request.User) bool {
	switch {
	case user == nil, p.User == "" && p.Group == "":
		return false
	case p.User != "" && p.User != "*" && p.User != user.Name:
		return false
	}
	return p.Group == "" || slices.Contains(user.Groups, p.Group)
}

func (p *abacPolicy) allows(info *request.Info) bool {
	if p.ReadOnly && !isReadOnlyVerb(info.Verb) {
		return false
	}
	if !info.IsResource {
		return request.MatchesPath(p.NonResourcePath, info.Path)
	}
	return (p.Namespace == "*" || p.Namespace == info.Namespace) &&
		(p.Resource == "*" || p.Resource == info.Resource) &&
		(p.APIGroup == "*" || p.APIGroup == info.Group)
}

func isReadOnlyVerb(verb string) bool { return verb == "get" || verb == "list" || verb == "watch" }
