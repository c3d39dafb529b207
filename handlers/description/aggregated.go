package description

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	v2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/proto"
)

// Aggregated discovery describes all groups of a path in one document, so that a client
// needs no request for each group.
const (
	aggregatedKind  = "APIGroupDiscoveryList"
	aggregatedGroup = "apidiscovery.k8s.io"
	aggregatedParam = ";g=" + aggregatedGroup + ";v=v2;as=" + aggregatedKind
)

// aggregated is one such document with its encodings, made once for each state of the
// catalogue from the documents of its groups.
type aggregated struct {
	state       discoveryState
	json, proto []byte
	// Other encodings are made when they are first requested.
	cbor, yaml func() ([]byte, error)
	indented   func() []byte
	etag       string
	groups     map[string]*discoveredGroup
}

// discoveredGroup is the part of the document about one group, made once for each state
// of the group: a change of one group leaves the parts of the others.
type discoveredGroup struct {
	state       any
	item        v2.APIGroupDiscovery
	json, proto []byte
}

// discoveryState is the state from which an aggregated document was made.
type discoveryState struct {
	catalogue any
	remotes   uint64
}

// withAggregatedDiscovery serves the aggregated document of the core group, or of all other
// groups, to clients that accept it, and calls next for other clients.
func (h *Handler) withAggregatedDiscovery(core bool, next http.HandlerFunc) http.HandlerFunc {
	var cached atomic.Pointer[aggregated]
	return func(w http.ResponseWriter, r *http.Request) {
		m, ok := h.responder.NegotiateAs(r, schema.GroupVersionKind{Group: aggregatedGroup, Version: "v2", Kind: aggregatedKind})
		// In kube-apiserver, the router of built-in kinds checks the names of media types at /api first.
		if !ok || core && !h.responder.AcceptsName(r, representation.OfferDocument) {
			next(w, r)
			return
		}
		w.Header().Set("Vary", "Accept")
		doc := cached.Load()
		if state := (discoveryState{h.Catalogue.State(), h.Aggregation.Generation()}); doc == nil || doc.state != state {
			var err error
			if doc, err = h.aggregate(r.Context(), doc, state, core); err != nil {
				h.responder.WriteError(w, r, err)
				return
			}
			cached.Store(doc)
			h.aggregations.Inc()
		}
		w.Header().Set("ETag", doc.etag)
		w.Header().Set("Cache-Control", "public")
		if r.Header.Get("If-None-Match") == doc.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		media, data, err := doc.in(m)
		if err != nil {
			h.responder.WriteError(w, r, err)
			return
		}
		representation.WriteBody(w, http.StatusOK, media+aggregatedParam, data)
	}
}

// in returns the document in a format, and its media type.
func (doc *aggregated) in(m representation.Media) (media string, data []byte, err error) {
	switch {
	case m.Format == representation.FormatProtobuf:
		return representation.MediaProtobuf, doc.proto, nil
	case m.Format == representation.FormatCBOR:
		data, err = doc.cbor()
		return representation.MediaCBOR, data, err
	case m.Format == representation.FormatYAML:
		data, err = doc.yaml()
		return representation.MediaYAML, data, err
	case m.Pretty:
		return representation.MediaJSON, doc.indented(), nil
	}
	return representation.MediaJSON, doc.json, nil
}

