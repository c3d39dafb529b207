package authz

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// abacV1beta1 is the form of policies; lines without a version are of an older
// one, in which everybody was meant where nobody was named.
const abacV1beta1 = "abac.authorization.kubernetes.io/v1beta1"

// ABAC allows what the lines of a file say, each of which is a policy in JSON.
type ABAC []abacPolicy

// abacPolicy is what one line says: who may do what. Empty strings match nothing
// but what is empty, and "*" everything.
type abacPolicy struct {
	User            string `json:"user"`
	Group           string `json:"group"`
	ReadOnly        bool   `json:"readonly"`
	APIGroup        string `json:"apiGroup"`
	Resource        string `json:"resource"`
	Namespace       string `json:"namespace"`
	NonResourcePath string `json:"nonResourcePath"`
}

// ReadABAC reads a policy file. Lines that are empty or begin with # are left
// out.
func ReadABAC(file string, log *slog.Logger) (ABAC, error) {
	data, err := os.ReadFile(file)
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
		return p, false, err
	}
	switch {
	case typed.APIVersion == abacV1beta1 && typed.Kind == "Policy":
		return typed.Spec.known(), false, nil
	case typed.APIVersion != "" || typed.Kind != "":
		return p, false, fmt.Errorf("no kind %q is known for version %q", typed.Kind, typed.APIVersion)
	}
	err = json.Unmarshal(line, &p)
	return p.upgraded(), true, err
}

// upgraded is a policy of the form without a version in the present one.
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
	return p.known()
}

// known makes of everybody, by user or by group, everybody who is known.
func (p abacPolicy) known() abacPolicy {
	if p.User == "*" || p.Group == "*" {
		p.Group = request.GroupAuthenticated
	}
	return p
}

// Authorize implements Authorizer.
func (a ABAC) Authorize(_ context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	for i := range a {
		if a[i].isFor(user) && a[i].allows(info) {
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
		if !p.isFor(user) || p.Namespace != "*" && p.Namespace != namespace {
			continue
		}
		verbs := []string{"*"}
		if p.ReadOnly {
			verbs = []string{"get", "list", "watch"}
		}
		if p.Resource != "" {
			out.Resources = append(out.Resources, authorizationv1.ResourceRule{Verbs: verbs, APIGroups: []string{p.APIGroup}, Resources: []string{p.Resource}})
		}
		if p.NonResourcePath != "" {
			out.Paths = append(out.Paths, authorizationv1.NonResourceRule{Verbs: verbs, NonResourceURLs: []string{p.NonResourcePath}})
		}
	}
	return out, nil
}

// isFor: a policy that names a user and a group is for that user in that group;
// one that names nobody is for nobody.
func (p *abacPolicy) isFor(user *request.User) bool {
	switch {
	case user == nil, p.User == "" && p.Group == "":
		return false
	case p.User != "" && p.User != "*" && p.User != user.Name:
		return false
	}
	return p.Group == "" || slices.Contains(user.Groups, p.Group)
}

func (p *abacPolicy) allows(info *request.Info) bool {
	if p.ReadOnly && !readOnly(info.Verb) {
		return false
	}
	if !info.IsResource {
		return pathAllowed(p.NonResourcePath, info.Path)
	}
	return (p.Namespace == "*" || p.Namespace == info.Namespace) &&
		(p.Resource == "*" || p.Resource == info.Resource) &&
		(p.APIGroup == "*" || p.APIGroup == info.Group)
}

func readOnly(verb string) bool { return verb == "get" || verb == "list" || verb == "watch" }

func pathAllowed(pattern, path string) bool {
	return pattern == "*" || pattern == path ||
		strings.HasSuffix(pattern, "*") && strings.HasPrefix(path, strings.TrimRight(pattern, "*"))
}
