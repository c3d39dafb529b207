package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// below returns a Target for a subresource of the object.
func (t Target) below(sub string) Target {
	t.Sub = t.Resource.Subresource(sub)
	return t
}

func simplePod(t *testing.T, r *Registry, name string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	r.at(t, corev1.SchemeGroupVersion, "pods", name).Resource.Default(p)
	return p
}

func bindingOf(name string, uid types.UID, resourceVersion string) *corev1.Binding {
	return &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, ResourceVersion: resourceVersion}, Target: corev1.ObjectReference{Name: "n"}}
}

// TestPostOrder checks that a posted object passes mutating admission, then the
// subresource's check, then validating admission, before any object is read.
func TestPostOrder(t *testing.T) {
	r := newRegistry(t)
	rec := &recorder{}
	r.o.Admission = func() Admission { return rec }
	eviction := r.at(t, corev1.SchemeGroupVersion, "pods", "p").below("eviction")
	for _, c := range []struct {
		name, phases, want string
	}{
		{"q", "mutate", "name in URL does not match name in Eviction object"},
		{"p", "mutate validate", `pods "p" not found`},
	} {
		rec.calls = nil
		_, err := r.Post(t.Context(), eviction, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: c.name}}, WriteOptions{})
		var phases []string
		for _, calls := range rec.calls {
			phases = append(phases, strings.Fields(calls)[0])
		}
		if err == nil || err.Error() != c.want || strings.Join(phases, " ") != c.phases {
			t.Errorf("eviction of %s: %v after %v", c.name, err, rec.calls)
		}
	}
}

// TestBindingPreconditions checks that the uid and the resourceVersion of a binding are
// preconditions on its pod, except the uid of a binding that is not posted to the pod's
// subresource.
func TestBindingPreconditions(t *testing.T) {
	r := newRegistry(t)
	legacy := r.at(t, corev1.SchemeGroupVersion, "bindings", "")
	for i, c := range []struct {
		uid, version string // "" or a wrong one; "=": the right one
		legacy       bool
		want         string
	}{
		{"", "", false, ""},
		{"=", "=", false, ""},
		{"wrong", "", false, "Precondition failed: UID in precondition: wrong, UID in object meta: "},
		{"wrong", "1", false, "Precondition failed: UID in precondition: wrong, UID in object meta: "},
		{"=", "1", false, "Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: "},
		{"", "x", false, "Precondition failed: ResourceVersion in precondition: x, ResourceVersion in object meta: "},
		{"wrong", "", true, ""},
		{"", "1", true, "Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: "},
	} {
		name := fmt.Sprint("p", i)
		at := r.at(t, corev1.SchemeGroupVersion, "pods", name)
		pod := create(t, r, at, simplePod(t, r, name))
		uid, version := types.UID(c.uid), c.version
		if c.uid == "=" {
			uid = pod.GetUID()
		}
		if c.version == "=" {
			version = pod.GetResourceVersion()
		}
		var err error
		if b := bindingOf(name, uid, version); c.legacy {
			_, err = r.VirtualCreate(t.Context(), legacy, b, WriteOptions{})
		} else {
			_, err = r.Post(t.Context(), at.below("binding"), b, WriteOptions{})
		}
		bound := stored(t, r, at).(*corev1.Pod).Spec.NodeName == "n"
		if bound != (c.want == "") || bound != (err == nil) {
			t.Errorf("%+v: bound %t, %v", c, bound, err)
		}
		if err != nil && (!apierrors.IsConflict(err) || !strings.Contains(err.Error(), fmt.Sprintf(
			"on pods %q: StorageError: invalid object, Code: 4, Key: /registry/pods/ns/%s, ResourceVersion: 0, AdditionalErrorMsg: %s", name, name, c.want))) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for name, want := range map[string]string{"": "Name parameter required.", "a/b": `Name parameter invalid: "a/b": may not contain '/'`} {
		if _, err := r.VirtualCreate(t.Context(), legacy, bindingOf(name, "", ""), WriteOptions{}); err == nil || err.Error() != want {
			t.Errorf("binding of %q: %v", name, err)
		}
	}
}

// TestEvictionWrites checks that admission sees the update of a budget's status, which the
// server makes under its own name, but not the update and the deletion of the pod, which
// are part of the request.
func TestEvictionWrites(t *testing.T) {
	r := newRegistry(t)
	at := r.at(t, corev1.SchemeGroupVersion, "pods", "p")
	pod := simplePod(t, r, "p")
	pod.Spec.NodeName = "n"
	create(t, r, at, pod)
	budgets := r.at(t, policyv1.SchemeGroupVersion, "poddisruptionbudgets", "b")
	create(t, r, budgets, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}})
	status := func(at Target, change Change) {
		t.Helper()
		at.Status = true
		if _, err := r.Update(t.Context(), at, change, UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	status(at, changeBy(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }))
	status(budgets, changeBy(func(b *policyv1.PodDisruptionBudget) {
		b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, DisruptionsAllowed: 1}
	}))
	rec := &recorder{}
	var users []string
	rec.mutate = func(a *Attributes) { users = append(users, a.User.Name) }
	r.o.Admission = func() Admission { return rec }
	evict := func(dryRun bool) []string {
		t.Helper()
		rec.calls, users = nil, nil
		_, err := r.Post(t.Context(), at.below("eviction"), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, WriteOptions{DryRun: dryRun, Manager: "m"})
		if err != nil {
			t.Fatal(err)
		}
		return rec.calls
	}
	posted := []string{`mutate create pods/eviction "p" *v1.Eviction`, `validate create pods/eviction "p" *v1.Eviction`}
	if got := evict(true); !slices.Equal(got, posted) {
		t.Errorf("dry run: admission was asked %q", got)
	}
	want := append(posted, `mutate update poddisruptionbudgets/status "b" *v1.PodDisruptionBudget`, `validate update poddisruptionbudgets/status "b" *v1.PodDisruptionBudget`)
	if got := evict(false); !slices.Equal(got, want) || !slices.Equal(users, []string{"", "system:apiserver"}) {
		t.Errorf("admission was asked %q, by %q", got, users)
	}
	p, b := stored(t, r, at).(*corev1.Pod), stored(t, r, budgets).(*policyv1.PodDisruptionBudget)
	if p.DeletionTimestamp == nil || len(p.Status.Conditions) != 1 || p.Status.Conditions[0].Type != corev1.DisruptionTarget {
		t.Errorf("pod: %+v", p)
	}
	if b.Status.DisruptionsAllowed != 0 || len(b.Status.DisruptedPods) != 1 {
		t.Errorf("budget: %+v", b.Status)
	}
}

