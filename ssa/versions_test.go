package ssa

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

// TestInexactConversion compares an update in a version whose conversion reorders a list with the
// library of kube-apiserver: the owner in the other version keeps the list.
func TestInexactConversion(t *testing.T) {
	res := resource(t, "horizontalpodautoscalers")
	converter, schemas := builtIn()
	b := newBoth(res, converter, schemas, nil)
	obj := res.New()
	if err := json.Unmarshal([]byte(`{"metadata":{"name":"h","namespace":"ns","uid":"u"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"minReplicas":1,"maxReplicas":2,"metrics":[
		{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}},
		{"type":"Pods","pods":{"metric":{"name":"q"},"target":{"type":"AverageValue","averageValue":"10"}}}]}}`), obj); err != nil {
		t.Fatal(err)
	}
	b.update(t, obj, Write{Version: &res.Versions[0], Manager: "m"})
	older := &res.Versions[1]
	if older.ToHub == nil {
		t.Fatalf("%s is not converted", older)
	}
	next, err := b.m.converted(&view{version: older}, b.live)
	if err != nil {
		t.Fatal(err)
	}
	b.update(t, next, Write{Version: older, Manager: "m"})
}

// TestUnknownVersionOfCustomObject checks that an object that a version owns which its definition
// lacks cannot be applied, and that other writes keep its managedFields.
func TestUnknownVersionOfCustomObject(t *testing.T) {
	res, types := widgets(), widgetParser(t, widgetSchema)
	b := newBoth(res, types, types.schemas, nil)
	v := &res.Versions[0]
	b.apply(t, map[string]any{"apiVersion": v.String(), "kind": "Widget", "metadata": map[string]any{"name": "x"}, "spec": map[string]any{"size": 1.0}},
		Write{Version: v, Manager: "m"})
	fields := b.live.GetManagedFields()
	fields[0].APIVersion = "example.com/v0"
	b.live.SetManagedFields(fields)
	patch := map[string]any{"apiVersion": v.String(), "kind": "Widget", "metadata": map[string]any{"name": "x"}, "spec": map[string]any{"size": 2.0}}
	const want = "request to convert CR to an invalid group/version: example.com/v0"
	for _, manager := range []string{"m", "n"} {
		b.apply(t, patch, Write{Version: v, Manager: manager, Force: true})
		if _, err := b.m.Apply(b.live, patch, Write{Version: v, Manager: manager}); err == nil || err.Error() != want {
			t.Errorf("apply by %s: %v", manager, err)
		}
	}
	obj := b.live.DeepCopyObject().(api.Object)
	obj.SetLabels(map[string]string{"a": "b"})
	if err := b.m.Update(b.live, obj, Write{Version: v, Manager: "n"}); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("update: %v", err)
	}
	b.update(t, obj, Write{Version: v, Manager: "n"})
}

// TestApplyInOtherGroup checks that an apply in the core group keeps what its manager applied in another
// group, to which objects are not converted, and takes its entry over.
func TestApplyInOtherGroup(t *testing.T) {
	res := resource(t, "events")
	_, schemas := builtIn()
	m := New(res, schemas, ResetsOf(res))
	apply := func(live api.Object, apiVersion string, patch map[string]any) api.Object {
		t.Helper()
		for i := range res.Versions {
			if v := &res.Versions[i]; v.String() == apiVersion {
				patch["apiVersion"], patch["kind"], patch["metadata"] = apiVersion, "Event", map[string]any{"name": "e", "namespace": "ns"}
				obj, err := m.Apply(live, patch, Write{Version: v, Manager: "m"})
				if err != nil {
					t.Fatal(err)
				}
				return obj
			}
		}
		t.Fatalf("no version %s", apiVersion)
		return nil
	}
	live := apply(nil, "events.k8s.io/v1", map[string]any{"action": "A", "reason": "R"})
	live.SetUID("u")
	got := apply(live, "v1", map[string]any{"count": int64(1)}).(*corev1.Event)
	if got.Action != "A" || got.Reason != "R" || got.Count != 1 {
		t.Errorf("the event lost fields: %v", got)
	}
	if entries := got.ManagedFields; len(entries) != 1 || entries[0].APIVersion != "v1" {
		t.Errorf("managedFields %v", entries)
	}
}

