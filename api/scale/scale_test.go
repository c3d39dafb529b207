package scale

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
)

func replicaSets() Replicas[*appsv1.ReplicaSet] {
	return Replicas[*appsv1.ReplicaSet]{
		Wanted:   func(r *appsv1.ReplicaSet) **int32 { return &r.Spec.Replicas },
		Current:  func(r *appsv1.ReplicaSet) int32 { return r.Status.Replicas },
		Selector: func(r *appsv1.ReplicaSet) (string, error) { return SelectorText(r.Spec.Selector) },
		Replicas: AppsReplicasPaths(),
	}
}

func replicaSet(replicas *int32) *appsv1.ReplicaSet {
	r := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "u", ResourceVersion: "5"}}
	r.Spec.Replicas, r.Status.Replicas = replicas, 2
	r.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	return r
}

// TestView checks the Scale of an object.
func TestView(t *testing.T) {
	view := New(replicaSets())
	for want, replicas := range map[int32]*int32{0: nil, 3: new(int32(3))} {
		obj, err := view.View(replicaSet(replicas))
		if err != nil {
			t.Fatal(err)
		}
		s := obj.(*autoscalingv1.Scale)
		if s.Spec.Replicas != want || s.Status.Replicas != 2 || s.Status.Selector != "a=b" {
			t.Errorf("%+v, want %d replicas", s, want)
		}
		if s.Name != "a" || s.Namespace != "ns" || s.UID != "u" || s.ResourceVersion != "5" {
			t.Errorf("metadata %+v", s.ObjectMeta)
		}
		if previous, err := view.Previous(replicaSet(replicas)); err != nil || fmt.Sprint(previous) != fmt.Sprint(obj) {
			t.Errorf("%v, previous %v", err, previous)
		}
	}
	wrong := replicaSet(nil)
	wrong.Spec.Selector.MatchLabels["a"] = "b c"
	if _, err := view.View(wrong); err == nil {
		t.Error("no error for a wrong selector")
	}
}

// TestChange checks that a Scale sets the wanted replicas, which are not negative unless the kind decides.
func TestChange(t *testing.T) {
	requested := func(n int32) *autoscalingv1.Scale {
		return &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: autoscalingv1.ScaleSpec{Replicas: n}}
	}
	own := NewForAccessors(true, Accessors{OwnRules: true, SetWanted: func(obj api.Object, n int32) error {
		obj.(*appsv1.ReplicaSet).Spec.Replicas = &n
		return nil
	}, Row: scaleRow})
	const negative = `Scale.autoscaling "a" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0`
	for _, c := range []struct {
		view     *api.View
		replicas int32
		want     string
	}{{New(replicaSets()), 5, ""}, {New(replicaSets()), 0, ""}, {New(replicaSets()), -1, negative}, {own, -1, ""}} {
		obj, err := c.view.Change(replicaSet(new(int32(1))), requested(c.replicas))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%d: %s, want %s", c.replicas, got, c.want)
		}
		if err == nil && *obj.(*appsv1.ReplicaSet).Spec.Replicas != c.replicas {
			t.Errorf("%d: %d replicas", c.replicas, *obj.(*appsv1.ReplicaSet).Spec.Replicas)
		}
	}
}

// TestOlderVersions checks the two forms of the selector in the versions of the scaled kinds.
func TestOlderVersions(t *testing.T) {
	kind := New(replicaSets()).Kind
	var older *api.Version
	for i := range kind.Versions {
		if v := &kind.Versions[i]; v.GroupVersion.String() == "extensions/v1beta1" {
			older = v
		}
	}
	if older == nil {
		t.Fatal("no version extensions/v1beta1")
	}
	for name, c := range map[string]struct {
		status ScaleStatus
		want   string
	}{
		"labels":       {ScaleStatus{Replicas: 1, Selector: map[string]string{"a": "b"}}, "a=b"},
		"a text":       {ScaleStatus{Replicas: 1, Selector: map[string]string{"a": "b"}, TargetSelector: "a in (b)"}, "a in (b)"},
		"no selector":  {ScaleStatus{Replicas: 1}, ""},
		"empty labels": {ScaleStatus{Replicas: 1, Selector: map[string]string{}}, ""},
	} {
		old := &Scale{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: ScaleSpec{Replicas: 3}, Status: c.status}
		hub, err := older.ToHub(old.DeepCopyObject().(*Scale))
		if err != nil {
			t.Fatal(err)
		}
		s := hub.(*autoscalingv1.Scale)
		if s.Status.Selector != c.want || s.Spec.Replicas != 3 || s.Status.Replicas != 1 || s.Name != "a" {
			t.Errorf("%s: %+v", name, s)
		}
		back, err := older.FromHub(s)
		if err != nil || back.(*Scale).Status.TargetSelector != c.want || back.(*Scale).Spec.Replicas != 3 {
			t.Errorf("%s: back %+v, %v", name, back, err)
		}
	}
	if unregistered := NewForAccessors(true, Accessors{Unregistered: true, Row: scaleRow}).Kind; len(unregistered.Versions) != 1 {
		t.Errorf("an unregistered Scale has %d versions", len(unregistered.Versions))
	}
}

// TestColumns checks the table of a Scale.
func TestColumns(t *testing.T) {
	kind := New(replicaSets()).Kind
	var names []string
	for _, c := range kind.Columns() {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, "|"); got != "Name|Desired|Available|Age" {
		t.Errorf("columns %s", got)
	}
	s := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	s.Spec.Replicas, s.Status.Replicas = 2, 1
	if got := fmt.Sprint(kind.Row(s).Cells()[:3]); got != "[a 2 1]" {
		t.Errorf("cells %s", got)
	}
}
