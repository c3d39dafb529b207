package description

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// regenerations counts how often a change of a custom kind makes its OpenAPI documents anew, under kube-apiserver's
// names. They are made when a client requests them, so that changes between two requests count once. A nil value
// counts nothing.
type regenerations struct {
	v2, v3 *prometheus.CounterVec
	// removed are the names of removed kinds that have series, the oldest first.
	removed []string
}

// Values of the label reason.
const (
	kindAdded   = "add"
	kindUpdated = "update"
	kindRemoved = "remove"
)

// maxRemovedKinds is the maximum number of removed kinds that have series.
const maxRemovedKinds = 200

func newRegenerations(set *metricset.Set) *regenerations {
	return &regenerations{
		v2: set.CounterVec("apiextensions_openapi_v2_regeneration_count",
			"[ALPHA] Number of times that the part of the OpenAPI v2 document about a custom kind was made, "+
				"by its definition and the reason.", "crd", "reason"),
		v3: set.CounterVec("apiextensions_openapi_v3_regeneration_count",
			"[ALPHA] Number of times that the part of the OpenAPI v3 document about a custom kind was made, "+
				"by its definition and the reason.", "crd", "group", "version", "reason"),
	}
}

// countV2 counts the custom kinds whose parts differ between two documents of version 2; the first may be nil.
func (g *regenerations) countV2(before, after *openAPIV2) {
	if g == nil {
		return
	}
	g.count(customKinds(before), customKinds(after), func(crd, reason string) { g.v2.WithLabelValues(crd, reason).Inc() })
}

// customKinds returns the custom kinds in a document of version 2.
func customKinds(w *openAPIV2) (kinds []*api.Resource) {
	if w == nil {
		return nil
	}
	for key := range w.shares {
		if key.kind != nil {
			kinds = append(kinds, key.kind)
		}
	}
	return kinds
}

// countV3 counts the custom kinds that differ between two documents of a group version; either may be nil.
func (g *regenerations) countV3(before, after []*api.Resource) {
	kinds := func(all []*api.Resource) []*api.Resource {
		return slices.DeleteFunc(slices.Clone(all), func(r *api.Resource) bool { return !r.IsCustom() })
	}
	before, after = kinds(before), kinds(after)
	if g == nil || len(before)+len(after) == 0 {
		return
	}
	gv := append(before[:len(before):len(before)], after...)[0].Versions[0].GroupVersion
	g.count(before, after, func(crd, reason string) { g.v3.WithLabelValues(crd, gv.Group, gv.Version, reason).Inc() })
}

// count calls inc for each definition whose kinds differ.
func (g *regenerations) count(before, after []*api.Resource, inc func(crd, reason string)) {
	old, current := map[string][]*api.Resource{}, map[string][]*api.Resource{}
	for _, r := range before {
		old[crdOf(r)] = append(old[crdOf(r)], r)
	}
	for _, r := range after {
		current[crdOf(r)] = append(current[crdOf(r)], r)
	}
	for crd, kinds := range current {
		known, ok := old[crd]
		switch {
		case !ok:
			inc(crd, kindAdded)
		case slices.ContainsFunc(kinds, func(r *api.Resource) bool { return !slices.Contains(known, r) }), len(known) != len(kinds):
			inc(crd, kindUpdated)
		}
	}
	for crd := range old {
		if _, ok := current[crd]; !ok {
			inc(crd, kindRemoved)
			g.bound(crd)
		}
	}
}

// bound removes the series of the kind that was removed first, if there are many.
func (g *regenerations) bound(crd string) {
	g.removed = append(slices.DeleteFunc(g.removed, func(other string) bool { return other == crd }), crd)
	if len(g.removed) > maxRemovedKinds {
		labels := prometheus.Labels{"crd": g.removed[0]}
		g.v2.DeletePartialMatch(labels)
		g.v3.DeletePartialMatch(labels)
		g.removed = g.removed[1:]
	}
}

// crdOf returns the name of the definition of a custom kind.
func crdOf(r *api.Resource) string { return r.Name + "." + r.Versions[0].Group }
