package controllers

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
)

// node is an object as the graph knows it.
type node struct {
	uid             types.UID
	resource        *api.Resource
	namespace, name string
	owners          []types.UID
}

// graph is who owns whom. It may lag behind the objects.
type graph struct {
	mu    sync.Mutex
	nodes map[types.UID]node
	// owned are the dependents of each owner, also of owners that are not
	// there.
	owned map[types.UID]map[types.UID]bool
}

func newGraph() *graph {
	return &graph{nodes: map[types.UID]node{}, owned: map[types.UID]map[types.UID]bool{}}
}

// note takes in a change and returns the objects that it may concern.
func (g *graph) note(c change) []types.UID {
	g.mu.Lock()
	defer g.mu.Unlock()
	uid := c.object.GetUID()
	was := g.nodes[uid]
	if c.gone {
		delete(g.nodes, uid)
		g.unlink(uid, was.owners)
		return append(g.list(uid), was.owners...)
	}
	n := node{uid: uid, resource: c.resource, namespace: c.object.GetNamespace(), name: c.object.GetName()}
	for _, ref := range c.object.GetOwnerReferences() {
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
	if c.object.GetDeletionTimestamp() != nil && waitsForDependents(c.object) {
		concerned = append(concerned, uid)
	}
	// An owner that waits may have waited for this one.
	if !slices.Equal(was.owners, n.owners) {
		concerned = append(concerned, was.owners...)
	}
	return concerned
}

func waitsForDependents(obj api.Object) bool {
	return slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents) ||
		slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents)
}

func (g *graph) missing(owners []types.UID) bool {
	return slices.ContainsFunc(owners, func(uid types.UID) bool { _, ok := g.nodes[uid]; return !ok })
}

func (g *graph) link(uid types.UID, owners []types.UID) {
	for _, o := range owners {
		if g.owned[o] == nil {
			g.owned[o] = map[types.UID]bool{}
		}
		g.owned[o][uid] = true
	}
}

func (g *graph) unlink(uid types.UID, owners []types.UID) {
	for _, o := range owners {
		if delete(g.owned[o], uid); len(g.owned[o]) == 0 {
			delete(g.owned, o)
		}
	}
}

func (g *graph) list(owner types.UID) []types.UID {
	var out []types.UID
	for uid := range g.owned[owner] {
		out = append(out, uid)
	}
	return out
}

func (g *graph) node(uid types.UID) (node, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, ok := g.nodes[uid]
	return n, ok
}

// owns tells whether an object is known to own others.
func (g *graph) owns(uid types.UID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.owned[uid]) > 0
}

// dependents are the objects that are known to be owned by one.
func (g *graph) dependents(owner types.UID) []node {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []node
	for uid := range g.owned[owner] {
		if n, ok := g.nodes[uid]; ok {
			out = append(out, n)
		}
	}
	return out
}
