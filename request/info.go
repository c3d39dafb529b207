package request

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
)

// Info is the parsed method and path of a request.
type Info struct {
	// IsResource is set for requests under /api/V/RESOURCE or /apis/G/V/RESOURCE. For all
	// others only Path and Verb are set.
	IsResource bool
	Path       string
	// Verb is the API verb of a resource request (get, list, watch, create, update, patch,
	// delete, deletecollection, proxy; empty for other methods), or the method of any other
	// request in lower case.
	Verb                        string
	APIPrefix, Group, Version   string
	Namespace                   string
	Resource, Subresource, Name string
	// PathName is the name in the path. In a list or watch there is none, and Name is the
	// name that the field selector requires.
	PathName string
	// IsNamespace is set if the request is for a Namespace object, whose name is Namespace.
	IsNamespace bool
	// FieldSelector and LabelSelector are the unparsed selectors of a list, watch or
	// deletecollection.
	FieldSelector, LabelSelector string
	// Query has the parameters of the URL; nil if there are none. It is shared by all
	// layers and must not be changed.
	Query url.Values
	// Parts are the segments of the path from the resource on.
	Parts []string
	// Watch is set for a watch, and WatchPath if it was requested by the deprecated /watch/
	// paths.
	Watch, WatchPath bool
	// Connects is set if the request connects the client to a pod, a node or a service, or
	// takes a profile. The client decides when such a request ends.
	Connects bool
	// Err is set if the path is malformed.
	Err error
}

// namespaceSubresources are the subresources of Namespace. Without the list,
// /namespaces/NAME/X would be the resource X in a namespace.
var namespaceSubresources = map[string]bool{"status": true, "finalize": true}

// connectingSubresources are the subresources that connect the client to a pod, a node or a
// service.
var connectingSubresources = []string{"attach", "exec", "proxy", "log", "portforward"}

// Parse parses the path, the method and the selectors of r.
func Parse(r *http.Request) Info {
	info := Info{Path: r.URL.Path, Verb: strings.ToLower(r.Method)}
	info.Connects = strings.HasPrefix(info.Path, "/debug/pprof/")
	if r.URL.RawQuery != "" {
		info.Query = r.URL.Query() // without malformed parameters
	}
	parts := splitPath(r.URL.Path)
	if len(parts) < 3 || (parts[0] != "api" && parts[0] != "apis") {
		return info
	}
	if parts[0] == "apis" && len(parts) < 4 {
		return info
	}
	info.APIPrefix, parts = parts[0], parts[1:]
	if info.APIPrefix == "apis" {
		info.Group, parts = parts[0], parts[1:]
	}
	info.IsResource, info.Version, parts = true, parts[0], parts[1:]
	info.Verb = verbOf(r.Method)
	if parts[0] == "watch" || parts[0] == "proxy" {
		if len(parts) < 2 {
			return Info{Path: r.URL.Path, Verb: strings.ToLower(r.Method), Query: info.Query,
				Err: fmt.Errorf("unable to determine kind and namespace from url, %v", r.URL)}
		}
		info.Verb = parts[0]
		info.WatchPath = parts[0] == "watch"
		info.Watch = info.WatchPath
		parts = parts[1:]
	}
	if parts[0] == "namespaces" {
		if len(parts) > 1 {
			info.Namespace = parts[1]
			info.IsNamespace = true
			if len(parts) > 2 && !namespaceSubresources[parts[2]] {
				parts = parts[2:]
				info.IsNamespace = false
			}
		}
	}
	info.Parts = parts
	info.Resource = parts[0]
	if len(parts) > 1 {
		info.Name, info.PathName = parts[1], parts[1]
	}
	if len(parts) > 2 {
		info.Subresource = parts[2]
	}
	info.Connects = info.Verb == "proxy" || slices.Contains(connectingSubresources, info.Subresource)
	if info.Name == "" && !info.WatchPath {
		switch info.Verb {
		case "get":
			info.Verb = "list"
			if info.isWatchQuery() {
				info.Verb, info.Watch = "watch", true
			}
			info.readSelectors()
			info.Name = requiredName(info.FieldSelector)
		case "delete":
			info.Verb = "deletecollection"
			info.readSelectors()
		}
	}
	return info
}

// IsLongRunning reports whether the client decides when the request ends.
func (i *Info) IsLongRunning() bool { return i.Watch || i.Connects }

func (i *Info) readSelectors() {
	i.FieldSelector, i.LabelSelector = i.Query.Get("fieldSelector"), i.Query.Get("labelSelector")
}

// requiredName returns the name that a field selector requires, or "".
func requiredName(selector string) string {
	if !strings.Contains(selector, "metadata.name") {
		return ""
	}
	s, err := fields.ParseSelector(selector)
	if err != nil {
		return ""
	}
	name, _ := s.RequiresExactMatch("metadata.name")
	if len(content.IsPathSegmentName(name)) > 0 {
		return ""
	}
	return name
}

// verbOf returns the verb of a method on a resource, or "" for methods that resources do not
// support.
func verbOf(method string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodGet, http.MethodHead:
		return "get"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return ""
}

// isWatchQuery reports whether the query turns a list into a watch. As with all
// boolean parameters, any value but "0" and "false" means true.
func (i *Info) isWatchQuery() bool { return BoolParameter(i.Query, "watch") }

// BoolParameter returns the value of a boolean parameter, of which the first counts.
func BoolParameter(query url.Values, name string) bool {
	v := query[name]
	return len(v) > 0 && v[0] != "0" && !strings.EqualFold(v[0], "false")
}

func splitPath(path string) []string {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// MatchesPath reports whether a pattern, which may end in a star, matches a path of a request.
func MatchesPath(pattern, path string) bool {
	return pattern == path || strings.HasSuffix(pattern, "*") && strings.HasPrefix(path, strings.TrimRight(pattern, "*"))
}
