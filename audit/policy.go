package audit

import (
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/request"
)

// Policy decides how much of each request is recorded. ReadPolicy reads one from a file.
type Policy struct{ rules []rule }

// rule is a rule of a policy with the defaults of the policy applied.
type rule struct {
	policyRule
	decision
}

// decision is the result of a rule for a request about a request.
type decision struct {
	level             request.AuditLevel
	omit              stageSet
	omitManagedFields bool
}

// Stage is a point in the life of a request at which an event is made.
type Stage int

// The stages. StageResponseStarted exists only for requests whose end the client decides,
// such as watches, and StagePanic replaces StageResponseComplete.
const (
	StageRequestReceived Stage = iota
	StageResponseStarted
	StageResponseComplete
	StagePanic
)

// stageNames are the names of the stages in policies and events.
func stageNames() []string {
	return []string{"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"}
}

// String returns the name of the stage.
func (s Stage) String() string { return stageNames()[s] }

// stageSet is a set of stages.
type stageSet uint8

func (s stageSet) has(stage Stage) bool { return s&(1<<stage) != 0 }

// levelNames are the names of the levels in policies, events and metrics.
func levelNames() []string { return []string{"None", "Metadata", "Request", "RequestResponse"} }

// decide returns the decision of the first rule that matches. Requests that no rule matches
// are not recorded.
func (p *Policy) decide(user *request.User, info *request.Info) decision {
	for i := range p.rules {
		if r := &p.rules[i]; r.matches(user, info) {
			return r.decision
		}
	}
	return decision{}
}

func (r *policyRule) matches(user *request.User, info *request.Info) bool {
	switch {
	case len(r.Users) > 0 && (user == nil || !slices.Contains(r.Users, user.Name)):
		return false
	case len(r.UserGroups) > 0 && (user == nil || !containsAny(r.UserGroups, user.Groups)):
		return false
	case len(r.Verbs) > 0 && !slices.Contains(r.Verbs, info.Verb):
		return false
	case len(r.Namespaces) > 0 || len(r.Resources) > 0:
		return info.IsResource && r.matchesResource(info)
	case len(r.NonResourceURLs) > 0:
		return !info.IsResource && slices.ContainsFunc(r.NonResourceURLs,
			func(pattern string) bool { return request.MatchesPath(pattern, info.Path) })
	}
	return true
}

func containsAny(list, wanted []string) bool {
	for _, s := range wanted {
		if slices.Contains(list, s) {
			return true
		}
	}
	return false
}

func (r *policyRule) matchesResource(info *request.Info) bool {
	if len(r.Namespaces) > 0 && !slices.Contains(r.Namespaces, info.Namespace) {
		return false
	}
	for i := range r.Resources {
		if r.Resources[i].matches(info) {
			return true
		}
	}
	return len(r.Resources) == 0
}

func (g *groupResources) matches(info *request.Info) bool {
	switch {
	case g.Group != info.Group && g.Group != "*":
		return false
	case len(g.Resources) == 0:
		return true
	case len(g.ResourceNames) > 0 && !slices.Contains(g.ResourceNames, info.Name):
		return false
	}
	for _, pattern := range g.Resources {
		if matchesResourceName(pattern, info) {
			return true
		}
	}
	return false
}

// matchesResourceName reports whether a pattern matches the resource of a request: "*" all,
// "RESOURCE" the resource itself, "RESOURCE/SUBRESOURCE" a subresource, "RESOURCE/*" the
// resource and all its subresources, and "*/SUBRESOURCE" that subresource of any resource.
func matchesResourceName(pattern string, info *request.Info) bool {
	if pattern == "*" {
		return true
	}
	resource, subresource, ok := strings.Cut(pattern, "/")
	if !ok {
		return pattern == info.Resource && info.Subresource == ""
	}
	switch {
	case resource == info.Resource:
		return subresource == "*" || subresource == info.Subresource && subresource != ""
	case resource == "*":
		return subresource != "" && subresource == info.Subresource
	}
	return false
}
