package registry

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/miniapiserver/miniapiserver/api"
)

// TestUpdateUnderConcurrency checks that the changes of concurrent writers of one object
// are all stored.
func TestUpdateUnderConcurrency(t *testing.T) {
	r := newRegistry(t)
	at := r.configMap(t, "x")
	create(t, r, at, configMap("x", ""))
	const writers = 16
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			_, err := r.Update(t.Context(), at, changeBy(func(m *corev1.ConfigMap) {
				m.Data["key"] += "x"
				m.Data[fmt.Sprint("writer", i)] = "1"
			}), UpdateOptions{})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := stored(t, r, at).(*corev1.ConfigMap)
	if len(got.Data["key"]) != writers || len(got.Data) != writers+1 {
		t.Errorf("got %v", got.Data)
	}
}

// TestUpdateOfOneVersion checks that of concurrent writers with the same resourceVersion
// one succeeds.
func TestUpdateOfOneVersion(t *testing.T) {
	r := newRegistry(t)
	at := r.configMap(t, "x")
	original := create(t, r, at, configMap("x", ""))
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			obj := configMap("x", fmt.Sprint(i))
			obj.ResourceVersion = original.GetResourceVersion()
			_, errs[i] = r.Update(t.Context(), at, replaceBy(obj), UpdateOptions{})
		})
	}
	wg.Wait()
	succeeded := 0
	for _, err := range errs {
		switch {
		case err == nil:
			succeeded++
		case !apierrors.IsConflict(err) || !strings.Contains(err.Error(), modifiedMessage):
			t.Error(err)
		}
	}
	if succeeded != 1 {
		t.Errorf("%d writers succeeded", succeeded)
	}
}

// TestUpdatePreconditions checks the preconditions on uid and resourceVersion.
func TestUpdatePreconditions(t *testing.T) {
	r := newRegistry(t)
	original := create(t, r, r.configMap(t, ""), configMap("x", "1"))
	for _, c := range []struct {
		name, uid, version string
		matches            func(error) bool
		says               string
	}{
		{"none", "", "", nil, ""},
		{"zero", "", "0", nil, ""},
		{"right uid", string(original.GetUID()), "", nil, ""},
		{"wrong uid", "other", "", apierrors.IsConflict, "Precondition failed: UID in precondition: other, UID in object meta: " + string(original.GetUID())},
		{"old version", "", "1", apierrors.IsConflict, modifiedMessage},
		{"no version", "", "new", func(err error) bool { return apierrors.ReasonForError(err) == "" }, "strconv.ParseUint: parsing \"new\": invalid syntax"},
	} {
		for _, dryRun := range []bool{true, false} {
			obj := configMap("x", "2")
			obj.UID, obj.ResourceVersion = types.UID(c.uid), c.version
			_, err := r.Update(t.Context(), r.configMap(t, "x"), replaceBy(obj), UpdateOptions{Preconditions: preconditionsOf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: obj.UID}}), WriteOptions: WriteOptions{DryRun: dryRun}})
			if c.name == "wrong uid" && strings.Contains(err.Error(), "Key: "+r.o.EtcdPrefix+"/") == dryRun {
				t.Errorf("%s (dry run %t): %v", c.name, dryRun, err)
			}
			if c.matches == nil && err != nil || c.matches != nil && (!c.matches(err) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%s (dry run %t): %v", c.name, dryRun, err)
			}
		}
	}
	budget := r.at(t, policyv1.SchemeGroupVersion, "poddisruptionbudgets", "x")
	create(t, r, budget, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "x"}})
	_, err := r.Update(t.Context(), budget, replaceBy(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "x"}}), UpdateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "must be specified for an update") {
		t.Errorf("a kind that requires a resourceVersion: %v", err)
	}
	budget.Sub = &api.Field{Name: "part", WriteRules: budget.Resource.Rules()}
	_, err = r.Update(t.Context(), budget, replaceBy(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "x"}}), UpdateOptions{})
	if err != nil {
		t.Errorf("its subresource, which does not: %v", err)
	}
}

// TestUpdateWithoutChangeKeepsTheVersion checks that an update without a change writes
// nothing.
func TestUpdateWithoutChangeKeepsTheVersion(t *testing.T) {
	r := newRegistry(t)
	original := create(t, r, r.configMap(t, ""), configMap("x", "1"))
	out, err := r.Update(t.Context(), r.configMap(t, "x"), replaceBy(configMap("x", "1")), UpdateOptions{})
	if err != nil || out.Object.GetResourceVersion() != original.GetResourceVersion() {
		t.Errorf("got %v, %v; want version %s", out.Object, err, original.GetResourceVersion())
	}
}

