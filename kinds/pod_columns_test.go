package kinds

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

func TestPodConditions(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]string{
		corev1.PodRunning: "", corev1.PodSucceeded: "Succeeded: The pod has completed successfully.", corev1.PodFailed: "Failed: The pod failed.",
	} {
		got := ""
		for _, c := range pod.Pod(features.Default(), time.Now).Row(&corev1.Pod{Status: corev1.PodStatus{Phase: phase}}).Conditions() {
			if c.Type == metav1.RowCompleted && c.Status == metav1.ConditionTrue {
				got += c.Reason + ": " + c.Message
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", phase, got, want)
		}
	}
}

func BenchmarkPodCells(b *testing.B) {
	p := &corev1.Pod{}
	if err := yaml.Unmarshal([]byte(`
metadata: {name: a, creationTimestamp: 2026-05-04T11:55:00Z}
spec: {nodeName: n1, containers: [{name: c}, {name: d}], initContainers: [{name: i, restartPolicy: Always}]}
status: {phase: Running, podIPs: [{ip: 10.0.0.1}],
  initContainerStatuses: [{name: i, started: true, ready: true, state: {running: {}}}],
  containerStatuses: [{name: c, ready: true, state: {running: {}}}, {name: d, ready: true, restartCount: 1, state: {running: {}},
    lastState: {terminated: {finishedAt: 2026-05-04T11:50:00Z}}}]}`), p); err != nil {
		b.Fatal(err)
	}
	kind := pod.Pod(features.Default(), time.Now)
	b.ReportAllocs()
	for b.Loop() {
		kind.Row(p)
	}
}
