package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/miniapiserver/miniapiserver/server"
)

// selectable returns a definition of paints that can be selected by color. In version v2 they have
// a label with the color, which is not stored.
func (c *converter) selectable() *unstructured.Unstructured {
	c.behave("", func(o map[string]any) {
		labels := map[string]any{}
		if colour, ok := o["spec"].(map[string]any)["colour"].(map[string]any); ok {
			labels["tone"] = colour["name"]
		}
		o["metadata"].(map[string]any)["labels"] = labels
	})
	d := c.paints("v1", "v1")
	versions, _, _ := unstructured.NestedSlice(d.Object, "spec", "versions")
	versions[0].(map[string]any)["selectableFields"] = []any{map[string]any{"jsonPath": ".spec.color"}}
	versions[1].(map[string]any)["selectableFields"] = []any{map[string]any{"jsonPath": ".spec.colour.name"}}
	_ = unstructured.SetNestedSlice(d.Object, versions, "spec", "versions") // the versions exist
	return d
}

// namesBy returns the names of the selected objects, page by page.
func namesBy(t *testing.T, c dynamic.ResourceInterface, o metav1.ListOptions) string {
	t.Helper()
	var names []string
	for {
		list, err := c.List(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if o.Limit > 0 && int64(len(list.Items)) > o.Limit || list.GetRemainingItemCount() != nil {
			t.Errorf("a page of %d, remaining %v", len(list.Items), list.GetRemainingItemCount())
		}
		for i := range list.Items {
			names = append(names, list.Items[i].GetName())
		}
		if o.Continue = list.GetContinue(); o.Continue == "" {
			return strings.Join(names, " ")
		}
	}
}

// TestSelectConverted checks that selectors apply to objects in the version of the request rather
// than as stored.
func TestSelectConverted(t *testing.T) {
	hook := newConverter(t)
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	define(t, c, hook.selectable())
	v1, v2 := paintsIn(c)
	for name, color := range map[string]string{"a": "red", "b": "blue", "c": "red", "d": "green", "e": "red"} {
		if _, err := v1.Create(t.Context(), paint("v1", name, color), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	before := hook.calls.Load()
	for _, test := range []struct {
		in   dynamic.ResourceInterface
		o    metav1.ListOptions
		want string
	}{
		{v2, metav1.ListOptions{LabelSelector: "tone=red"}, "a c e"},
		{v2, metav1.ListOptions{LabelSelector: "tone=red", Limit: 1}, "a c e"},
		{v2, metav1.ListOptions{LabelSelector: "tone=red", Limit: 2}, "a c e"},
		{v2, metav1.ListOptions{LabelSelector: "tone=red", ResourceVersion: "0"}, "a c e"},
		{v2, metav1.ListOptions{LabelSelector: "tone!=red"}, "b d"},
		{v2, metav1.ListOptions{LabelSelector: "tone in (red, green)", FieldSelector: "metadata.name!=c"}, "a d e"},
		{v2, metav1.ListOptions{LabelSelector: "tone=red", FieldSelector: "metadata.name=c"}, "c"},
		{v2, metav1.ListOptions{FieldSelector: "spec.colour.name=blue"}, "b"},
		{v2, metav1.ListOptions{FieldSelector: "spec.colour.name!=blue,metadata.namespace=default"}, "a c d e"},
		{v2, metav1.ListOptions{FieldSelector: "spec.colour.name=blue,metadata.namespace=elsewhere"}, ""},
		{v1, metav1.ListOptions{LabelSelector: "tone=red"}, ""},
		{v1, metav1.ListOptions{LabelSelector: "!tone"}, "a b c d e"},
		{v1, metav1.ListOptions{FieldSelector: "spec.color=blue"}, "b"},
	} {
		if got := namesBy(t, test.in, test.o); got != test.want {
			t.Errorf("%+v gives %q, want %q", test.o, got, test.want)
		}
	}
	if calls := hook.calls.Load() - before; calls > 1 {
		t.Errorf("%d calls for objects that were converted before", calls)
	}
	if _, err := v2.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.color=blue"}); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "field label not supported: spec.color") {
		t.Error(err)
	}
	watchSelected(t, v1, v2)
	if err := v2.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "tone=red"}); err != nil {
		t.Error(err)
	}
	if got := namesBy(t, v1, metav1.ListOptions{}); got != "a d" {
		t.Errorf("there are %q", got)
	}
}

