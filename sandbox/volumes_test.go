package sandbox

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// claim creates a claim of a StorageClass; "" is the default one.
func claim(t *testing.T, s *Sandbox, name, class string) {
	t.Helper()
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if class != "" {
		c.Spec.StorageClassName = &class
	}
	if _, err := s.Client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), c, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// volumeOf waits until a claim is bound, and returns its volume.
func volumeOf(t *testing.T, s *Sandbox, name string) *corev1.PersistentVolume {
	t.Helper()
	var c *corev1.PersistentVolumeClaim
	eventually(t, "claim "+name+" is bound", func(ctx context.Context) (_ bool, err error) {
		c, err = s.Client.CoreV1().PersistentVolumeClaims("default").Get(ctx, name, metav1.GetOptions{})
		return err == nil && c.Status.Phase == corev1.ClaimBound, err
	})
	volume, err := s.Client.CoreV1().PersistentVolumes().Get(t.Context(), c.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return volume
}

// releaseClaim deletes a claim.
func releaseClaim(t *testing.T, s *Sandbox, name string) {
	t.Helper()
	if err := s.Client.CoreV1().PersistentVolumeClaims("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestVolumes checks that claims get volumes when their class says, and that the reclaim policy decides
// what becomes of these.
func TestVolumes(t *testing.T) {
	s := Start(t, Options{})
	volumes, pods := s.Client.CoreV1().PersistentVolumes(), s.Client.CoreV1().Pods("default")
	retain, immediate := corev1.PersistentVolumeReclaimRetain, storagev1.VolumeBindingImmediate
	zone := corev1.TopologySelectorTerm{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{"sandbox-a", "sandbox-b"}}}}
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "retained"}, Provisioner: storageDriver, ReclaimPolicy: &retain, VolumeBindingMode: &immediate,
		MountOptions: []string{"noatime"}, AllowedTopologies: []corev1.TopologySelectorTerm{zone},
	}
	if _, err := s.Client.StorageV1().StorageClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	claim(t, s, "late", "")
	claim(t, s, "now", "immediate")
	claim(t, s, "retained", "retained")
	now, retained := volumeOf(t, s, "now"), volumeOf(t, s, "retained")
	if size := now.Spec.Capacity[corev1.ResourceStorage]; size.String() != "1Gi" || now.Spec.StorageClassName != "immediate" || now.Spec.NodeAffinity != nil {
		t.Errorf("got %+v", now.Spec)
	}
	if a := retained.Spec.NodeAffinity; a == nil || len(a.Required.NodeSelectorTerms) != 1 || len(a.Required.NodeSelectorTerms[0].MatchExpressions[0].Values) != 2 ||
		len(retained.Spec.MountOptions) != 1 {
		t.Errorf("got %+v", retained.Spec)
	}
	late, err := s.Client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "late", metav1.GetOptions{})
	if err != nil || late.Status.Phase != corev1.ClaimPending {
		t.Errorf("a claim without a pod is %s, %v", late.Status.Phase, err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: podTemplate(nil).Spec}
	for _, name := range []string{"late", "now", "retained"} {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
	}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bound := volumeOf(t, s, "late")
	eventually(t, "the pod with the claims runs", func(ctx context.Context) (bool, error) {
		p, err := pods.Get(ctx, "a", metav1.GetOptions{})
		return err == nil && p.Status.Phase == corev1.PodRunning, err
	})
	if err := pods.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"late", "now", "retained"} {
		releaseClaim(t, s, name)
	}
	for _, volume := range []string{bound.Name, now.Name} {
		eventually(t, "the volume is deleted", func(ctx context.Context) (bool, error) {
			_, err := volumes.Get(ctx, volume, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
	}
	eventually(t, "the other volume is released", func(ctx context.Context) (bool, error) {
		v, err := volumes.Get(ctx, retained.Name, metav1.GetOptions{})
		return err == nil && v.Status.Phase == corev1.VolumeReleased, err
	})
}

// TestExpandVolume checks that a claim can request more.
func TestExpandVolume(t *testing.T) {
	s := Start(t, Options{})
	claim(t, s, "a", "immediate")
	volume := volumeOf(t, s, "a")
	claims := s.Client.CoreV1().PersistentVolumeClaims("default")
	more := []byte(`{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`)
	if _, err := claims.Patch(t.Context(), "a", types.MergePatchType, more, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the claim and its volume have the requested size", func(ctx context.Context) (bool, error) {
		c, err := claims.Get(ctx, "a", metav1.GetOptions{})
		if err != nil || c.Status.Capacity.Storage().String() != "2Gi" {
			return false, err
		}
		v, err := s.Client.CoreV1().PersistentVolumes().Get(ctx, volume.Name, metav1.GetOptions{})
		return err == nil && v.Spec.Capacity.Storage().String() == "2Gi", err
	})
}
