package description

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/coldsort"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/proto"
)

// discoveryRoutes adds the discovery documents.
func (h *Handler) discoveryRoutes(m *mux.Router) {
	versions := h.withAggregatedDiscovery(true, h.serveAPIVersions)
	m.HandleFunc("/api", versions).Methods(http.MethodGet)
	m.HandleFunc("/api/", versions).Methods(http.MethodGet)
	// These are served for every method, as by kube-apiserver's aggregation layer, which has the aggregated
	// document at /apis alone.
	m.HandleFunc("/apis", h.withAggregatedDiscovery(false, h.serveGroups))
	m.HandleFunc("/apis/", h.serveGroups)
	for path, serve := range map[string]http.HandlerFunc{
		"/apis/{group}":           h.serveGroup,
		"/apis/{group}/{version}": h.serveResources,
		"/api/{version}":          h.serveResources,
	} {
		m.HandleFunc(path, serve)
		m.HandleFunc(path+"/", serve)
	}
	m.HandleFunc("/apis/{group}//", h.serveGroupOfRouter)
	h.addToIndex("/apis", "/apis/")
}

// serveGroupOfRouter serves a group at a path that kube-apiserver's aggregation layer leaves to its
// router, which serves Kubernetes' own groups for GET alone.
func (h *Handler) serveGroupOfRouter(w http.ResponseWriter, r *http.Request) {
	if _, ok := h.Catalogue.Group(mux.Vars(r)["group"]); ok && api.KubernetesGroup(mux.Vars(r)["group"]) && r.Method != http.MethodGet {
		h.responder.ServeMethodNotAllowed(w, r)
		return
	}
	h.serveGroup(w, r)
}

func (h *Handler) serveAPIVersions(w http.ResponseWriter, r *http.Request) {
	address := h.ExternalAddress
	if address == "" {
		host, port, err := net.SplitHostPort(r.Host)
		if err != nil {
			host, port = r.Host, ""
		}
		address = joinHostPort(host, port)
	}
	h.writeDocument(w, r, representation.OfferDocument, &metav1.APIVersions{
		TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
		Versions: []string{"v1"},
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{
			{ClientCIDR: "0.0.0.0/0", ServerAddress: address},
		},
	})
}

func joinHostPort(host, port string) string {
	if port == "" {
		return host
	}
	return net.JoinHostPort(host, port)
}

func (h *Handler) serveGroups(w http.ResponseWriter, r *http.Request) {
	list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	for _, g := range h.Aggregation.Groups(h.Catalogue.Groups()) {
		if g.Name != "" {
			list.Groups = append(list.Groups, apiGroup(g))
		}
	}
	h.writeDocument(w, r, representation.OfferGroup, list)
}

func (h *Handler) serveGroup(w http.ResponseWriter, r *http.Request) {
	name := mux.Vars(r)["group"]
	g, ok := h.Catalogue.Group(name)
	if g, ok = h.Aggregation.Group(name, g, ok); !ok || g.Name == "" {
		representation.ServeNotFound(w, r)
		return
	}
	group := apiGroup(g)
	group.Kind, group.APIVersion = "APIGroup", "v1"
	h.writeDocument(w, r, representation.OfferGroup, &group)
}

func apiGroup(g api.Group) metav1.APIGroup {
	out := metav1.APIGroup{Name: g.Name}
	for _, gv := range g.Versions {
		out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version})
	}
	out.PreferredVersion = out.Versions[0]
	return out
}