// TestUpdateDryRunChangesNothing checks that a dry run of an update writes nothing to etcd.
func TestUpdateDryRunChangesNothing(t *testing.T) {
	r := newRegistry(t)
	original := create(t, r, r.configMap(t, ""), configMap("x", "1"))
	before, _ := r.store.Revision(t.Context())
	out, err := r.Update(t.Context(), r.configMap(t, "x"), replaceBy(configMap("x", "2")), UpdateOptions{WriteOptions: WriteOptions{DryRun: true}})
	if err != nil || out.Object.(*corev1.ConfigMap).Data["key"] != "2" || out.Object.GetResourceVersion() != original.GetResourceVersion() {
		t.Errorf("got %v, %v", out.Object, err)
	}
	if after, _ := r.store.Revision(t.Context()); after != before {
		t.Errorf("etcd went from revision %d to %d", before, after)
	}
}

// TestStatusAndSpecAreSeparate checks that an update does not change the status, and that
// an update of the status changes nothing else.
func TestStatusAndSpecAreSeparate(t *testing.T) {
	r := newRegistry(t)
	at := r.at(t, policyv1.SchemeGroupVersion, "poddisruptionbudgets", "x")
	create(t, r, at, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "x"}})
	change := func(status bool) *policyv1.PodDisruptionBudget {
		t.Helper()
		to := at
		to.Status = status
		out, err := r.Update(t.Context(), to, changeBy(func(b *policyv1.PodDisruptionBudget) {
			b.Labels = map[string]string{"status": fmt.Sprint(status)}
			b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"status": fmt.Sprint(status)}}
			b.Status.CurrentHealthy++
			b.Generation = 99
		}), UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return out.Object.(*policyv1.PodDisruptionBudget)
	}
	got := change(false)
	if got.Status.CurrentHealthy != 0 || got.Spec.Selector == nil || got.Generation != 2 {
		t.Errorf("after an update: %+v", got)
	}
	got = change(true)
	if got.Status.CurrentHealthy != 1 || got.Spec.Selector.MatchLabels["status"] != "false" || got.Generation != 2 || got.Labels["status"] != "true" {
		t.Errorf("after an update of the status: %+v", got)
	}
	if got = change(false); got.Generation != 2 {
		t.Errorf("a change of the status increments the generation to %d", got.Generation)
	}
}

// TestUpdateOfMissingObject checks which updates create a missing object.
func TestUpdateOfMissingObject(t *testing.T) {
	r := newRegistry(t)
	o := UpdateOptions{AuthorizeCreate: allowed}
	if _, err := r.Update(t.Context(), r.configMap(t, "x"), replaceBy(configMap("x", "1")), o); !apierrors.IsNotFound(err) {
		t.Errorf("a kind without creation on update: %v", err)
	}
	at := r.at(t, rbacv1.SchemeGroupVersion, "roles", "x")
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "gone"}}
	precise := o
	precise.Preconditions.UID = &role.UID
	if _, err := r.Update(t.Context(), at, replaceBy(role), precise); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "UID in precondition: gone, UID in object meta: ") {
		t.Errorf("the uid of a deleted object: %v", err)
	}
	role.UID, role.ResourceVersion = "", "5"
	forbidden := o
	forbidden.AuthorizeCreate = func(context.Context) error { return apierrors.NewForbidden(rbacv1.Resource("roles"), "x", nil) }
	if _, err := r.Update(t.Context(), at, replaceBy(role), forbidden); !apierrors.IsForbidden(err) || stored(t, r, at) != nil {
		t.Errorf("an unauthorized creation: %v", err)
	}
	dry := o
	dry.DryRun = true
	if out, err := r.Update(t.Context(), at, replaceBy(role), dry); err != nil || !out.Created || stored(t, r, at) != nil {
		t.Errorf("dry run: %+v, %v", out, err)
	}
	if out, err := r.Update(t.Context(), at, replaceBy(role), o); err != nil || !out.Created || stored(t, r, at) == nil {
		t.Errorf("got %+v, %v", out, err)
	}
	if out, err := r.Update(t.Context(), at, changeBy(func(*rbacv1.Role) {}), UpdateOptions{}); err != nil || out.Created {
		t.Errorf("an update after the creation: %+v, %v", out, err)
	}
}

