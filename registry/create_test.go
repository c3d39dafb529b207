package registry

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCreateSetsServerFields checks the fields that the server sets in a new object,
// whatever the client sent.
func TestCreateSetsServerFields(t *testing.T) {
	r := newRegistry(t)
	long := int64(30)
	at := metav1.NewTime(noon)
	sent := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{
			Name: "x", UID: "mine", Generation: 7, SelfLink: "/x", CreationTimestamp: metav1.Unix(1, 0),
			DeletionTimestamp: &at, DeletionGracePeriodSeconds: &long,
		},
		Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 3},
	}
	got := create(t, r, r.at(t, policyv1.SchemeGroupVersion, "poddisruptionbudgets", ""), sent).(*policyv1.PodDisruptionBudget)
	if got.UID == "mine" || len(got.UID) != 36 {
		t.Errorf("uid is %q", got.UID)
	}
	if !got.CreationTimestamp.Time.Equal(noon) || got.Generation != 1 || got.SelfLink != "" || got.Namespace != "ns" || got.ResourceVersion == "" {
		t.Errorf("metadata is %+v", got.ObjectMeta)
	}
	if got.DeletionTimestamp != nil || got.DeletionGracePeriodSeconds != nil {
		t.Error("a new object is being deleted")
	}
	if got.Status.CurrentHealthy != 0 {
		t.Error("a client set the status of a new object")
	}
}

// TestCreateRefuses checks the errors for objects that exist, are invalid or have another
// namespace.
func TestCreateRefuses(t *testing.T) {
	r := newRegistry(t)
	create(t, r, r.configMap(t, ""), configMap("taken", "1"))
	create(t, r, r.configMap(t, ""), configMap("leaving", "1", "example.com/stay"))
	if _, err := r.Delete(t.Context(), r.configMap(t, "leaving"), DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	elsewhere := configMap("x", "1")
	elsewhere.Namespace = "other"
	for _, c := range []struct {
		name    string
		obj     *corev1.ConfigMap
		matches func(error) bool
		says    string
	}{
		{"taken", configMap("taken", "2"), apierrors.IsAlreadyExists, `configmaps "taken" already exists`},
		{"being deleted", configMap("leaving", "2"), apierrors.IsAlreadyExists, `object is being deleted: configmaps "leaving" already exists`},
		{"another namespace", elsewhere, apierrors.IsBadRequest, "the namespace of the provided object does not match"},
		{"no name", configMap("", "1"), apierrors.IsInvalid, "name or generateName is required"},
		{"bad name", configMap("Not_A_Name", "1"), apierrors.IsInvalid, "metadata.name: Invalid value"},
	} {
		for _, dryRun := range []bool{false, true} {
			_, err := r.Create(t.Context(), r.configMap(t, ""), c.obj.DeepCopy(), WriteOptions{DryRun: dryRun})
			if err == nil || !c.matches(err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s (dry run %t): %v", c.name, dryRun, err)
			}
		}
	}
	if got := stored(t, r, r.configMap(t, "taken")).(*corev1.ConfigMap).Data["key"]; got != "1" {
		t.Errorf("the existing object is now %q", got)
	}
}

// TestCreateNamesObjects checks that an object is stored under the name that its kind gives it, and that
// validating admission sees this name.
func TestCreateNamesObjects(t *testing.T) {
	r := newRegistry(t)
	rec := &recorder{}
	r.o.Admission = func() Admission { return rec }
	at := r.at(t, corev1.SchemeGroupVersion, "limitranges", "")
	for _, dryRun := range []bool{true, false} {
		rec.calls = nil
		out, err := r.Create(t.Context(), at, &corev1.LimitRange{}, WriteOptions{DryRun: dryRun})
		if err != nil {
			t.Fatal(err)
		}
		named := r.at(t, corev1.SchemeGroupVersion, "limitranges", out.Object.GetName())
		if len(named.Name) != 36 || (stored(t, r, named) == nil) != dryRun {
			t.Errorf("dry run %t: the object %q is not stored as expected", dryRun, named.Name)
		}
		want := fmt.Sprintf(`[mutate create limitranges/ "" *v1.LimitRange validate create limitranges/ %q *v1.LimitRange]`, named.Name)
		if got := fmt.Sprint(rec.calls); got != want {
			t.Errorf("dry run %t: got %s, want %s", dryRun, got, want)
		}
	}
}

// TestCreateWithResourceVersion checks that a creation with a resourceVersion fails after
// all other checks, and that a dry run returns the resourceVersion.
func TestCreateWithResourceVersion(t *testing.T) {
	r := newRegistry(t)
	create(t, r, r.configMap(t, ""), configMap("taken", "1"))
	const set = "resourceVersion should not be set on objects to be created"
	for _, c := range []struct {
		name, version    string
		wantErr, wantDry string
	}{
		{"x", "5", set, ""},
		{"x", "0", "", ""},
		{"y", "none", "", ""},
		{"taken", "5", set, `configmaps "taken" already exists`},
		{"Not_A_Name", "5", "metadata.name: Invalid value", "metadata.name: Invalid value"},
	} {
		for _, dryRun := range []bool{true, false} {
			obj := configMap(c.name, "1")
			obj.ResourceVersion = c.version
			want := c.wantErr
			if dryRun {
				want = c.wantDry
			}
			out, err := r.Create(t.Context(), r.configMap(t, ""), obj, WriteOptions{DryRun: dryRun})
			switch {
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)), want == "" && err != nil:
				t.Errorf("%s with %q (dry run %t): got error %v, want %q", c.name, c.version, dryRun, err, want)
			case dryRun && err == nil && out.Object.GetResourceVersion() != c.version:
				t.Errorf("%s with %q: the dry run answers with %q", c.name, c.version, out.Object.GetResourceVersion())
			}
		}
	}
}