// serveResources lists the resources of a group version. Only Kubernetes' own groups
// restrict the method.
func (h *Handler) serveResources(w http.ResponseWriter, r *http.Request) {
	gv := schema.GroupVersion{Group: mux.Vars(r)["group"], Version: mux.Vars(r)["version"]}
	resources := h.Catalogue.In(gv)
	if g, ok := h.Catalogue.Group(gv.Group); len(resources) == 0 && ok && g.Kubernetes() {
		h.responder.WriteError(w, r, representation.ErrNoResource())
		return
	}
	if len(resources) == 0 {
		representation.ServeNotFound(w, r)
		return
	}
	offer := representation.OfferCustomResources
	if api.KubernetesGroup(gv.Group) {
		if offer = representation.OfferDocument; r.Method != http.MethodGet {
			h.responder.ServeMethodNotAllowed(w, r)
			return
		}
	}
	awaitEstablished(r.Context(), resources)
	list := &metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: gv.String(),
	}
	if gv.Group != "" {
		list.APIVersion = "v1"
	}
	for _, res := range resources {
		entries := apiResources(res)
		if res.IsCustom() || h.Gates.Enabled(features.StorageVersionHash) { // kube-apiserver always has those of custom kinds
			entries[0].StorageVersionHash = api.StorageVersionHash(res)
		}
		list.APIResources = append(list.APIResources, entries...)
	}
	h.writeDocument(w, r, offer, list)
}

// establishWait bounds how long discovery waits for a definition whose status cannot be written.
const establishWait = 10 * time.Second

// awaitEstablished waits until the kinds are established, which they are in the moment after they
// were added to the catalogue.
func awaitEstablished(ctx context.Context, resources []*api.Resource) {
	var bound <-chan time.Time
	for _, res := range resources {
		if res.Custom == nil || res.Custom.Established == nil {
			continue
		}
		select {
		case <-res.Custom.Established:
			continue
		default:
		}
		if bound == nil {
			bound = time.After(establishWait)
		}
		select {
		case <-res.Custom.Established:
		case <-bound:
			return
		case <-ctx.Done():
			return
		}
	}
}

// apiResources returns the discovery entries of a resource and its subresources, that of the resource first.
func apiResources(res *api.Resource) []metav1.APIResource {
	out := []metav1.APIResource{{
		Name: res.Name, SingularName: res.Singular, Namespaced: res.Namespaced, Kind: res.Kind,
		Verbs: slices.Clone(res.DiscoveryVerbs()), ShortNames: res.ShortNames, Categories: res.Categories,
	}}
	if res.Status != nil {
		out = append(out, metav1.APIResource{
			Name: res.Name + "/status", Namespaced: res.Namespaced, Kind: res.Kind,
			Verbs: statusVerbs(),
		})
	}
	for _, subresource := range res.Subresources {
		name, verbs := subresource.Path()
		line := metav1.APIResource{Name: res.Name + "/" + name, Namespaced: res.Namespaced, Kind: res.Kind, Verbs: slices.Clone(verbs)}
		if c, ok := subresource.(*api.Connection); ok && c.Kind != "" {
			line.Kind = c.Kind
		}
		if kind := api.BodyKind(subresource); kind != nil {
			gv := kind.Versions[0]
			line.Kind = kind.Kind
			if gv.Group != res.Versions[0].Group {
				line.Group, line.Version = gv.Group, gv.Version
			}
		}
		out = append(out, line)
	}
	if !res.IsCustom() {
		coldsort.Func(out, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	}
	return out
}

// statusVerbs returns the verbs of the subresource status.
func statusVerbs() []string { return []string{api.VerbGet, api.VerbPatch, api.VerbUpdate} }

// writeDocument sends a document that is not a resource.
func (h *Handler) writeDocument(w http.ResponseWriter, r *http.Request, o representation.Offer, doc interface {
	runtime.Object
	representation.ProtoMessage
}) {
	m, err := h.responder.Negotiate(r, o)
	if err != nil {
		h.responder.WriteError(w, r, err)
		return
	}
	if m.Format == representation.FormatProtobuf {
		if raw, err := doc.Marshal(); err == nil {
			apiVersion, kind := doc.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
			representation.WriteBody(w, http.StatusOK, representation.MediaProtobuf, proto.AppendRaw(nil, apiVersion, kind, raw))
			return
		}
	}
	data, err := json.Marshal(doc)
	if err == nil {
		err = representation.WriteJSON(w, m, http.StatusOK, data)
	}
	if err != nil {
		h.responder.WriteError(w, r, err)
	}
}
