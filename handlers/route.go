package handlers

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// call is a request to a resource, routed.
type call struct {
	w http.ResponseWriter
	r *http.Request
	registry.Target
	// codec is for what goes in and out, which at some subresources is not an
	// object of the resource.
	codec *representation.Codec
	info  *request.Info
}

// serveResource finds the resource and does what the verb asks.
func (h *Handler) serveResource(w http.ResponseWriter, r *http.Request, info *request.Info) {
	c, err := h.route(w, r, info)
	if err == nil {
		err = h.Registry.StatusError(c.Target, h.dispatch(c))
	}
	switch {
	case errors.Is(err, errNoGroup):
		representation.ServeNotFound(w, r)
	case err != nil:
		h.responder.WriteError(w, r, err)
	}
}

// errNoGroup: nothing is served under the group, so that the path is as unknown
// as any other.
var errNoGroup = errors.New("group is not served")

// route looks up what info names. A path that no verb of the resource has is
// unknown; one that only other verbs have does not allow the method.
func (h *Handler) route(w http.ResponseWriter, r *http.Request, info *request.Info) (*call, error) {
	gv := schema.GroupVersion{Group: info.Group, Version: info.Version}
	res, v, ok := h.Catalogue.Lookup(gv, info.Resource)
	if _, known := h.Catalogue.Group(gv.Group); !ok && !known {
		return nil, errNoGroup
	}
	if !ok && !api.KubernetesGroup(gv.Group) {
		return nil, errNoGroup // of groups that arrived at run time, nothing more is known
	}
	if !ok {
		return nil, representation.ErrNoResource()
	}
	check := checkPath
	if res.Untyped {
		check = checkCustomPath
	}
	if err := check(res, v, info, r.Method); err != nil {
		return nil, err
	}
	request.From(r.Context()).Routed = true
	// The path of a create may have a name, which the object need not have.
	if name := info.PathName(); name != "" && info.Verb != api.VerbCreate {
		if faults := content.IsPathSegmentName(name); len(faults) > 0 {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", name, faults[0]))
		}
	}
	h.reportDeprecated(r, res, v, info)
	c := &call{w: w, r: r, info: info, codec: h.codecs.Codec(res, v), Target: registry.Target{
		Resource: res, Version: v, Namespace: namespaceOf(res, info), Name: info.PathName(),
		Status: info.Subresource == "status", Sub: res.Subresource(info.Subresource),
	}}
	if c.Sub != nil && c.Sub.Kind != nil {
		c.codec = h.codecs.Codec(c.Sub.Kind, &c.Sub.Kind.Versions[0])
	}
	return c, nil
}

// checkPath returns an error unless a built-in resource serves the path and the
// method.
func checkPath(res *api.Resource, _ *api.Version, info *request.Info, method string) error {
	forwardsAnyPath := forwardsAnyPath(res.Subresource(info.Subresource))
	if len(info.Parts) > 3 && !forwardsAnyPath {
		return representation.ErrNoResource()
	}
	allowed := pathVerbs(res, info)
	if len(allowed) == 0 {
		return representation.ErrNoResource()
	}
	verb := verbOnPath(res, info, method)
	if contains(allowed, verb) && (info.Subresource != "" || has(res, verb)) {
		return nil
	}
	if forwardsAnyPath && (method == http.MethodHead || method == http.MethodOptions) {
		return nil
	}
	return representation.ErrMethodNotAllowed()
}

// checkCustomPath is checkPath for custom resources. kube-apiserver has no routes
// for them and goes by the verb: HEAD is served as GET, any method on a watch path
// is a watch, and whatever follows a subresource does not matter. A path of the
// wrong scope is as unknown as any other.
func checkCustomPath(res *api.Resource, v *api.Version, info *request.Info, _ string) error {
	gr := schema.GroupResource{Group: v.Group, Resource: res.Name}
	if inNamespace := info.Namespace != ""; inNamespace != res.Namespaced && (inNamespace || !contains(acrossNamespace, info.Verb)) {
		return errNoGroup
	}
	verbs := onStatus
	switch {
	case info.Subresource == "":
		verbs = append(slices.Clone(onCollection), onObject...)
	case info.Subresource == "status" && !res.Status.Served, info.Subresource != "status" && res.Subresource(info.Subresource) == nil:
		return apierrors.NewNotFound(gr, info.PathName())
	}
	if !contains(verbs, info.Verb) {
		return apierrors.NewMethodNotSupported(gr, info.Verb)
	}
	return nil
}

