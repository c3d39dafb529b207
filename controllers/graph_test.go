package controllers

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
)

// graphChange is a change of an object: its UID, its owners, and whether it is deleted or
// terminating with the finalizer.
type graphChange struct {
	uid       string
	owners    string
	deleted   bool
	finalizer string
}

func (c graphChange) change(res *api.Resource) reconcile.Change {
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n-" + c.uid, UID: types.UID(c.uid)}}
	for _, owner := range strings.Fields(c.owners) {
		obj.OwnerReferences = append(obj.OwnerReferences, metav1.OwnerReference{UID: types.UID(owner)})
	}
	if c.finalizer != "" {
		obj.Finalizers, obj.DeletionTimestamp = []string{c.finalizer}, &metav1.Time{}
	}
	return reconcile.Change{Resource: res, Object: obj, Deleted: c.deleted}
}

// TestOwnerGraph checks which objects the garbage collector must sync after the last of a
// sequence of changes.
func TestOwnerGraph(t *testing.T) {
	for name, tt := range map[string]struct {
		changes []graphChange
		want    string
	}{
		"without owners":                 {[]graphChange{{uid: "a"}}, ""},
		"a missing owner":                {[]graphChange{{uid: "a", owners: "o"}}, "a"},
		"an existing owner":              {[]graphChange{{uid: "o"}, {uid: "a", owners: "o"}}, "a"},
		"no change of owners":            {[]graphChange{{uid: "o"}, {uid: "a", owners: "o"}, {uid: "a", owners: "o"}}, ""},
		"an owner that is still missing": {[]graphChange{{uid: "a", owners: "o"}, {uid: "a", owners: "o"}}, "a"},
		"a deleted owner":                {[]graphChange{{uid: "o"}, {uid: "a", owners: "o"}, {uid: "b", owners: "o"}, {uid: "o", deleted: true}}, "a b"},
		"an owner deleted early":         {[]graphChange{{uid: "a", owners: "o"}, {uid: "o", deleted: true}}, "a"},
		"a deleted dependent":            {[]graphChange{{uid: "o"}, {uid: "a", owners: "o"}, {uid: "a", deleted: true}}, "o"},
		"an owner without dependents":    {[]graphChange{{uid: "o"}, {uid: "a", owners: "o"}, {uid: "a"}, {uid: "o", deleted: true}}, ""},
		"a removed owner reference":      {[]graphChange{{uid: "o"}, {uid: "a", owners: "o"}, {uid: "a"}}, "o"},
		"a replaced owner reference":     {[]graphChange{{uid: "o"}, {uid: "p"}, {uid: "a", owners: "o"}, {uid: "a", owners: "p"}}, "a o"},
		"foreground deletion":            {[]graphChange{{uid: "o"}, {uid: "o", finalizer: metav1.FinalizerDeleteDependents}}, "o"},
		"orphaning deletion":             {[]graphChange{{uid: "o"}, {uid: "o", finalizer: metav1.FinalizerOrphanDependents}}, "o"},
		"deletion with other finalizer":  {[]graphChange{{uid: "o"}, {uid: "o", finalizer: "example.com/f"}}, ""},
	} {
		g, res := newOwnerGraph(), &api.Resource{}
		var got []string
		for _, c := range tt.changes {
			got = nil
			for _, uid := range g.update(c.change(res)) {
				got = append(got, string(uid))
			}
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: syncs %q, want %q", name, text, tt.want)
		}
	}
}

// TestOwnerGraphDependents checks that the graph lists the known dependents of an owner.
func TestOwnerGraphDependents(t *testing.T) {
	g, res := newOwnerGraph(), &api.Resource{}
	for _, c := range []graphChange{{uid: "o"}, {uid: "a", owners: "o"}, {uid: "b", owners: "o p"}, {uid: "a", deleted: true}} {
		g.update(c.change(res))
	}
	if !g.owns("o") || !g.owns("p") || g.owns("a") {
		t.Errorf("owners: o %t, p %t, a %t", g.owns("o"), g.owns("p"), g.owns("a"))
	}
	if d := g.dependents("o"); len(d) != 1 || d[0].name != "n-b" {
		t.Errorf("dependents of o: %+v", d)
	}
	if _, ok := g.node("a"); ok {
		t.Error("a deleted object is in the graph")
	}
}
