package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// TestDelete checks a deletion and its dry run.
func TestDelete(t *testing.T) {
	r := newRegistry(t)
	at := r.configMap(t, "x")
	created := create(t, r, at, configMap("x", "1"))
	if out, err := r.Delete(t.Context(), at, DeleteOptions{WriteOptions: WriteOptions{DryRun: true}}); err != nil || !out.Deleted || stored(t, r, at) == nil {
		t.Errorf("dry run: %+v, %v", out, err)
	}
	out, err := r.Delete(t.Context(), at, DeleteOptions{})
	if err != nil || !out.Deleted || out.Object.GetUID() != created.GetUID() || stored(t, r, at) != nil {
		t.Errorf("got %+v, %v", out, err)
	}
	if _, err := r.Delete(t.Context(), at, DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a second time: %v", err)
	}
}

// TestDeletePreconditions checks the preconditions on uid and resourceVersion.
func TestDeletePreconditions(t *testing.T) {
	r := newRegistry(t)
	at := r.configMap(t, "x")
	created := create(t, r, at, configMap("x", "1"))
	other, uid, version := types.UID("other"), created.GetUID(), created.GetResourceVersion()
	one := "1"
	for _, c := range []struct {
		p    metav1.Preconditions
		says string
	}{
		{metav1.Preconditions{UID: &other}, "the UID in the precondition (other) does not match"},
		{metav1.Preconditions{UID: &uid, ResourceVersion: &one}, "the ResourceVersion in the precondition (1) does not match"},
		{metav1.Preconditions{UID: &uid, ResourceVersion: &version}, ""},
	} {
		_, err := r.Delete(t.Context(), at, DeleteOptions{Preconditions: &c.p})
		if c.says == "" && err != nil || c.says != "" && (!apierrors.IsConflict(err) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("want %q, got %v", c.says, err)
		}
	}
}

// TestPropagationFinalizers checks which finalizers of the garbage collector a deletion leaves.
func TestPropagationFinalizers(t *testing.T) {
	const own, orphan, foreground = "example.com/stay", metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents
	for _, c := range []struct {
		delete api.Deletion
		had    []string
		policy metav1.DeletionPropagation
		want   []string
	}{
		{had: []string{own}, want: []string{own}},
		{had: []string{orphan, own}, want: []string{orphan, own}},
		{had: []string{orphan, own}, policy: metav1.DeletePropagationBackground, want: []string{own}},
		{had: []string{orphan, own}, policy: metav1.DeletePropagationForeground, want: []string{own, foreground}},
		{had: []string{own}, policy: metav1.DeletePropagationOrphan, want: []string{own, orphan}},
		{delete: api.Deletion{OrphanByDefault: true}, had: []string{own}, want: []string{own, orphan}},
		{delete: api.Deletion{NoDependents: true}, had: []string{own, foreground}, want: []string{own}},
		{delete: api.Deletion{NoDependents: true}, had: []string{own}, policy: metav1.DeletePropagationForeground, want: []string{own}},
	} {
		if got := propagationFinalizers(&api.Resource{AnyKind: api.AnyKind{Delete: c.delete}}, configMap("x", "", c.had...), c.policy); !slices.Equal(got, c.want) {
			t.Errorf("%v, %q, %+v: got %v, want %v", c.had, c.policy, c.delete, got, c.want)
		}
	}
}