// TestCreateDryRunChangesNothing checks that a dry run of a creation writes nothing to
// etcd.
func TestCreateDryRunChangesNothing(t *testing.T) {
	r := newRegistry(t)
	before, _ := r.store.Revision(t.Context())
	out, err := r.Create(t.Context(), r.configMap(t, ""), configMap("x", "1"), WriteOptions{DryRun: true})
	if err != nil || out.Item != nil || !out.Created || out.Object.GetUID() == "" || out.Object.GetResourceVersion() != "" {
		t.Fatalf("got %+v, %v", out, err)
	}
	if after, _ := r.store.Revision(t.Context()); after != before {
		t.Errorf("etcd went from revision %d to %d", before, after)
	}
	if stored(t, r, r.configMap(t, "x")) != nil {
		t.Error("the object exists")
	}
}

// TestGenerateName checks the form of generated names.
func TestGenerateName(t *testing.T) {
	shape := regexp.MustCompile(`^[bcdfghjklmnpqrstvwxz2456789]{5}$`)
	for _, prefix := range []string{"a-", strings.Repeat("a", 58), strings.Repeat("a", 300)} {
		got := generateName(prefix)
		want := prefix[:min(len(prefix), 58)]
		if !strings.HasPrefix(got, want) || !shape.MatchString(got[len(want):]) {
			t.Errorf("%q gave %q", prefix, got)
		}
	}
	r := newRegistry(t)
	if got := r.at(t, networkingv1.SchemeGroupVersion, "ipaddresses", "").newName("10.0.0.1"); got != "10.0.0.1" {
		t.Errorf("an IP address gets the name %q", got)
	}
	seen := map[string]bool{}
	for range 20 {
		obj := configMap("", "1")
		obj.GenerateName = "gen-"
		seen[create(t, r, r.configMap(t, ""), obj).GetName()] = true
	}
	if len(seen) != 20 {
		t.Errorf("20 names were %d", len(seen))
	}
}

// TestGenerateNameGivesUp checks the error when all generated names are taken.
func TestGenerateNameGivesUp(t *testing.T) {
	err := Target{Resource: newRegistry(t).configMap(t, "").Resource}.errGeneratedNameTaken("x-")
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Code != 409 || !apierrors.IsAlreadyExists(err) {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(fmt.Sprint(err), "x-") {
		t.Errorf("the message does not name the prefix: %v", err)
	}
}
