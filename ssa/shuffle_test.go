package ssa

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// shuffleOf returns a Write.Shuffle.
func shuffleOf(seed uint64) func(int, func(i, j int)) { return rand.New(rand.NewPCG(seed, 0)).Shuffle }

// recorded is a custom resource of several versions that records the versions to which objects are converted.
func recorded(versions int) (res *api.Resource, conversions *[]string) {
	conversions = new([]string)
	to := func(gv schema.GroupVersion) func(api.Object) (api.Object, error) {
		return func(obj api.Object) (api.Object, error) {
			u := obj.DeepCopyObject().(*untyped.Object)
			u.SetGroupVersionKind(gv.WithKind("Widget"))
			*conversions = append(*conversions, gv.Version)
			return u, nil
		}
	}
	res = widgets()
	hub := res.Versions[0]
	res.Versions, res.Custom.Forms = []api.Version{hub}, res.Custom.Forms[:1]
	for i := 2; i <= versions; i++ {
		gv := schema.GroupVersion{Group: hub.Group, Version: fmt.Sprint("v", i)}
		v := api.Version{GroupVersion: gv, New: func() api.Object { return unstructuredOf(nil) }, ToHub: to(hub.GroupVersion), FromHub: to(gv)}
		res.Versions = append(res.Versions, v)
		form := api.AnyKind{Names: res.Names, Versions: []api.Version{v}, Status: res.Status}
		res.Custom.Forms = append(res.Custom.Forms, &api.Resource{AnyKind: form, Custom: &api.Custom{}})
	}
	return res, conversions
}

// TestShuffle checks that the order of conversions to the versions of other owners, and of the causes of a conflict, follows from
// Write.Shuffle, and that the results of the writes do not.
func TestShuffle(t *testing.T) {
	res, conversions := recorded(5)
	if _, err := api.New(res); err != nil {
		t.Fatal(err)
	}
	m := New(res, func(schema.GroupVersionKind) (typed.ParseableType, bool) { return typed.DeducedParseableType, true }, nil)
	patch := func(v *api.Version, spec map[string]any) map[string]any {
		return map[string]any{"apiVersion": v.String(), "kind": "Widget", "metadata": map[string]any{"name": "x"}, "spec": spec}
	}
	var live api.Object
	for i := range res.Versions { // each version has an owner, and the owner of the first has a field that is about to be removed
		v := &res.Versions[i]
		var err error
		if live, err = m.Apply(live, patch(v, map[string]any{v.GroupVersion.Version: "x", v.GroupVersion.Version + "-more": "x"}),
			Write{Version: v, Manager: "owner-of-" + v.GroupVersion.Version}); err != nil {
			t.Fatal(err)
		}
		live.SetUID("u")
	}
	hub := &res.Versions[0]
	for name, write := range map[string]func(Write) (api.Object, error){
		"update": func(w Write) (api.Object, error) {
			next := live.DeepCopyObject().(*untyped.Object)
			next.Object["spec"].(map[string]any)["v3"] = "y"
			return next, m.Update(live, next, w)
		},
		"apply": func(w Write) (api.Object, error) {
			w.Force = true
			return m.Apply(live, patch(hub, map[string]any{"v2": "y", "v4": "y"}), w)
		},
		"apply of less": func(w Write) (api.Object, error) {
			w.Manager = "owner-of-v1"
			return m.Apply(live, patch(hub, map[string]any{"v1": "x"}), w)
		},
		"conflict": func(w Write) (api.Object, error) {
			_, err := m.Apply(live, patch(hub, map[string]any{"v1": "y", "v2": "y", "v3": "y", "v4": "y", "v5": "y"}), w)
			var status *apierrors.StatusError
			if !errors.As(err, &status) {
				return nil, err
			}
			for _, c := range status.ErrStatus.Details.Causes {
				*conversions = append(*conversions, c.Message+" at "+c.Field)
			}
			if !apierrors.IsConflict(err) || len(status.ErrStatus.Details.Causes) != 5 {
				return nil, err
			}
			return unstructuredOf(map[string]any{"message": err.Error()}), nil // the same each time
		},
	} {
		run := func(shuffle func(int, func(i, j int))) (order, result string) {
			*conversions = nil
			obj, err := write(Write{Version: hub, Manager: "m", Shuffle: shuffle})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			text, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(*conversions, " "), string(text)
		}
		fixed, want := run(nil)
		if again, _ := run(nil); again != fixed {
			t.Errorf("%s without a shuffle: %s, again %s", name, fixed, again)
		}
		orders := map[string]bool{}
		for seed := range uint64(20) {
			order, result := run(shuffleOf(seed))
			again, _ := run(shuffleOf(seed))
			if again != order {
				t.Errorf("%s with seed %d: %s, again %s", name, seed, order, again)
			}
			if result != want || len(order) != len(fixed) {
				t.Errorf("%s with seed %d: %s after %s\nwant %s after %s", name, seed, result, order, want, fixed)
			}
			orders[order] = true
		}
		if len(orders) < 10 {
			t.Errorf("%s: 20 seeds have %d orders", name, len(orders))
		}
	}
}