// TestPageOfConverted checks that the webhook converts few more objects than a page needs.
func TestPageOfConverted(t *testing.T) {
	hook := newConverter(t)
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	define(t, c, hook.selectable())
	v1, v2 := paintsIn(c)
	const all = 120
	var want []string
	for n := range all {
		name := fmt.Sprintf("p%03d", n)
		if _, err := v1.Create(t.Context(), paint("v1", name, "red"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	o := metav1.ListOptions{LabelSelector: "tone=red", Limit: 20}
	page, err := v2.List(t.Context(), o)
	if err != nil || len(page.Items) != 20 || page.GetContinue() == "" {
		t.Fatalf("%v, %v", page, err)
	}
	if n := hook.objects.Load(); n >= all {
		t.Errorf("asked about %d objects for a page of %d", n, len(page.Items))
	}
	if got := namesBy(t, v2, o); got != strings.Join(want, " ") {
		t.Errorf("there are %q", got)
	}
	if n := hook.objects.Load(); n != all {
		t.Errorf("asked about %d objects in all", n)
	}
}

// watchSelected checks that an object enters and leaves a watch by a label that the webhook sets.
func watchSelected(t *testing.T, v1, v2 dynamic.ResourceInterface) {
	t.Helper()
	byLabel, err := v2.Watch(t.Context(), metav1.ListOptions{LabelSelector: "tone=red"})
	if err != nil {
		t.Fatal(err)
	}
	defer byLabel.Stop()
	byField, err := v2.Watch(t.Context(), metav1.ListOptions{FieldSelector: "spec.colour.name=red"})
	if err != nil {
		t.Fatal(err)
	}
	defer byField.Stop()
	next := func(want ...string) {
		t.Helper()
		for _, w := range []watch.Interface{byLabel, byField} {
			var got []string
			for range want {
				e, ok := <-w.ResultChan()
				if !ok {
					t.Fatal("the watch has ended")
				}
				u := e.Object.(*unstructured.Unstructured)
				got = append(got, fmt.Sprint(e.Type, " ", u.GetName(), " ", u.GetLabels()["tone"]))
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
	change := func(name, color string) {
		t.Helper()
		patch := fmt.Sprintf(`{"spec":{"color":%q}}`, color)
		if _, err := v1.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	next("ADDED a red", "ADDED c red", "ADDED e red")
	change("a", "blue")
	next("DELETED a red")
	change("b", "red")
	next("ADDED b red")
	change("d", "yellow") // no watch receives this
	if _, err := v1.Patch(t.Context(), "c", types.MergePatchType, []byte(`{"metadata":{"annotations":{"x":"y"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	next("MODIFIED c red")
}

// TestWatchOfUnconverted checks that a watch of objects which cannot be converted ends with an
// error, with or without selector.
func TestWatchOfUnconverted(t *testing.T) {
	hook := newConverter(t)
	srv, _ := startWith(t, server.Options{})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	define(t, c, hook.selectable())
	v1, v2 := paintsIn(c)
	list, err := v2.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hook.behave("out of paint", nil)
	if _, err := v1.Create(t.Context(), paint("v1", "a", "red"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const want = "conversion webhook for art.example.com/v1, Kind=Paint failed: out of paint"
	for _, o := range []metav1.ListOptions{{}, {LabelSelector: "tone=red"}, {LabelSelector: "tone=red", ResourceVersion: list.GetResourceVersion()}} {
		w, err := v2.Watch(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		e := <-w.ResultChan()
		status := apierrors.FromObject(e.Object)
		if isAwaited := o.ResourceVersion == ""; e.Type != watch.Error || isAwaited && !apierrors.IsTimeout(status) || !isAwaited && (!apierrors.IsInternalError(status) || !strings.Contains(status.Error(), want)) {
			t.Errorf("%+v: %s %v", o, e.Type, status)
		}
		if e, ok := <-w.ResultChan(); ok {
			t.Errorf("%+v goes on with %v", o, e)
		}
	}
	still, err := v2.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer still.Stop()
	if _, err := v2.List(t.Context(), metav1.ListOptions{LabelSelector: "tone=red"}); !strings.Contains(storeReadCause(err), want) {
		t.Error(err)
	}
	// Objects that are not selected need no conversion.
	if _, err := v2.List(t.Context(), metav1.ListOptions{LabelSelector: "tone=red", FieldSelector: "metadata.name=b"}); err != nil {
		t.Error(err)
	}
	hook.behave("", nil)
	if e := <-still.ResultChan(); e.Type != watch.Added {
		t.Errorf("the watch goes on with %s %v", e.Type, e.Object)
	}
}

// storeReadCause returns the first cause of a StorageReadError.
func storeReadCause(err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonStoreReadError {
		return ""
	}
	return status.Status().Details.Causes[0].Message
}