// errNoName is the answer to an update or a patch without a name, which only the
// paths of custom resources allow.
func errNoName() error { return apierrors.NewBadRequest("name must be provided") }

// namespaceOf is the namespace of what is asked for. In the path of a namespace
// itself its name stands where that of other objects' namespace does.
func namespaceOf(res *api.Resource, info *request.Info) string {
	if !res.Namespaced {
		return ""
	}
	return info.Namespace
}

// Verbs that a path can have, by its form.
var (
	onCollection    = []string{api.VerbCreate, api.VerbDeleteCollection, api.VerbList, api.VerbWatch}
	acrossNamespace = []string{api.VerbList, api.VerbWatch}
	onObject        = []string{api.VerbDelete, api.VerbGet, api.VerbPatch, api.VerbUpdate}
	onStatus        = []string{api.VerbGet, api.VerbPatch, api.VerbUpdate}
	onWatchPath     = []string{api.VerbWatch}
)

// pathVerbs are the verbs that resources may have on a path of info's form.
func pathVerbs(res *api.Resource, info *request.Info) []string {
	inNamespace := info.Namespace != "" && !info.IsNamespace
	switch {
	case inNamespace && !res.Namespaced:
		return nil
	case info.WatchPath:
		if info.Subresource != "" || info.PathName() != "" && res.Namespaced && !inNamespace || !has(res, api.VerbWatch) {
			return nil
		}
		return onWatchPath
	case info.Subresource == "status":
		if !res.Status.Served || res.Namespaced && !inNamespace {
			return nil
		}
		return onStatus
	case info.Subresource != "":
		if s := res.Subresource(info.Subresource); s != nil && inNamespace == res.Namespaced {
			return s.Verbs
		}
		return nil
	case info.PathName() != "":
		if res.Namespaced && !inNamespace {
			return nil
		}
		return kept(res, onObject)
	case res.Namespaced && !inNamespace:
		return kept(res, acrossNamespace)
	}
	return kept(res, onCollection)
}

// kept leaves those of verbs that res has at all; nil when it has none.
func kept(res *api.Resource, verbs []string) []string {
	for _, v := range verbs {
		if has(res, v) {
			return verbs
		}
	}
	return nil
}

func has(res *api.Resource, verb string) bool {
	if res.Verbs == nil {
		return true
	}
	return contains(res.Verbs, verb)
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// verbOnPath is the verb of the method, or one that no path has: HEAD means get
// elsewhere, but on resources it is not served, and what watch paths serve is
// read with GET only.
//
// A watch of a resource that can only be listed is refused later, as a list.
func verbOnPath(res *api.Resource, info *request.Info, method string) string {
	if method == http.MethodHead || info.WatchPath && method != http.MethodGet {
		return method
	}
	if info.Verb == api.VerbWatch && !has(res, api.VerbWatch) {
		return api.VerbList
	}
	return info.Verb
}

// dispatch does what the verb asks.
func (h *Handler) dispatch(c *call) error {
	if c.info.Verb == api.VerbWatch && !has(c.Resource, api.VerbWatch) {
		return apierrors.NewMethodNotSupported(schema.GroupResource{Group: c.Version.Group, Resource: c.Resource.Name}, c.info.Verb)
	}
	if c.Resource.Virtual != nil {
		return h.serveVirtual(c)
	}
	if c.Sub.Connects() {
		return h.connect(c)
	}
	switch c.info.Verb {
	case api.VerbGet:
		return h.get(c)
	case api.VerbList:
		return h.list(c)
	case api.VerbWatch:
		return h.watch(c)
	case api.VerbCreate:
		if c.Sub != nil {
			return h.post(c)
		}
		return h.create(c)
	case api.VerbUpdate:
		return h.update(c)
	case api.VerbPatch:
		return h.patch(c)
	case api.VerbDelete:
		return h.delete(c)
	case api.VerbDeleteCollection:
		return h.deleteCollection(c)
	}
	return representation.ErrMethodNotAllowed()
}
