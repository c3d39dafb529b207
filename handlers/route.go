package handlers

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// call is a request to a resource after routing.
type call struct {
	w http.ResponseWriter
	r *http.Request
	registry.Target
	// codec is that of the objects in requests and responses, which some subresources have
	// of another kind than the resource.
	codec *representation.Codec
	// offer has the representations of the object that the request addresses.
	offer   representation.Offer
	info    *request.Info
	metrics *metrics
	// span is that of the verb; nil if the request is not traced.
	span  *request.Span
	gates features.Gates
	// uncached is Config.Uncached.
	uncached func(schema.GroupResource) bool
	// broken is the fault of a watch; nil for an ordinary one.
	broken *brokenWatch
	// shuffle is request.Scope.Shuffle.
	shuffle func(n int, swap func(i, j int))
}

// readBody reads the body of the request and observes its size.
func (c *call) readBody() ([]byte, error) {
	data, err := representation.ReadBody(c.w, c.r)
	if err == nil {
		c.metrics.sizes.bodies.WithLabelValues(c.info.Group, c.info.Resource, c.info.Verb).Observe(float64(len(data)))
	}
	if c.span != nil && err == nil {
		c.span.Event("limitedReadBody succeeded", attribute.Int("len", len(data)))
	}
	return data, err
}

// routes returns the handler behind the chain: requests for aggregated servers, for
// resources, and for the paths that describe the API and the server.
func (h *Handler) routes() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		info := &request.From(r.Context()).Info
		if remote := h.Aggregation.ForPath(r.URL.Path); remote != nil {
			if !isForwardable(info) {
				representation.ServeNotFound(w, r)
				return
			}
			h.forwardToRemote(w, r, remote)
			return
		}
		if info.IsResource && !strings.HasPrefix(info.Path, "//") { // a browser takes such a path for another host
			h.serveResource(w, r, info)
			return
		}
		h.description.ServeHTTP(w, r)
	}
}

// serveResource finds the resource and executes the verb.
func (h *Handler) serveResource(w http.ResponseWriter, r *http.Request, info *request.Info) {
	c, err := h.route(w, r, info)
	if err == nil {
		if c.span != nil {
			defer h.endSpan(c)
		}
		if err = h.dispatch(c); err != nil {
			err = h.Registry.StatusError(c.Target, err)
		}
	}
	switch {
	case errors.Is(err, errNoGroup):
		representation.ServeNotFound(w, r)
	case err != nil:
		h.responder.WriteError(w, r, err)
	}
}

// errNoGroup reports that the server does not serve the group, so that the path is unknown.
var errNoGroup = errors.New("group is not served")

