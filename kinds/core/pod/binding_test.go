package pod

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

func TestBind(t *testing.T) {
	at := time.Unix(1700000000, 0)
	change := podBinding(func() time.Time { return at }, features.Default()).Change
	asked := &corev1.Binding{Target: corev1.ObjectReference{Name: "n"}, ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{"a": "new"}, Labels: map[string]string{"l": "new", "zone": "z"}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"l": "old", "k": "kept"}}}
	pod.Status.NominatedNodeName = "other"
	obj, err := change(pod, asked)
	if err != nil {
		t.Fatal(err)
	}
	p := obj.(*corev1.Pod)
	if p.Spec.NodeName != "n" || p.Status.NominatedNodeName != "" || len(p.Status.Conditions) != 1 || !p.Status.Conditions[0].LastTransitionTime.Time.Equal(at) {
		t.Errorf("got %+v", p)
	}
	if want := map[string]string{"a": "new"}; !maps.Equal(p.Annotations, want) {
		t.Errorf("annotations %v", p.Annotations)
	}
	if want := map[string]string{"l": "new", "k": "kept", "zone": "z"}; !maps.Equal(p.Labels, want) {
		t.Errorf("labels %v", p.Labels)
	}
	if _, err := change(p, asked); !apierrors.IsConflict(err) {
		t.Errorf("bound twice: %v", err)
	}
}

// TestBindWithoutGates checks that the pod keeps its labels and its nominated node.
func TestBindWithoutGates(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{NominatedNodeName: "other"}}
	obj, err := podBinding(time.Now, features.Gates{}).Change(pod, &corev1.Binding{
		Target: corev1.ObjectReference{Name: "n"}, ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"zone": "z"}}})
	if err != nil {
		t.Fatal(err)
	}
	if p := obj.(*corev1.Pod); p.Spec.NodeName != "n" || p.Status.NominatedNodeName != "other" || len(p.Labels) > 0 {
		t.Errorf("got %+v", p)
	}
}

func TestCheckBinding(t *testing.T) {
	for _, c := range []struct {
		name   string
		target corev1.ObjectReference
		want   string
	}{
		{"p", corev1.ObjectReference{Name: "n"}, ""},
		{"p", corev1.ObjectReference{Name: "n", Kind: "Node"}, ""},
		{"", corev1.ObjectReference{Name: "n"}, "name in URL does not match name in Binding object"},
		{"other", corev1.ObjectReference{}, "name in URL does not match name in Binding object"},
		{"p", corev1.ObjectReference{}, "target.name: Required value"},
		{"p", corev1.ObjectReference{Kind: "Pod", Name: "n"}, `target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"`},
	} {
		err := podBinding(time.Now, features.Default()).Check(&api.ActionRequest{Name: "p", Sent: &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: c.name}, Target: c.target}})
		if got := message(err); got != c.want {
			t.Errorf("%q to %+v: got %q, want %q", c.name, c.target, got, c.want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
