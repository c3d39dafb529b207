package request

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
)

// Info is what a method and a path ask for, parsed once.
type Info struct {
	// IsResource tells a request under /api/V/RESOURCE or /apis/G/V/RESOURCE
	// from one to any other path, for which only Path and Verb are set.
	IsResource bool
	Path       string
	// Verb is the API verb of a resource request (get, list, watch, create,
	// update, patch, delete, deletecollection, proxy; empty for other methods)
	// and the method in lower case of any other request.
	Verb                        string
	APIPrefix, Group, Version   string
	Namespace                   string
	Resource, Subresource, Name string
	// In a list or a watch Name is that of the one object which its field selector
	// picks; PathName is what the path has.

	// IsNamespace: Namespace is the name of the object itself, since the path
	// leads to a namespace and not into one.
	IsNamespace bool
	// FieldSelector and LabelSelector are what a list, watch or deletecollection
	// is restricted to, as text.
	FieldSelector, LabelSelector string
	// Parts is the path from the resource on, split at its slashes.
	Parts []string
	// Watch is set for a watch, whichever way it was asked for; WatchPath when
	// it was by the deprecated /watch/ paths.
	Watch, WatchPath bool
	// Err says what is wrong with a path that leads nowhere.
	Err error
}

// Subresources of a namespace, which /namespaces/NAME/X could otherwise be
// taken for a resource X in a namespace.
var namespaceSubresources = map[string]bool{"status": true, "finalize": true}

// Parse reads the path and the method of r.
func Parse(r *http.Request) Info {
	info := Info{Path: r.URL.Path, Verb: strings.ToLower(r.Method)}
	parts := split(r.URL.Path)
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
			return Info{Path: r.URL.Path, Verb: strings.ToLower(r.Method),
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
		info.Name = parts[1]
	}
	if len(parts) > 2 {
		info.Subresource = parts[2]
	}
	if info.Name == "" && !info.WatchPath {
		switch info.Verb {
		case "get":
			info.Verb = "list"
			if watchAsked(r.URL) {
				info.Verb, info.Watch = "watch", true
			}
			info.readSelectors(r.URL)
			info.Name = pickedName(info.FieldSelector)
		case "delete":
			info.Verb = "deletecollection"
			info.readSelectors(r.URL)
		}
	}
	return info
}

// PathName is the name of the object that the path leads to, if it leads to one.
func (i *Info) PathName() string {
	if len(i.Parts) > 1 {
		return i.Parts[1]
	}
	return ""
}

func (i *Info) readSelectors(u *url.URL) {
	if !strings.Contains(u.RawQuery, "Selector") {
		return
	}
	q := u.Query()
	i.FieldSelector, i.LabelSelector = q.Get("fieldSelector"), q.Get("labelSelector")
}

// pickedName is the one name that a field selector allows, if it is such.
func pickedName(selector string) string {
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

// verbOf returns the verb of a method on a resource, which is empty for methods that
// resources do not have.
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

// watchAsked tells whether a list is to be a watch. As with all parameters that
// are true or false, any value but "0" and "false" means true.
func watchAsked(u *url.URL) bool {
	if u.RawQuery == "" {
		return false
	}
	v, ok := u.Query()["watch"]
	return ok && v[0] != "0" && !strings.EqualFold(v[0], "false")
}

func split(path string) []string {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}
