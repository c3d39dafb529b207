package pod

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestPodGracePeriod(t *testing.T) {
	for name, c := range map[string]struct {
		node  string
		phase corev1.PodPhase
		own   *int64
		asked *int64
		want  int64
	}{
		"own":           {node: "n", own: new(int64(30)), want: 30},
		"none":          {node: "n"},
		"asked":         {node: "n", own: new(int64(30)), asked: new(int64(5)), want: 5},
		"at once":       {node: "n", own: new(int64(30)), asked: new(int64(0))},
		"negative":      {node: "n", asked: new(int64(-1)), want: 1},
		"not scheduled": {own: new(int64(30))},
		"failed":        {node: "n", phase: corev1.PodFailed, own: new(int64(30))},
		"succeeded":     {node: "n", phase: corev1.PodSucceeded, asked: new(int64(5))},
	} {
		p := &corev1.Pod{}
		p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds, p.Status.Phase = c.node, c.own, c.phase
		if got := podGracePeriod(p, c.asked); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestPodQOS(t *testing.T) {
	for spec, want := range map[string]corev1.PodQOSClass{
		`{"containers":[{}]}`: corev1.PodQOSBestEffort,
		`{"containers":[{"resources":{"requests":{"ephemeral-storage":"1Gi"}}}]}`:                                       corev1.PodQOSBestEffort,
		`{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}`:                                                       corev1.PodQOSBurstable,
		`{"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}}]}`:    corev1.PodQOSGuaranteed,
		`{"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m","memory":"1Gi"}}}]}`: corev1.PodQOSBurstable,
		`{"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}},{}]}`: corev1.PodQOSBurstable,
		`{"containers":[{}],"initContainers":[{"resources":{"requests":{"cpu":"1"}}}]}`:                                 corev1.PodQOSBurstable,
		`{"containers":[{}],"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}}`:   corev1.PodQOSGuaranteed,
	} {
		var s corev1.PodSpec
		if err := json.Unmarshal([]byte(spec), &s); err != nil {
			t.Fatal(err)
		}
		if got := podQOS(&s); got != want {
			t.Errorf("%s: got %s, want %s", spec, got, want)
		}
	}
}

func TestPodCreate(t *testing.T) {
	r := Pod()
	p := &corev1.Pod{Spec: corev1.PodSpec{
		Containers:      []corev1.Container{{Image: "app"}, {Image: "registry.example:5000/app:1"}},
		SchedulingGates: []corev1.PodSchedulingGate{{Name: "a"}},
	}}
	r.Default(p)
	r.Create.PrepareForCreate(p)
	if p.Status.Phase != corev1.PodPending || p.Status.QOSClass != corev1.PodQOSBestEffort {
		t.Errorf("status %+v", p.Status)
	}
	if c := p.Status.Conditions; len(c) != 1 || c[0].Reason != "SchedulingGated" {
		t.Errorf("conditions %+v", c)
	}
	if p.Spec.Containers[0].ImagePullPolicy != corev1.PullAlways || p.Spec.Containers[1].ImagePullPolicy != corev1.PullIfNotPresent {
		t.Errorf("containers %+v", p.Spec.Containers)
	}
	if f := r.Fields.Selectable(p); f["spec.restartPolicy"] != "Always" || f["spec.schedulerName"] != "default-scheduler" || f["spec.hostNetwork"] != "false" {
		t.Errorf("fields %v", f)
	}
}

func TestPodStatusUpdate(t *testing.T) {
	old, obj := &corev1.Pod{}, &corev1.Pod{}
	old.OwnerReferences = []metav1.OwnerReference{{Name: "o"}}
	old.Status = corev1.PodStatus{QOSClass: corev1.PodQOSBurstable, ObservedGeneration: 3,
		Conditions: []corev1.PodCondition{{Type: "A", ObservedGeneration: 1}, {Type: "A", ObservedGeneration: 2}}}
	obj.Status.Conditions = []corev1.PodCondition{{Type: "A"}, {Type: "A"}, {Type: "A"}, {Type: "B"}}
	Pod().Status.PrepareForUpdate(obj, old)
	if len(obj.OwnerReferences) != 1 || obj.Status.QOSClass != corev1.PodQOSBurstable || obj.Status.ObservedGeneration != 3 {
		t.Errorf("got %+v", obj)
	}
	for i, want := range []int64{1, 2, 0, 0} {
		if got := obj.Status.Conditions[i].ObservedGeneration; got != want {
			t.Errorf("condition %d: got %d, want %d", i, got, want)
		}
	}
}

// TestInitContainerNames checks that an init container without a name does not hide that a
// later one has the name of the eighth container.
func TestInitContainerNames(t *testing.T) {
	p := &corev1.Pod{}
	for i := range 8 {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "c" + strconv.Itoa(i)})
	}
	p.Spec.InitContainers = []corev1.Container{{}, {}, {Name: "c7"}}
	var duplicates []string
	for _, err := range validatePod(p) {
		if err.Type == field.ErrorTypeDuplicate {
			duplicates = append(duplicates, err.Field)
		}
	}
	if want := []string{"spec.initContainers[2].name"}; !slices.Equal(duplicates, want) {
		t.Errorf("duplicates %v, want %v", duplicates, want)
	}
}
