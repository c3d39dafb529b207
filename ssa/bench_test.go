package ssa

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/yaml"
)

// smallPod is the Pod that the benchmarks write.
const smallPod = `
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: default
  labels: {app: web, tier: front}
spec:
  containers:
  - name: main
    image: nginx:1.27
    ports:
    - {containerPort: 80, protocol: TCP}
    env:
    - {name: A, value: "1"}
    - {name: B, value: "2"}
    resources:
      requests: {cpu: 100m, memory: 64Mi}
    volumeMounts:
    - {name: config, mountPath: /etc/config}
  volumes:
  - name: config
    configMap: {name: web}
`

// writers holds the Manager and the oracle of a benchmark.
type writers struct {
	ssa    *Manager
	oracle *managedfields.FieldManager
	w      Write
	o      *oracle
}

func newWriters(b *testing.B) *writers {
	res := resource(b, "pods")
	converter, schemas := builtIn()
	w := Write{Version: &res.Versions[0], Manager: "bench", Now: time.Now()}
	o := &oracle{res: res, converter: converter, resets: Resets{"": {"status"}}}
	return &writers{ssa: New(res, schemas, o.resets), oracle: o.manager(b, w), w: w, o: o}
}

func (w *writers) pod(b *testing.B) *corev1.Pod {
	pod := &corev1.Pod{}
	if err := yaml.Unmarshal([]byte(smallPod), pod); err != nil {
		b.Fatal(err)
	}
	w.o.res.Default(pod)
	return pod
}

func (w *writers) live(b *testing.B) *corev1.Pod {
	pod := w.pod(b)
	if err := w.ssa.Update(nil, pod, w.w); err != nil {
		b.Fatal(err)
	}
	pod.UID = "u"
	pod.CreationTimestamp = metav1.Now()
	return pod
}

func BenchmarkCreate(b *testing.B) {
	w := newWriters(b)
	pod := w.pod(b)
	b.Run("ssa", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			pod.ManagedFields = nil
			if err := w.ssa.Update(nil, pod, w.w); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("apimachinery", func(b *testing.B) {
		b.ReportAllocs()
		empty := w.o.typed(&corev1.Pod{}, w.w.Version.GroupVersion)
		w.o.typed(pod, w.w.Version.GroupVersion)
		for b.Loop() {
			pod.ManagedFields = nil
			if _, err := w.oracle.Update(empty, pod, w.w.Manager); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkLabel(b *testing.B) {
	w := newWriters(b)
	live := w.live(b)
	pod := live.DeepCopy()
	pod.Labels["tier"] = "back"
	other := w.w
	other.Manager = "labeller"
	b.Run("ssa", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			pod.ManagedFields = live.ManagedFields
			if err := w.ssa.Update(live, pod, other); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("apimachinery", func(b *testing.B) {
		b.ReportAllocs()
		w.o.typed(pod, w.w.Version.GroupVersion)
		w.o.typed(live, w.w.Version.GroupVersion)
		for b.Loop() {
			pod.ManagedFields = live.ManagedFields
			if _, err := w.oracle.Update(live, pod, other.Manager); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkApply(b *testing.B) {
	w := newWriters(b)
	patch := map[string]any{}
	if err := yaml.Unmarshal([]byte(smallPod), &patch); err != nil {
		b.Fatal(err)
	}
	first, err := w.ssa.Apply(nil, patch, w.w)
	if err != nil {
		b.Fatal(err)
	}
	live := first.(*corev1.Pod)
	live.UID = "u"
	patch["metadata"].(map[string]any)["labels"].(map[string]any)["tier"] = "back"
	b.Run("ssa", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := w.ssa.Apply(live, patch, w.w); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("apimachinery", func(b *testing.B) {
		b.ReportAllocs()
		w.o.typed(live, w.w.Version.GroupVersion)
		u := unstructuredOf(runtime.DeepCopyJSON(patch))
		for b.Loop() {
			if _, err := w.oracle.Apply(live, u, w.w.Manager, false); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkParseSet(b *testing.B) {
	w := newWriters(b)
	text := w.live(b).ManagedFields[0].FieldsV1.GetRawString()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := parseSet(text); err != nil {
			b.Fatal(err)
		}
	}
}
