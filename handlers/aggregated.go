package handlers

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/proto"
)

// Aggregated discovery tells all groups of a path in one document, so that a
// client need not ask for each.
const (
	aggregatedKind  = "APIGroupDiscoveryList"
	aggregatedGroup = "apidiscovery.k8s.io"
	aggregatedParam = ";g=" + aggregatedGroup + ";v=v2;as=" + aggregatedKind
)

// aggregated is one such document with its encodings, made once for each state
// of the catalogue.
type aggregated struct {
	state       discoveryState
	json, proto []byte
	etag        string
}

// aggregatedWanted tells whether a client prefers the document, and in which
// format.
func aggregatedWanted(r *http.Request) (format, bool) {
	for _, c := range parseAccept(r.Header.Get("Accept")) {
		f, ok := formats[c.name]
		switch {
		case ok && c.params["as"] == aggregatedKind && c.params["g"] == aggregatedGroup && c.params["v"] == "v2":
			return f, f != formatYAML
		case ok && c.params["as"] == "", c.name == "*/*":
			return f, false
		}
	}
	return formatJSON, false
}

// discoveryState is what an aggregated document was made of.
type discoveryState struct {
	catalogue any
	remotes   uint64
}

// orAggregated serves the aggregated document of the core group, or of all others,
// or what next serves to clients that do not ask for it.
func (h *Handler) orAggregated(core bool, next http.HandlerFunc) http.HandlerFunc {
	var kept atomic.Pointer[aggregated]
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		f, ok := aggregatedWanted(r)
		if !ok {
			next(w, r)
			return
		}
		doc := kept.Load()
		if state := (discoveryState{h.Catalogue.State(), h.Aggregation.State()}); doc == nil || doc.state != state {
			var err error
			if doc, err = h.aggregate(state, core); err != nil {
				h.fail(w, r, err)
				return
			}
			kept.Store(doc)
		}
		w.Header().Set("ETag", doc.etag)
		w.Header().Set("Cache-Control", "public")
		switch {
		case r.Header.Get("If-None-Match") == doc.etag:
			w.WriteHeader(http.StatusNotModified)
		case f == formatProtobuf:
			writeBody(w, http.StatusOK, mediaProtobuf+aggregatedParam, doc.proto)
		default:
			writeBody(w, http.StatusOK, mediaJSON+aggregatedParam, doc.json)
		}
	}
}

func (h *Handler) aggregate(state discoveryState, core bool) (*aggregated, error) {
	list := &v2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: aggregatedKind, APIVersion: v2.SchemeGroupVersion.String()}}
	for _, g := range h.Catalogue.Groups() {
		if (g.Name == "") == core {
			list.Items = append(list.Items, h.aggregateGroup(g))
		}
	}
	if !core {
		list.Items = h.Aggregation.Merge(list.Items)
	}
	data, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("encode discovery: %w", err)
	}
	raw, err := list.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode discovery: %w", err)
	}
	sum := sha512.Sum512(data)
	return &aggregated{
		state: state, json: append(data, '\n'), proto: proto.AppendRaw(nil, list.APIVersion, list.Kind, raw),
		etag: `"` + strings.ToUpper(hex.EncodeToString(sum[:])) + `"`,
	}, nil
}

func (h *Handler) aggregateGroup(g api.Group) v2.APIGroupDiscovery {
	group := v2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.Name}}
	for _, gv := range g.Versions {
		version := v2.APIVersionDiscovery{Version: gv.Version, Freshness: v2.DiscoveryFreshnessCurrent}
		for _, res := range h.Catalogue.In(gv) {
			version.Resources = append(version.Resources, aggregateResource(gv, res))
		}
		group.Versions = append(group.Versions, version)
	}
	return group
}

// aggregateResource tells of a resource what apiResources tells, with its
// subresources below it.
func aggregateResource(gv schema.GroupVersion, res *api.Resource) v2.APIResourceDiscovery {
	lines := apiResources(res)
	if res.Untyped {
		for i := range lines {
			if lines[i].Group == "" {
				lines[i].Group, lines[i].Version = gv.Group, gv.Version
			}
		}
	}
	out := v2.APIResourceDiscovery{
		Resource: res.Name, SingularResource: res.Singular, Scope: v2.ScopeCluster,
		ResponseKind: responseKind(&lines[0]), Verbs: lines[0].Verbs, ShortNames: res.ShortNames, Categories: res.Categories,
	}
	if res.Namespaced {
		out.Scope = v2.ScopeNamespace
	}
	for i := range lines[1:] {
		line := &lines[i+1]
		out.Subresources = append(out.Subresources, v2.APISubresourceDiscovery{
			Subresource: strings.TrimPrefix(line.Name, res.Name+"/"), ResponseKind: responseKind(line), Verbs: line.Verbs,
		})
	}
	return out
}

// responseKind leaves out group and version where they are those of the
// document around it, but not for kinds that arrived at run time.
func responseKind(line *metav1.APIResource) *metav1.GroupVersionKind {
	return &metav1.GroupVersionKind{Group: line.Group, Version: line.Version, Kind: line.Kind}
}
