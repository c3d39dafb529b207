package lab

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/request"
)

// checkMatch returns the errors in a selection of requests with some verbs; nil means that all are possible.
func checkMatch(m *v1alpha1.FaultMatch, verbs []string, at *field.Path) (errs field.ErrorList) {
	if verbs == nil {
		verbs = append(slices.Clone(api.AllVerbs), "proxy")
	}
	for i, verb := range m.Verbs {
		if !slices.Contains(verbs, verb) {
			errs = append(errs, field.NotSupported(at.Child("verbs").Index(i), cut(verb, maxName), verbs))
		}
	}
	for i, name := range m.Servers {
		if names := []string{request.FirstServer, request.SecondServer}; !slices.Contains(names, name) {
			errs = append(errs, field.NotSupported(at.Child("servers").Index(i), cut(name, maxName), names))
		}
	}
	return errs
}

// matchesRequest reports whether m selects a request for a resource with its group and subresource, whoever the user is. Requests for
// the group of the lab are selected only if m names their resource.
func matchesRequest(m *v1alpha1.FaultMatch, r *http.Request, info *request.Info, resource string) bool {
	switch {
	case info.Group == v1alpha1.GroupVersion.Group && !slices.Contains(m.Resources, resource):
		return false // nobody locks himself out
	case len(m.Verbs) > 0 && !slices.Contains(m.Verbs, info.Verb):
		return false
	}
	return matchesAny(m.Names, info.Name) && matchesAny(m.Resources, resource) && matchesAny(m.Namespaces, info.Namespace) &&
		(len(m.UserAgents) == 0 || matchesAny(m.UserAgents, r.UserAgent())) && (len(m.Servers) == 0 || matchesAny(m.Servers, request.ServerOf(r.Context())))
}

// resourceOf returns RESOURCE.GROUP/SUBRESOURCE of a request; empty if it is not for a resource.
func resourceOf(info *request.Info) string {
	out := info.Resource
	if info.Group != "" {
		out += "." + info.Group
	}
	if info.Subresource != "" {
		out += "/" + info.Subresource
	}
	return out
}

// matchesAny reports whether a text is one of a list, whose entries may end in a star. An empty list has all texts.
func matchesAny(list []string, s string) bool {
	for _, pattern := range list {
		last := len(pattern) - 1
		if pattern == s || last >= 0 && pattern[last] == '*' && strings.HasPrefix(s, pattern[:last]) {
			return true
		}
	}
	return len(list) == 0
}
