package controllers

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
)

// graphNode is an object in the graph.
type graphNode struct {
	uid             types.UID
	resource        *api.Resource
	namespace, name string
	owners          []types.UID
}

// ownerGraph is the owner graph of all objects. It may lag behind the objects.
type ownerGraph struct {
	mu    sync.Mutex
	nodes map[types.UID]graphNode
	// owned has the dependents by owner, including owners that do not exist.
	owned map[types.UID]map[types.UID]bool
}

func newOwnerGraph() *ownerGraph {
	return &ownerGraph{nodes: map[types.UID]graphNode{}, owned: map[types.UID]map[types.UID]bool{}}
}

// update applies a change and returns the objects that must be synced.
func (g *ownerGraph) update(c reconcile.Change) []types.UID {
	g.mu.Lock()
	defer g.mu.Unlock()
	uid := c.Object.GetUID()
	was := g.nodes[uid]
	if c.Deleted {
		delete(g.nodes, uid)
		g.unlink(uid, was.owners)
		return append(g.list(uid), was.owners...)
	}
	n := graphNode{uid: uid, resource: c.Resource, namespace: c.Object.GetNamespace(), name: c.Object.GetName()}
	for _, ref := range c.Object.GetOwnerReferences() {
		n.owners = append(n.owners, ref.UID)
	}
	g.nodes[uid] = n
	if !slices.Equal(was.owners, n.owners) {
		g.unlink(uid, was.owners)
		g.link(uid, n.owners)
	}
	var concerned []types.UID
	if len(n.owners) > 0 && (was.resource != n.resource || !slices.Equal(was.owners, n.owners) || g.missing(n.owners)) {
		concerned = append(concerned, uid)
	}
	if c.Object.GetDeletionTimestamp() != nil && waitsForDependents(c.Object) {
		concerned = append(concerned, uid)
	}
	// A deleted owner may have been waiting for this dependent.
	if !slices.Equal(was.owners, n.owners) {
		concerned = append(concerned, was.owners...)
	}
	return concerned
}

func waitsForDependents(obj api.Object) bool {
	return slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents) ||
		slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents)
}

func (g *ownerGraph) missing(owners []types.UID) bool {
	return slices.ContainsFunc(owners, func(uid types.UID) bool { _, ok := g.nodes[uid]; return !ok })
}

func (g *ownerGraph) link(uid types.UID, owners []types.UID) {
	for _, o := range owners {
		if g.owned[o] == nil {
			g.owned[o] = map[types.UID]bool{}
		}
		g.owned[o][uid] = true
	}
}

func (g *ownerGraph) unlink(uid types.UID, owners []types.UID) {
	for _, o := range owners {
		if delete(g.owned[o], uid); len(g.owned[o]) == 0 {
			delete(g.owned, o)
		}
	}
}

func (g *ownerGraph) list(owner types.UID) []types.UID {
	var out []types.UID
	for uid := range g.owned[owner] {
		out = append(out, uid)
	}
	return out
}

func (g *ownerGraph) node(uid types.UID) (graphNode, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, ok := g.nodes[uid]
	return n, ok
}

// owns reports whether an object has known dependents.
func (g *ownerGraph) owns(uid types.UID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.owned[uid]) > 0
}

// dependents returns the known dependents of an object.
func (g *ownerGraph) dependents(owner types.UID) []graphNode {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []graphNode
	for uid := range g.owned[owner] {
		if n, ok := g.nodes[uid]; ok {
			out = append(out, n)
		}
	}
	return out
}
