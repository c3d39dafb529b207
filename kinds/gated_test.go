package kinds

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// TestGatedFields checks that the fields of disabled gates are removed through every write, and that
// the table compiles for all kinds while all gates are disabled.
func TestGatedFields(t *testing.T) {
	for _, r := range For(features.Gates{}) {
		if r.Virtual == nil {
			prepare(r, r.New(), nil)
		}
	}
	kinds := map[string]*api.Resource{}
	for _, r := range All() {
		kinds[r.Name] = r
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{EvictionResponders: []corev1.EvictionResponder{{Name: "a"}}}}
	prepare(kinds["pods"], pod, nil)
	if len(pod.Spec.EvictionResponders) > 0 {
		t.Errorf("created: %+v", pod.Spec)
	}
	pod.Status.VolumeHealth = []corev1.PodVolumeHealth{{}}
	prepareStatus(kinds["pods"], pod, &corev1.Pod{})
	if len(pod.Status.VolumeHealth) > 0 {
		t.Errorf("status: %+v", pod.Status)
	}
	deployment := &appsv1.Deployment{}
	deployment.Spec.Template.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Mode: new(int32(1))}}}}
	prepare(kinds["deployments"], deployment, &appsv1.Deployment{})
	if deployment.Spec.Template.Spec.Volumes[0].EmptyDir.Mode != nil {
		t.Errorf("updated: %+v", deployment.Spec.Template.Spec)
	}
}

// TestImageVolumes checks volumes that an emulated older release removes with their mounts.
func TestImageVolumes(t *testing.T) {
	release := kubeversion.Emulating(kubeversion.MustParse("1.34"))
	gates, err := features.Emulated(release, nil)
	if err != nil {
		t.Fatal(err)
	}
	always, never := corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Volumes:        []corev1.Volume{{Name: "a"}, {Name: "b", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{}}}},
		InitContainers: []corev1.Container{{RestartPolicy: &always}, {RestartPolicy: &never}},
		Containers:     []corev1.Container{{VolumeMounts: []corev1.VolumeMount{{Name: "a"}, {Name: "b"}}, RestartPolicy: &never}},
	}}
	old := pod.DeepCopy()
	for _, r := range For(gates) {
		if r.Name == "pods" {
			prepare(r, pod, old)
			if !equality.Semantic.DeepEqual(pod, old) {
				t.Errorf("a feature that the stored pod uses: %+v", pod.Spec)
			}
			prepare(r, pod, nil)
		}
	}
	s := pod.Spec
	if len(s.Volumes) != 1 || len(s.Containers[0].VolumeMounts) != 1 {
		t.Errorf("volumes: %+v", s)
	}
	if s.InitContainers[0].RestartPolicy == nil || s.InitContainers[1].RestartPolicy != nil || s.Containers[0].RestartPolicy != nil {
		t.Errorf("restart policies: %+v", s)
	}
}