// aggregate makes a document and reuses unchanged parts of the previous one.
func (h *Handler) aggregate(ctx context.Context, previous *aggregated, state discoveryState, core bool) (*aggregated, error) {
	doc := &aggregated{state: state, groups: map[string]*discoveredGroup{}}
	var groups []*discoveredGroup
	for _, g := range h.Catalogue.Groups() {
		if (g.Name == "") != core {
			continue
		}
		var d *discoveredGroup
		if previous != nil {
			d = previous.groups[g.Name]
		}
		if d == nil || d.state != g.State() {
			for _, gv := range g.Versions {
				awaitEstablished(ctx, g.In(gv.Version))
			}
			var err error
			if d, err = discover(g); err != nil {
				return nil, err
			}
		}
		doc.groups[g.Name] = d
		groups = append(groups, d)
	}
	if !core && !h.Aggregation.NoRemotes() {
		var err error
		if groups, err = h.mergeRemotes(groups); err != nil {
			return nil, err
		}
	}
	doc.cbor = sync.OnceValues(func() ([]byte, error) { return representation.ToCBOR(doc.json) })
	doc.yaml = sync.OnceValues(func() ([]byte, error) { return representation.ToYAML(doc.json) })
	doc.indented = sync.OnceValue(func() []byte { return representation.Indent(bytes.TrimSuffix(doc.json, []byte("\n"))) })
	return doc, doc.encode(groups)
}

// mergeRemotes adds the groups that aggregated servers serve.
func (h *Handler) mergeRemotes(groups []*discoveredGroup) ([]*discoveredGroup, error) {
	items := make([]v2.APIGroupDiscovery, len(groups))
	for i, d := range groups {
		items[i] = d.item
		items[i].Versions = slices.Clone(d.item.Versions) // Merge sorts them in place
	}
	items = h.Aggregation.Merge(items)
	out := make([]*discoveredGroup, len(items))
	for i := range items {
		out[i] = &discoveredGroup{item: items[i]}
		if err := out[i].encode(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// encode joins the encodings of the groups into one list.
func (doc *aggregated) encode(groups []*discoveredGroup) error {
	list := &v2.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: aggregatedKind, APIVersion: v2.SchemeGroupVersion.String()},
		Items:    []v2.APIGroupDiscovery{},
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode discovery: %w", err)
	}
	raw, err := list.Marshal()
	if err != nil {
		return fmt.Errorf("encode discovery: %w", err)
	}
	text = bytes.TrimSuffix(text, []byte("]}"))
	for i, d := range groups {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, d.json...)
		raw = protowire.AppendBytes(protowire.AppendTag(raw, itemsField, protowire.BytesType), d.proto)
	}
	text = append(text, "]}"...)
	sum := sha512.Sum512(text)
	doc.json, doc.proto = append(text, '\n'), proto.AppendRaw(nil, list.APIVersion, list.Kind, raw)
	doc.etag = `"` + strings.ToUpper(hex.EncodeToString(sum[:])) + `"`
	return nil
}

// itemsField is the number of the items field in the protobuf message of a list.
const itemsField = 2

// discover makes the part of the document about a group.
func discover(g api.Group) (*discoveredGroup, error) {
	d := &discoveredGroup{state: g.State(), item: aggregateGroup(g)}
	return d, d.encode()
}

func (d *discoveredGroup) encode() (err error) {
	if d.json, err = json.Marshal(&d.item); err == nil {
		d.proto, err = d.item.Marshal()
	}
	if err != nil {
		return fmt.Errorf("encode discovery: %w", err)
	}
	return nil
}

func aggregateGroup(g api.Group) v2.APIGroupDiscovery {
	group := v2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.Name}}
	for _, gv := range g.Versions {
		version := v2.APIVersionDiscovery{Version: gv.Version, Freshness: v2.DiscoveryFreshnessCurrent}
		for _, res := range g.In(gv.Version) {
			version.Resources = append(version.Resources, aggregateResource(gv, res))
		}
		group.Versions = append(group.Versions, version)
	}
	return group
}

// aggregateResource describes a resource like apiResources, with its subresources below
// it.
func aggregateResource(gv schema.GroupVersion, res *api.Resource) v2.APIResourceDiscovery {
	lines := apiResources(res)
	if res.IsCustom() {
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

// responseKind returns the kind of the objects in responses. Group and version are
// empty where apiResources leaves them out because the document has them.
func responseKind(line *metav1.APIResource) *metav1.GroupVersionKind {
	return &metav1.GroupVersionKind{Group: line.Group, Version: line.Version, Kind: line.Kind}
}