// TestPreconditionErrors checks the messages of kinds that kube-apiserver deletes by code of their own.
func TestPreconditionErrors(t *testing.T) {
	r, other := newRegistry(t), types.UID("other")
	for want, at := range map[string]Target{
		`Operation cannot be fulfilled on namespaces "x": Precondition failed: UID in precondition: other, UID in object meta: `:                                     r.at(t, corev1.SchemeGroupVersion, "namespaces", "x"),
		`Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "x": precondition failed: UID in precondition: other, UID in object meta: `: r.at(t, apiextensionsv1.SchemeGroupVersion, "customresourcedefinitions", "x"),
	} {
		old := at.Resource.New()
		old.SetName(at.Name)
		if err := deletePreconditions(at, old, DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}); !apierrors.IsConflict(err) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestDeleteWithFinalizers checks that an object with finalizers is marked as terminating
// and stays.
func TestDeleteWithFinalizers(t *testing.T) {
	r := newRegistry(t)
	at := r.configMap(t, "x")
	o := configMap("x", "1", "example.com/stay")
	o.SetGeneration(7)
	create(t, r, at, o)
	if out, err := r.Delete(t.Context(), at, DeleteOptions{WriteOptions: WriteOptions{DryRun: true}}); err != nil || out.Deleted || out.Object.GetDeletionTimestamp() == nil {
		t.Errorf("dry run: %+v, %v", out, err)
	}
	if stored(t, r, at).GetDeletionTimestamp() != nil {
		t.Error("the dry run marked it")
	}
	out, err := r.Delete(t.Context(), at, DeleteOptions{})
	if err != nil || out.Deleted || out.Object.GetDeletionTimestamp() == nil || *out.Object.GetDeletionGracePeriodSeconds() != 0 {
		t.Fatalf("got %+v, %v", out, err)
	}
	if got := out.Object.GetGeneration(); got != 8 {
		t.Errorf("generation %d, want 8", got)
	}
	again, err := r.Delete(t.Context(), at, DeleteOptions{})
	if err != nil || again.Object.GetResourceVersion() != out.Object.GetResourceVersion() {
		t.Errorf("a second time it is changed: %+v, %v", again.Object, err)
	}
}

// graceful returns a Target of a kind with a grace period.
func graceful(t *testing.T, r *Registry) Target {
	at := r.configMap(t, "x")
	res := *at.Resource
	res.Delete.GracePeriodSeconds = func(_ api.Object, requested *int64) int64 {
		if requested != nil {
			return *requested
		}
		return 30
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at.Resource = &res
	return at
}

// TestDeleteGracefully checks that a grace period can be shortened, that the object goes
// when it is 0, and the events that watchers see.
func TestDeleteGracefully(t *testing.T) {
	r := newRegistry(t)
	at := graceful(t, r)
	create(t, r, at, configMap("x", "1"))
	for _, c := range []struct {
		requested, left int64
		changed         bool
	}{
		{-2, 30, true}, // -2 stands for a request without a grace period
		{40, 30, false},
		{10, 10, true},
		{10, 10, false},
		{-1, 1, true},
	} {
		before := stored(t, r, at).GetResourceVersion()
		var o DeleteOptions
		if c.requested != -2 {
			o.GracePeriodSeconds = &c.requested
		}
		out, err := r.Delete(t.Context(), at, o)
		if err != nil || out.Deleted {
			t.Fatalf("asked %d: %+v, %v", c.requested, out, err)
		}
		if left := *out.Object.GetDeletionGracePeriodSeconds(); left != c.left {
			t.Errorf("asked %d: %d seconds are left", c.requested, left)
		}
		if want := noon.Add(time.Duration(c.left) * time.Second); !out.Object.GetDeletionTimestamp().Time.Equal(want) {
			t.Errorf("asked %d: it goes at %s, want %s", c.requested, out.Object.GetDeletionTimestamp(), want)
		}
		if changed := out.Object.GetResourceVersion() != before; changed != c.changed {
			t.Errorf("asked %d: changed is %t", c.requested, changed)
		}
	}
	seen, err := r.Watch(t.Context(), at, WatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Stop()
	now := int64(0)
	out, err := r.Delete(t.Context(), at, DeleteOptions{GracePeriodSeconds: &now})
	if err != nil || !out.Deleted || *out.Object.GetDeletionGracePeriodSeconds() != 0 || stored(t, r, at) != nil {
		t.Errorf("at once: %+v, %v", out, err)
	}
	var types []storage.EventType
	for len(types) < 2 {
		events, err := seen.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			types = append(types, e.Type)
			if obj, err := e.Item.Object(); err != nil || *obj.GetDeletionGracePeriodSeconds() != 0 {
				t.Errorf("an event of %v, %v", obj, err)
			}
		}
	}
	if types[0] != storage.Modified || types[1] != storage.Deleted {
		t.Errorf("got events %v", types)
	}
}

// TestDeleteCollection checks that the selected objects of one namespace are deleted, page
// by page.
func TestDeleteCollection(t *testing.T) {
	r := newRegistry(t)
	for i := range 6 {
		obj := configMap(fmt.Sprint("m", i), "1")
		obj.Labels = map[string]string{"even": fmt.Sprint(i%2 == 0)}
		if i == 4 {
			obj.Finalizers = []string{"example.com/stay"}
		}
		create(t, r, r.configMap(t, ""), obj)
	}
	all := r.configMap(t, "")
	even := ListOptions{Selection: Selection{Labels: labels.SelectorFromSet(labels.Set{"even": "true"})}}
	dry := DeleteOptions{WriteOptions: WriteOptions{DryRun: true}}
	names := func(items []*storage.Item) (out []string) {
		for _, i := range items {
			out = append(out, i.Name())
		}
		return out
	}
	for _, o := range []DeleteOptions{dry, {}} {
		list, err := r.DeleteCollection(t.Context(), all, even, o)
		if err != nil || fmt.Sprint(names(list.Items)) != "[m0 m2 m4]" {
			t.Errorf("got %v, %v", list, err)
		}
	}
	first := ListOptions{Limit: 1}
	list, err := r.DeleteCollection(t.Context(), all, first, DeleteOptions{})
	if err != nil || fmt.Sprint(names(list.Items)) != "[m1]" || list.Next == "" || list.Remaining != 3 {
		t.Errorf("one page: %v, %v", list, err)
	}
	left, err := r.List(t.Context(), all, ListOptions{})
	if err != nil || fmt.Sprint(names(left.Items)) != "[m3 m4 m5]" {
		t.Errorf("left are %v, %v", names(left.Items), err)
	}
	other := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	elsewhere := all
	elsewhere.Namespace = "other"
	create(t, r, elsewhere, &other)
	if _, err := r.DeleteCollection(t.Context(), all, ListOptions{}, DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	elsewhere.Name = "x"
	if stored(t, r, elsewhere) == nil {
		t.Error("an object of another namespace is gone")
	}
}

// TestDeleteCollectionInParallel checks that several workers delete every object once, and
// report them in order, and that the failure of one is that of the request.
func TestDeleteCollectionInParallel(t *testing.T) {
	r := newRegistry(t)
	r.o.DeleteCollectionWorkers = 4
	all := r.configMap(t, "")
	const n = 50
	for i := range n {
		create(t, r, all, configMap(fmt.Sprintf("m%02d", i), "1"))
	}
	uid := types.UID("another")
	_, err := r.DeleteCollection(t.Context(), all, ListOptions{}, DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if !apierrors.IsConflict(err) {
		t.Errorf("with a precondition that no object meets: %v", err)
	}
	list, err := r.DeleteCollection(t.Context(), all, ListOptions{}, DeleteOptions{})
	if err != nil || len(list.Items) != n {
		t.Fatalf("deleted %v, %v", list, err)
	}
	for i, item := range list.Items {
		if want := fmt.Sprintf("m%02d", i); item.Name() != want {
			t.Errorf("at %d: %s, want %s", i, item.Name(), want)
		}
	}
	if left, err := r.List(t.Context(), all, ListOptions{}); err != nil || len(left.Items) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