// route finds the resource of a request. A path that no verb of the resource has is not
// found; a path of other verbs does not allow the method.
func (h *Handler) route(w http.ResponseWriter, r *http.Request, info *request.Info) (*call, error) {
	gv := schema.GroupVersion{Group: info.Group, Version: info.Version}
	if gv.Group == "" && info.APIPrefix == "apis" {
		return nil, errNoGroup // an empty segment of the path is not the core group
	}
	res, v, ok := h.Catalogue.Lookup(gv, info.Resource)
	if !ok {
		if h.isUnresolved(r.Context(), gv, info) {
			return nil, apierrors.NewInternalError(errors.New("error resolving resource"))
		}
		if _, known := h.Catalogue.Group(gv.Group); !known || !api.KubernetesGroup(gv.Group) {
			return nil, errNoGroup // kube-apiserver has no paths for groups of custom kinds
		}
		return nil, representation.ErrNoResource()
	}
	var subresource api.Subresource
	if info.Subresource != "" {
		subresource = res.Subresource(info.Subresource)
	}
	check := checkPath
	if res.IsCustom() {
		check = checkCustomPath
	}
	scope := request.From(r.Context())
	if err := check(res, v, subresource, info, r.Method); err != nil {
		if res.IsCustom() && v.Deprecated != nil && !errors.Is(err, errNoGroup) {
			scope.Warn(v.Deprecated.Warning) // the version serves the path, if not the subresource or the method
		}
		return nil, err
	}
	scope.Routed = true
	namespace := info.Namespace
	if !res.Namespaced {
		namespace = "" // in the path of a namespace, info has its name as the namespace
	}
	c := &call{
		w: w, r: r, info: info, gates: h.Gates, uncached: h.Uncached, metrics: h.metrics, shuffle: scope.Shuffle,
		codec: h.codecs.Codec(res, v), offer: representation.OfferObject,
		Target: registry.Target{
			Resource: res, Version: v, Namespace: namespace, Name: info.PathName,
			Status: info.Subresource == "status", Sub: subresource,
		},
	}
	field, _ := subresource.(*api.Field)
	if c.Status {
		field = res.Status
	}
	if field != nil && field.NoTable {
		c.offer = representation.OfferReview
	}
	if v.Deprecated != nil && !h.isRefusedByMedia(c) {
		h.reportDeprecated(scope, v.Deprecated)
	}
	if _, connects := subresource.(*api.Connection); connects || res.Virtual != nil { // others are checked when the object is read
		if err := c.CheckName(); err != nil {
			return nil, err
		}
	}
	if kind := api.BodyKind(subresource); kind != nil {
		c.codec = h.codecs.Codec(kind, &kind.Versions[0])
	}
	if scope.Traced {
		c.beginSpan()
	}
	return c, nil
}

// isRefusedByMedia reports whether the request names no media type of a built-in resource, which
// kube-apiserver finds out before it knows which version it serves.
func (h *Handler) isRefusedByMedia(c *call) bool {
	if c.Resource.IsCustom() {
		return false
	}
	offer := c.offer
	if c.info.Verb == api.VerbList || c.info.Watch {
		offer = representation.OfferList
	}
	if !h.responder.AcceptsName(c.r, offer) {
		return true
	}
	if c.info.Verb != api.VerbPatch {
		return false
	}
	_, err := c.patchType(h.codecs.CBOR)
	return err != nil
}

// checkPath returns an error unless a built-in resource serves the path and the
// method.
func checkPath(res *api.Resource, _ *api.Version, subresource api.Subresource, info *request.Info, method string) error {
	forwardsAnyPath := forwardsAnyPath(subresource)
	if len(info.Parts) > 3 && !forwardsAnyPath {
		return representation.ErrNoResource()
	}
	if info.Verb == "proxy" { // no resource has paths of this form any more
		return representation.ErrNoResource()
	}
	allowed := pathVerbs(res, subresource, info)
	hasVerb := func(verb string) bool { return info.Subresource != "" || slices.Contains(res.Verbs, verb) }
	if !slices.ContainsFunc(allowed, hasVerb) {
		return representation.ErrNoResource()
	}
	verb := info.Verb
	switch {
	case method == http.MethodHead, info.WatchPath && method != http.MethodGet:
		verb = method // resources do not serve it on this path
	case verb == api.VerbWatch && !slices.Contains(res.Verbs, api.VerbWatch):
		verb = api.VerbList // dispatch refuses the watch
	}
	if slices.Contains(allowed, verb) && hasVerb(verb) {
		return nil
	}
	if forwardsAnyPath && (method == http.MethodHead || method == http.MethodOptions) {
		return nil
	}
	return representation.ErrMethodNotAllowed()
}

// checkCustomPath is checkPath for custom resources. kube-apiserver has no routes for them
// and checks only the verb: it serves HEAD as GET and any method on a watch path as a watch,
// and ignores the path after a subresource. A path of the wrong scope is not found.
func checkCustomPath(res *api.Resource, v *api.Version, subresource api.Subresource, info *request.Info, _ string) error {
	gr := schema.GroupResource{Group: v.Group, Resource: res.Name}
	if !isInScope(info, res.Namespaced) {
		return errNoGroup
	}
	verbs := onStatus
	switch {
	case info.Subresource == "":
		verbs = append(slices.Clone(onCollection), onObject...)
	case info.Subresource == "status" && res.Status == nil, info.Subresource != "status" && subresource == nil:
		return apierrors.NewNotFound(gr, info.PathName)
	}
	if !slices.Contains(verbs, info.Verb) || info.Subresource == "" && !slices.Contains(res.Verbs, info.Verb) {
		return apierrors.NewMethodNotSupported(gr, info.Verb)
	}
	return nil
}