// TestSystemFields checks that the uid and the times in a created or posted object are
// cleared before admission, except where they have a meaning.
func TestSystemFields(t *testing.T) {
	r := newRegistry(t)
	rec := &recorder{}
	r.o.Admission = func() Admission { return rec }
	seen := ""
	rec.mutate = func(a *Attributes) {
		seen = fmt.Sprint(string(a.Object.GetUID()), a.Object.GetCreationTimestamp().Year(), a.Object.GetDeletionTimestamp() != nil)
	}
	meta := metav1.ObjectMeta{Name: "p", UID: "u", CreationTimestamp: metav1.NewTime(noon), DeletionTimestamp: &metav1.Time{Time: noon}}
	pods := r.at(t, corev1.SchemeGroupVersion, "pods", "p")
	for what, post := range map[string]struct {
		kept bool
		do   func()
	}{
		"create": {false, func() {
			_, _ = r.Create(t.Context(), r.configMap(t, ""), &corev1.ConfigMap{ObjectMeta: meta}, WriteOptions{})
		}},
		"eviction": {false, func() {
			_, _ = r.Post(t.Context(), pods.below("eviction"), &policyv1.Eviction{ObjectMeta: meta}, WriteOptions{})
		}},
		"binding": {true, func() {
			_, _ = r.Post(t.Context(), pods.below("binding"), &corev1.Binding{ObjectMeta: meta}, WriteOptions{})
		}},
		"legacy binding": {false, func() {
			_, _ = r.VirtualCreate(t.Context(), r.at(t, corev1.SchemeGroupVersion, "bindings", ""), &corev1.Binding{ObjectMeta: meta}, WriteOptions{})
		}},
	} {
		seen = ""
		post.do()
		if want := map[bool]string{true: "u2026true", false: "1false"}[post.kept]; strings.ReplaceAll(seen, " ", "") != want {
			t.Errorf("%s: admission saw %q, want %q", what, seen, want)
		}
	}
}