// TestCreateOnUpdateWipesMetadata checks that an update or an apply that creates an object
// stores none of the metadata that only the server sets, and that mutating admission sees it.
func TestCreateOnUpdateWipesMetadata(t *testing.T) {
	r := newRegistry(t)
	rec := &recorder{}
	r.o.Admission = func() Admission { return rec }
	long := metav1.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, isApply := range map[string]bool{"update": false, "apply": true} {
		var seen metav1.ObjectMeta
		rec.mutate = func(a *Attributes) { seen = a.Object.(*rbacv1.Role).ObjectMeta }
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{
			Name: name, SelfLink: "/x", CreationTimestamp: long, DeletionTimestamp: &long, DeletionGracePeriodSeconds: ptr.To(int64(30)),
		}}
		at := r.at(t, rbacv1.SchemeGroupVersion, "roles", name)
		o := UpdateOptions{AuthorizeCreate: allowed, IsApply: isApply}
		if _, err := r.Update(t.Context(), at, replaceBy(role), o); err != nil {
			t.Fatal(err)
		}
		if seen.DeletionTimestamp == nil || seen.SelfLink == "" || !seen.CreationTimestamp.Equal(&long) {
			t.Errorf("%s: admission sees %+v", name, seen)
		}
		got := stored(t, r, at).(*rbacv1.Role)
		if got.UID == "" || got.CreationTimestamp.Equal(&long) || got.DeletionTimestamp != nil || got.DeletionGracePeriodSeconds != nil || got.SelfLink != "" {
			t.Errorf("%s: stored %+v", name, got.ObjectMeta)
		}
	}
}

// allowed authorizes every creation.
func allowed(context.Context) error { return nil }

// TestCreateOnUpdateUnderConcurrency checks that concurrent updates of a missing object all
// succeed, and that one of them creates it.
func TestCreateOnUpdateUnderConcurrency(t *testing.T) {
	r := newRegistry(t)
	at := r.at(t, coordinationv1.SchemeGroupVersion, "leases", "x")
	var wg sync.WaitGroup
	var mu sync.Mutex
	created := 0
	for range 8 {
		wg.Go(func() {
			out, err := r.Update(t.Context(), at, func(_ context.Context, old api.Object) (api.Object, error) {
				if old == nil {
					return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, nil
				}
				return old, nil
			}, UpdateOptions{AuthorizeCreate: allowed})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if out.Created {
				created++
			}
		})
	}
	wg.Wait()
	if created != 1 {
		t.Errorf("%d updates created the object", created)
	}
}

// TestUpdateRemovesLastFinalizer checks that a terminating object is removed with its last
// finalizer.
func TestUpdateRemovesLastFinalizer(t *testing.T) {
	r := newRegistry(t)
	at := r.configMap(t, "x")
	create(t, r, at, configMap("x", "1", "example.com/a", "example.com/b"))
	if _, err := r.Delete(t.Context(), at, DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	keep := func(names ...string) Change {
		return changeBy(func(m *corev1.ConfigMap) { m.Finalizers = names })
	}
	if _, err := r.Update(t.Context(), at, keep("example.com/a", "example.com/c"), UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a finalizer was added to a terminating object: %v", err)
	}
	if out, err := r.Update(t.Context(), at, keep("example.com/a"), UpdateOptions{}); err != nil || out.Deleted {
		t.Errorf("with one finalizer left: %+v, %v", out, err)
	}
	if out, err := r.Update(t.Context(), at, keep(), UpdateOptions{WriteOptions: WriteOptions{DryRun: true}}); err != nil || !out.Deleted || stored(t, r, at) == nil {
		t.Errorf("dry run: %+v, %v", out, err)
	}
	original := stored(t, r, at)
	out, err := r.Update(t.Context(), at, keep(), UpdateOptions{})
	if err != nil || !out.Deleted || stored(t, r, at) != nil {
		t.Errorf("with no finalizer left: %+v, %v", out, err)
	}
	if out.Object.GetResourceVersion() <= original.GetResourceVersion() || len(original.GetFinalizers()) != 1 {
		t.Errorf("its last state has version %s, and the one before %v", out.Object.GetResourceVersion(), original)
	}
}