// TestApplyOfUnconvertibleValue checks the error of an apply whose result cannot be converted to the version
// of another owner, which depends on whether the manager applied something before.
func TestApplyOfUnconvertibleValue(t *testing.T) {
	res := resource(t, "horizontalpodautoscalers")
	_, schemas := builtIn()
	m := New(res, schemas, ResetsOf(res))
	patch := func(apiVersion, part string, fields map[string]any) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": "h", "namespace": "ns"}, part: fields}
	}
	live, err := m.Apply(nil, patch("autoscaling/v2", "spec", map[string]any{"maxReplicas": int64(3)}), Write{Version: &res.Versions[0], Manager: "other"})
	if err != nil {
		t.Fatal(err)
	}
	live.SetUID("u")
	older := Write{Version: &res.Versions[1], Manager: "m", Subresource: "status", Force: true}
	bad := patch("autoscaling/v1", "status", map[string]any{"currentReplicas": int64(1), "lastScaleTime": "b"})
	if _, err := m.Apply(live, bad, older); err == nil || !strings.HasPrefix(err.Error(), "failed to convert new object: ") {
		t.Errorf("first apply: %v", err)
	}
	if live, err = m.Apply(live, patch("autoscaling/v1", "status", map[string]any{"currentReplicas": int64(1)}), older); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Apply(live, bad, older); err == nil || !strings.HasPrefix(err.Error(), "failed to prune fields: failed add back owned items: failed to convert merged object at version autoscaling/v2: ") {
		t.Errorf("second apply: %v", err)
	}
}

// TestAppliedManagedFields checks that managedFields in a patch are refused only if they can be read.
func TestAppliedManagedFields(t *testing.T) {
	res := resource(t, "configmaps")
	_, schemas := builtIn()
	m := New(res, schemas, ResetsOf(res))
	for _, test := range []struct {
		managedFields any
		want          string
	}{
		{[]any{}, "metadata.managedFields must be nil"},
		{[]any{map[string]any{"manager": "m"}}, "metadata.managedFields must be nil"},
		{[]any{map[string]any{"manager": int64(1)}}, ".metadata.managedFields[0].manager: expected string"},
		{[]any{map[string]any{"time": "x"}}, "failed to convert new object"},
		{[]any{"x"}, "failed to create typed patch object"},
	} {
		patch := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x", "managedFields": test.managedFields}}
		if _, err := m.Apply(nil, patch, Write{Version: &res.Versions[0], Manager: "m"}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q", test.managedFields, err, test.want)
		}
	}
}

// TestStatusOfOtherVersion checks that a write which removes the status takes it from the owner in
// another version, but not from the one in its own version.
func TestStatusOfOtherVersion(t *testing.T) {
	res, types := widgets(), widgetParser(t, widgetSchema)
	b := newBoth(res, types, types.schemas, Resets{"": {"status"}, "status": {"metadata", "spec"}})
	for i, manager := range []string{"own", "other"} {
		v := &res.Versions[i]
		b.apply(t, map[string]any{"apiVersion": v.String(), "kind": "Widget", "metadata": map[string]any{"name": "x"}, "status": map[string]any{manager: "b"}},
			Write{Version: v, Manager: manager, Subresource: "status"})
	}
	next := unstructuredOf(map[string]any{"apiVersion": res.Versions[0].String(), "kind": "Widget", "metadata": map[string]any{"name": "x"}, "spec": map[string]any{"any": "x"}})
	next.SetUID(b.live.GetUID())
	b.update(t, next, Write{Version: &res.Versions[0], Manager: "m"})
	var managers []string
	for _, e := range b.live.GetManagedFields() {
		managers = append(managers, e.Manager)
	}
	if got := strings.Join(managers, " "); got != "own m" {
		t.Errorf("managers %s", got)
	}
}

// TestItemWithoutKey checks that no field of an object is tracked that has an item of an associative
// list without its key, and that it cannot be applied.
func TestItemWithoutKey(t *testing.T) {
	res := resource(t, "serviceaccounts")
	converter, schemas := builtIn()
	b := newBoth(res, converter, schemas, nil)
	body := func(text string) api.Object {
		obj := res.New()
		if err := json.Unmarshal([]byte(text), obj); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	w := Write{Version: &res.Versions[0], Manager: "m"}
	patch := map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "x"}}
	b.update(t, body(`{"metadata":{"name":"x"}}`), w)
	b.update(t, body(`{"metadata":{"name":"x","uid":"u"},"secrets":[{}]}`), w)
	b.live = body(`{"metadata":{"name":"x","uid":"u"},"secrets":[{}]}`)
	b.apply(t, patch, w)
	b.live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{}}}`)}})
	b.update(t, body(`{"metadata":{"name":"x","uid":"u","labels":{"a":"b"}},"secrets":[{}]}`), w)
	b.apply(t, patch, w)
	if _, err := b.m.Apply(b.live, patch, w); err == nil || !strings.Contains(err.Error(), `.secrets: element 0: associative list with keys has an element that omits all key fields ["name"]`) {
		t.Errorf("apply: %v", err)
	}
}
