package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	discovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/internal/nearest"
)

// Resource is a resource of a server.
type Resource struct {
	Group, Version, Kind string
	// Name is the plural, such as deployments.
	Name, Singular string
	ShortNames     []string
	Verbs          []string
	Subresources   []string
	Namespaced     bool
}

// String returns the resource with its group, such as deployments.apps.
func (r Resource) String() string {
	return schema.GroupResource{Group: r.Group, Resource: r.Name}.String()
}

// Can reports whether the resource has a verb.
func (r Resource) Can(verb string) bool { return slices.Contains(r.Verbs, verb) }

// aggregated is the media type of aggregated discovery.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// Resources returns the resources of the server in the order of its preference: the core group, then the others; of a
// group the preferred version first.
func (c *Client) Resources(ctx context.Context) ([]Resource, error) {
	if c.resources != nil {
		return c.resources, nil
	}
	var all []Resource
	for _, path := range []string{"/api", "/apis"} {
		data, err := c.Raw(ctx, path, aggregated)
		if err != nil {
			return nil, err
		}
		var list discovery.APIGroupDiscoveryList
		if err := decode(data, &list); err != nil {
			return nil, err
		}
		for _, group := range list.Items {
			for _, version := range group.Versions {
				for i := range version.Resources {
					all = append(all, newResource(group.Name, version.Version, &version.Resources[i]))
				}
			}
		}
	}
	c.resources = all
	return all, nil
}

func newResource(group, version string, d *discovery.APIResourceDiscovery) Resource {
	r := Resource{Group: group, Version: version, Name: d.Resource, Singular: d.SingularResource, ShortNames: d.ShortNames, Verbs: d.Verbs,
		Namespaced: d.Scope == discovery.ScopeNamespace}
	if d.ResponseKind != nil {
		r.Kind = d.ResponseKind.Kind
	}
	for _, sub := range d.Subresources {
		r.Subresources = append(r.Subresources, sub.Subresource)
	}
	return r
}

// Resolve returns the resource that a word of kubectl's means: a plural, a singular, a kind or a short name, alone or with a
// group (deployments.apps) or a version and a group (deployments.v1.apps). If several resources have the word, it is the one
// that the server prefers, as for kubectl; others are the remaining ones.
func (c *Client) Resolve(ctx context.Context, word string) (r Resource, others []Resource, err error) {
	all, err := c.Resources(ctx)
	if err != nil {
		return Resource{}, nil, err
	}
	// Short names come last: kubectl expands them only if no resource has the word.
	for _, matches := range []func(Resource, string) bool{namedFully, namedShort} {
		var found []Resource
		for _, r := range all {
			if selects(word, r, matches) && !slices.ContainsFunc(found, func(f Resource) bool { return f.String() == r.String() }) {
				found = append(found, r)
			}
		}
		if len(found) > 0 {
			return found[0], found[1:], nil
		}
	}
	return Resource{}, nil, unknown(word, all)
}

// selects reports whether a word, perhaps with a group or a version and a group, means a resource.
func selects(word string, r Resource, matches func(Resource, string) bool) bool {
	name, rest, qualified := strings.Cut(strings.ToLower(word), ".")
	if !matches(r, name) {
		return false
	}
	return !qualified || rest == r.Group || rest == r.Version+"."+r.Group || rest == r.Version && r.Group == "" ||
		// As kubectl, the beginning of a group is enough.
		r.Group != "" && strings.HasPrefix(r.Group, rest+".")
}

func namedFully(r Resource, name string) bool {
	return name == r.Name || name == r.Singular || name == strings.ToLower(r.Kind)
}

func namedShort(r Resource, name string) bool { return slices.Contains(r.ShortNames, name) }

func unknown(word string, all []Resource) error {
	var names []string
	for _, r := range all {
		names = append(names, r.Name, r.Singular, r.String())
		names = append(names, r.ShortNames...)
	}
	if near := nearest.Name(strings.ToLower(word), names); near != "" {
		return fmt.Errorf("the server has no resource %q; the nearest is %s", word, near)
	}
	return fmt.Errorf("the server has no resource %q; kubectl api-resources lists those that it has", word)
}

// Object is an object that a user named.
type Object struct {
	Resource
	Namespace, ObjectName string
}

// Target returns where the object is.
func (o Object) Target() Target {
	return Target{Group: o.Group, Version: o.Version, Resource: o.Name, Namespace: o.Namespace, Name: o.ObjectName}
}

// Key returns the object as Changes name it: deployments.apps/default/web, nodes/n.
func (o Object) Key() string {
	key := o.Resource.String() + "/"
	if o.Namespace != "" {
		key += o.Namespace + "/"
	}
	return key + o.ObjectName
}

// Object returns the object that arguments such as "deploy/web" or "deploy web" name. Others are the resources that the
// word could have meant as well.
func (c *Client) Object(ctx context.Context, args []string) (o Object, others []Resource, err error) {
	word, name, found := strings.Cut(args[0], "/")
	switch {
	case found && len(args) == 1:
	case !found && len(args) == 2:
		name = args[1]
	case found:
		return o, nil, fmt.Errorf("one object at a time: %q and %q", args[0], args[1])
	default:
		if _, _, err := c.Resolve(ctx, word); err == nil {
			return o, nil, fmt.Errorf("%q is a kind; which object? as in %s/NAME", word, word)
		}
		return o, nil, fmt.Errorf("%q is not of the form KIND/NAME, such as deployment/web", word)
	}
	if word == "" || name == "" || strings.Contains(name, "/") {
		return o, nil, fmt.Errorf("%q is not of the form KIND/NAME, such as deployment/web", strings.Join(args, " "))
	}
	r, others, err := c.Resolve(ctx, word)
	if err != nil {
		return o, nil, err
	}
	o = Object{Resource: r, ObjectName: name}
	if r.Namespaced {
		o.Namespace = c.Namespace
	}
	return o, others, nil
}
