package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// TestSelection checks that lists and watches select by name, namespace, labels and fields.
func TestSelection(t *testing.T) {
	r := newRegistry(t)
	for _, ns := range []string{"ns", "other"} {
		for _, name := range []string{"a", "b"} {
			at := r.configMap(t, "")
			at.Namespace = ns
			create(t, r, at, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"l": name}}})
		}
	}
	for _, c := range []struct{ namespace, labels, fields, want string }{
		{"", "", "", "[ns/a ns/b other/a other/b]"},
		{"ns", "", "", "[ns/a ns/b]"},
		{"", "l=a", "", "[ns/a other/a]"},
		{"", "", "metadata.name=b", "[ns/b other/b]"},
		{"", "", "metadata.namespace=other", "[other/a other/b]"},
		{"", "", "metadata.namespace=other,metadata.name=a", "[other/a]"},
		{"", "l=b", "metadata.namespace=other,metadata.name=a", "[]"},
		{"ns", "", "metadata.namespace=other", "[]"},
		{"ns", "", "metadata.namespace!=ns", "[]"},
		{"ns", "", "metadata.name!=a", "[ns/b]"},
		{"ns", "", "metadata.name=", "[]"},
		{"ns", "l notin (a)", "", "[ns/b]"},
		{"no", "", "", "[]"},
		{"n", "", "", "[]"},
	} {
		at := r.configMap(t, "")
		at.Namespace = c.namespace
		byLabel, err := labels.Parse(c.labels)
		if err != nil {
			t.Fatal(err)
		}
		byField, err := fields.ParseSelector(c.fields)
		if err != nil {
			t.Fatal(err)
		}
		s := Selection{Labels: byLabel, Fields: byField}
		list, err := r.List(t.Context(), at, ListOptions{Selection: s})
		if err != nil {
			t.Fatal(err)
		}
		keys := []string{}
		for _, i := range list.Items {
			keys = append(keys, i.Key())
		}
		if got := fmt.Sprint(keys); got != c.want {
			t.Errorf("%+v: list is %s", c, got)
		}
		if got := fmt.Sprint(watched(t, r, at, s, len(keys))); got != c.want {
			t.Errorf("%+v: watch gives %s", c, got)
		}
	}
}

// watched returns the keys of the first n events of a watch.
func watched(t *testing.T, r *Registry, at Target, s Selection, n int) []string {
	t.Helper()
	w, err := r.Watch(t.Context(), at, WatchOptions{Selection: s, WatchOptions: storage.WatchOptions{Initial: true, InitialEventsEnd: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	keys := []string{}
	for {
		events, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.End {
				return keys
			}
			keys = append(keys, e.Item.Key())
		}
	}
}

// TestSelectionByIndex checks that the index of pods by node gives what a scan of all pods
// gives, page by page and to a watch.
func TestSelectionByIndex(t *testing.T) {
	r := newRegistry(t)
	at := r.at(t, corev1.SchemeGroupVersion, "pods", "")
	for i, node := range []string{"", "n1", "n2", "n1", "n10"} {
		for _, ns := range []string{"ns", "other"} {
			in := at
			in.Namespace = ns
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i)},
				Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			}
			in.Resource.Default(pod)
			create(t, r, in, pod)
		}
	}
	for _, c := range []struct{ namespace, fields, want string }{
		{"", "spec.nodeName=n1", "[ns/p1 ns/p3 other/p1 other/p3]"},
		{"ns", "spec.nodeName=n1", "[ns/p1 ns/p3]"},
		{"ns", "spec.nodeName=", "[ns/p0]"},
		{"ns", "spec.nodeName!=n1", "[ns/p0 ns/p2 ns/p4]"},
		{"ns", "spec.nodeName=n1,metadata.name!=p1", "[ns/p3]"},
		{"ns", "spec.nodeName=n1,metadata.name=p2", "[]"},
		{"ns", "spec.nodeName=no", "[]"},
	} {
		at.Namespace = c.namespace
		s := Selection{Fields: fields.ParseSelectorOrDie(c.fields)}
		keys, after := []string{}, ""
		for {
			list, err := r.List(t.Context(), at, ListOptions{Selection: s, Limit: 1, After: after})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range list.Items {
				keys = append(keys, i.Key())
			}
			if after = list.Next; after == "" {
				break
			}
		}
		if got := fmt.Sprint(keys); got != c.want {
			t.Errorf("%+v: list is %s", c, got)
		}
		if got := fmt.Sprint(watched(t, r, at, s, len(keys))); got != c.want {
			t.Errorf("%+v: watch gives %s", c, got)
		}
	}
}

