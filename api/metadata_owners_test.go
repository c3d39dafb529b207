package api

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestDedup checks which owner references are duplicates, and that 100,000 of the same object are
// not compared with each other, which would take ten minutes.
func TestDedup(t *testing.T) {
	yes, alsoYes, no := true, true, false
	a := metav1.OwnerReference{APIVersion: "v1", Kind: "K", Name: "a", UID: "1"}
	with := func(change func(r *metav1.OwnerReference)) metav1.OwnerReference {
		r := a
		change(&r)
		return r
	}
	refs := []metav1.OwnerReference{
		a, with(func(r *metav1.OwnerReference) { r.Controller = &no }),
		with(func(r *metav1.OwnerReference) { r.Controller = &yes }),
		with(func(r *metav1.OwnerReference) { r.BlockOwnerDeletion = &yes }),
		with(func(r *metav1.OwnerReference) { r.UID = "2" }),
	}
	for i := range 100_000 {
		refs = append(refs, with(func(r *metav1.OwnerReference) { r.Name = fmt.Sprint(i) }))
	}
	distinct := len(refs)
	refs = append(refs, a, with(func(r *metav1.OwnerReference) { r.Controller = &alsoYes }))
	kept, dropped := dedup(refs)
	if len(kept) != distinct || len(dropped) != 2 || types.UID(dropped[0]) != a.UID || kept[2].Controller != &yes {
		t.Errorf("%d references are kept and %q are dropped", len(kept), dropped)
	}
}
