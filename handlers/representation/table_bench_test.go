package representation

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// BenchmarkRow measures the cells of a written object.
func BenchmarkRow(b *testing.B) {
	for name, of := range map[string]struct {
		gv               schema.GroupVersion
		resource, object string
	}{
		"ConfigMap": {corev1.SchemeGroupVersion, "configmaps", "{metadata: {name: a, creationTimestamp: 2026-05-04T11:55:00Z}, data: {a: b}}"},
		"Deployment": {appsv1.SchemeGroupVersion, "deployments", `
metadata: {name: a, creationTimestamp: 2026-05-04T11:55:00Z}
spec: {replicas: 3, selector: {matchLabels: {app: a}}, template: {spec: {containers: [{name: c, image: i}, {name: d, image: j}]}}}
status: {readyReplicas: 3, updatedReplicas: 3, availableReplicas: 3}`},
		"Pod": {corev1.SchemeGroupVersion, "pods", `
metadata: {name: a, creationTimestamp: 2026-05-04T11:55:00Z}
spec: {nodeName: n1, containers: [{name: c}, {name: d}]}
status: {phase: Running, podIPs: [{ip: 10.0.0.1}], containerStatuses: [
  {name: c, ready: true, state: {running: {}}},
  {name: d, ready: true, restartCount: 1, state: {running: {}}, lastState: {terminated: {finishedAt: 2026-05-04T11:50:00Z}}}]}`},
	} {
		b.Run(name, func(b *testing.B) {
			c := newCodecOf(b, of.gv, of.resource)
			obj := c.resource.New()
			if err := yaml.UnmarshalStrict([]byte(of.object), obj); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.encodeCells(obj); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