// TestStatusErrors checks the Status for each error of storage.
func TestStatusErrors(t *testing.T) {
	r := newRegistry(t)
	at := r.configMap(t, "x")
	item := func() *storage.Item {
		create(t, r, at, configMap("x", "1"))
		i, err := r.Get(t.Context(), at, storage.Read{})
		if err != nil {
			t.Fatal(err)
		}
		return i
	}()
	for _, c := range []struct {
		err    error
		code   int32
		reason metav1.StatusReason
		retry  int32
	}{
		{storage.ErrNotFound, http.StatusNotFound, metav1.StatusReasonNotFound, 0},
		{storage.ErrExists, http.StatusConflict, metav1.StatusReasonAlreadyExists, 0},
		{&storage.ConflictError{Current: item}, http.StatusConflict, metav1.StatusReasonConflict, 0},
		{&storage.FutureRevisionError{Wanted: 9, Current: 2}, http.StatusGatewayTimeout, metav1.StatusReasonTimeout, 1},
		{&storage.CompactedError{Wanted: 1, Compacted: 2}, http.StatusGone, metav1.StatusReasonExpired, 0},
		{storage.ErrUnavailable, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 0},
		{storage.ErrNoSpace, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 0},
		{storage.ErrClosed, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 0},
		{storage.ErrRemoved, http.StatusNotFound, metav1.StatusReasonNotFound, 0},
		{storage.ErrUnknownOutcome, http.StatusGatewayTimeout, metav1.StatusReasonTimeout, 1},
		{apierrors.NewBadRequest("x"), http.StatusBadRequest, metav1.StatusReasonBadRequest, 0},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			var status apierrors.APIStatus
			if !errors.As(r.StatusError(at, err), &status) {
				t.Errorf("%v is not a Status", err)
				continue
			}
			s := status.Status()
			if s.Code != c.code || s.Reason != c.reason || retryAfter(s) != c.retry {
				t.Errorf("%v is %d %s with details %v", err, s.Code, s.Reason, s.Details)
			}
		}
	}
	for _, err := range []error{nil, storage.ErrTooLarge, storage.ErrSlow, context.Canceled} {
		if got := r.StatusError(at, err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}

// TestRemovedResource checks that requests which were under way when their resource was removed
// get the error of a path without a resource.
func TestRemovedResource(t *testing.T) {
	r := newRegistry(t)
	at := r.configMap(t, "x")
	create(t, r, at, configMap("x", "1"))
	w, err := r.Watch(t.Context(), at, WatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	r.RemoveResource(at.Resource)
	_, getErr := r.Get(t.Context(), at, storage.Read{})
	_, listErr := r.List(t.Context(), at, ListOptions{})
	_, watchErr := r.Watch(t.Context(), at, WatchOptions{})
	_, createErr := r.Create(t.Context(), at, configMap("y", "1"), WriteOptions{})
	_, deleteErr := r.Delete(t.Context(), at, DeleteOptions{})
	for verb, err := range map[string]error{"get": getErr, "list": listErr, "watch": watchErr, "create": createErr, "delete": deleteErr} {
		if !apierrors.IsNotFound(err) || err.Error() != "the server could not find the requested resource" {
			t.Errorf("%s: %v", verb, err)
		}
	}
	for err = nil; err == nil; {
		_, err = w.Next(t.Context()) // the first events are of before
	}
	if !errors.Is(err, storage.ErrRemoved) {
		t.Errorf("the watch ended with %v", err)
	}
}

// TestListOfCompactedRevision checks the errors for lists at compacted and future
// revisions.
func TestListOfCompactedRevision(t *testing.T) {
	r := newRegistry(t)
	create(t, r, r.configMap(t, ""), configMap("x", "1"))
	_, err := r.List(t.Context(), r.configMap(t, ""), ListOptions{Read: storage.Read{Match: storage.Exact, Revision: 1 << 40}})
	if !apierrors.IsTimeout(err) {
		t.Errorf("a future revision: %v", err)
	}
	if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Errorf("the cause is missing: %v", err)
	}
}

func retryAfter(s metav1.Status) int32 {
	if s.Details == nil {
		return 0
	}
	return s.Details.RetryAfterSeconds
}

// TestVirtualListIsSelected checks that selectors select computed objects as well.
func TestVirtualListIsSelected(t *testing.T) {
	r := newRegistry(t)
	r.o.Virtual = map[string]Source{"componentstatuses": fixedSource{"a", "b"}}
	at := r.at(t, corev1.SchemeGroupVersion, "componentstatuses", "")
	for _, c := range []struct{ label, field, want string }{
		{"", "", "a b"}, {"x=y", "", ""}, {"!x", "metadata.name=b", "b"}, {"", "metadata.name!=b", "a"},
	} {
		byLabel, err := labels.Parse(c.label)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := r.VirtualList(t.Context(), at, ListOptions{Selection: Selection{Labels: byLabel, Fields: fields.ParseSelectorOrDie(c.field)}})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, obj := range objects {
			names = append(names, obj.GetName())
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("labels %q, fields %q: got %q, want %q", c.label, c.field, got, c.want)
		}
	}
}

// fixedSource is the Source of objects with these names.
type fixedSource []string

func (s fixedSource) Get(context.Context, string) (api.Object, error) {
	return nil, storage.ErrNotFound
}

func (s fixedSource) List(context.Context, ListOptions) ([]api.Object, error) {
	var out []api.Object
	for _, name := range s {
		out = append(out, &corev1.ComponentStatus{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return out, nil
}