// isInScope reports whether the path of a request is one of custom objects that are in namespaces or not.
func isInScope(info *request.Info, namespaced bool) bool {
	inNamespace := info.Namespace != ""
	return inNamespace == namespaced || !inNamespace && slices.Contains(acrossNamespace, info.Verb)
}

// isUnresolved reports whether a request is for a custom kind that cannot be served.
func (h *Handler) isUnresolved(ctx context.Context, gv schema.GroupVersion, info *request.Info) bool {
	if h.IsUnresolved == nil {
		return false
	}
	namespaced, ok := h.IsUnresolved(ctx, gv.WithResource(info.Resource))
	return ok && isInScope(info, namespaced)
}

// errNoName returns the error of an update or a patch without a name, which only the paths of
// custom resources allow.
func errNoName() error { return apierrors.NewBadRequest("name must be provided") }

// Verbs of each form of path.
var (
	onCollection    = []string{api.VerbCreate, api.VerbDeleteCollection, api.VerbList, api.VerbWatch}
	acrossNamespace = []string{api.VerbList, api.VerbWatch}
	onObject        = []string{api.VerbDelete, api.VerbGet, api.VerbPatch, api.VerbUpdate}
	onStatus        = []string{api.VerbGet, api.VerbPatch, api.VerbUpdate}
	onWatchPath     = []string{api.VerbWatch}
)

// pathVerbs returns the verbs of a path of info's form; nil if the resource has no such path.
func pathVerbs(res *api.Resource, subresource api.Subresource, info *request.Info) []string {
	inNamespace := info.Namespace != "" && !info.IsNamespace
	switch {
	case inNamespace && !res.Namespaced:
		return nil
	case info.WatchPath:
		if info.Subresource != "" || info.PathName != "" && res.Namespaced && !inNamespace {
			return nil
		}
		return onWatchPath
	case info.Subresource == "status":
		if res.Status == nil || res.Namespaced && !inNamespace {
			return nil
		}
		return onStatus
	case info.Subresource != "":
		if subresource != nil && inNamespace == res.Namespaced {
			_, verbs := subresource.Path()
			return verbs
		}
		return nil
	case info.PathName != "":
		if res.Namespaced && !inNamespace {
			return nil
		}
		return onObject
	case res.Namespaced && !inNamespace:
		return acrossNamespace
	}
	return onCollection
}

// refuseWatch returns the error of a watch of a resource that does not support it. As in kube-apiserver,
// the request is read as a list first.
func (c *call) refuseWatch() error {
	if _, err := c.codec.View(c.r, c.Resource, representation.OfferList); err != nil {
		return err
	}
	o, err := c.listOptions()
	if err == nil {
		_, err = c.selection(o)
	}
	if err != nil {
		return err
	}
	return apierrors.NewMethodNotSupported(schema.GroupResource{Group: c.Version.Group, Resource: c.Resource.Name}, c.info.Verb)
}

// dispatch executes the verb.
func (h *Handler) dispatch(c *call) error {
	if c.info.Verb == api.VerbWatch && !slices.Contains(c.Resource.Verbs, api.VerbWatch) {
		return c.refuseWatch()
	}
	if c.Resource.Virtual != nil {
		return h.serveVirtual(c)
	}
	if to, ok := c.Sub.(*api.Connection); ok {
		return h.connect(c, to)
	}
	if file, ok := c.Sub.(*api.Download); ok {
		return h.download(c, file)
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
