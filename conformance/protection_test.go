package conformance

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestClaimUsage checks the condition Unused of a bound claim before, during and after its use by a pod,
// and that another claim has none.
func TestClaimUsage(t *testing.T) {
	_, c := startWith(t, server.Options{})
	ctx, core := t.Context(), c.CoreV1()
	claims := core.PersistentVolumeClaims("default")
	for _, name := range []string{"bound", "pending"} {
		if _, err := claims.Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := claims.Patch(ctx, "bound", types.MergePatchType, []byte(`{"status":{"phase":"Bound"}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	wait := func(status corev1.ConditionStatus, reason string) {
		t.Helper()
		eventually(t, reason, func(ctx context.Context) (bool, error) {
			claim, err := claims.Get(ctx, "bound", metav1.GetOptions{})
			if err != nil || len(claim.Status.Conditions) == 0 {
				return false, err
			}
			got := claim.Status.Conditions[0]
			return len(claim.Status.Conditions) == 1 && got.Type == corev1.PersistentVolumeClaimUnused && got.Status == status && got.Reason == reason && !got.LastTransitionTime.IsZero(), nil
		})
	}
	wait(corev1.ConditionTrue, "NoPodsUsingPVC")
	volume := func(claim string) corev1.Volume {
		return corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
	}
	create := func(name string) {
		t.Helper()
		if _, err := core.Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "image"}}, Volumes: []corev1.Volume{volume("bound"), volume("pending")}}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("user")
	wait(corev1.ConditionFalse, "PodUsingPVC")
	if err := core.Pods("default").Delete(ctx, "user", *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	wait(corev1.ConditionTrue, "NoPodsUsingPVC")
	create("another")
	wait(corev1.ConditionFalse, "PodUsingPVC")
	if _, err := core.Pods("default").Patch(ctx, "another", types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	wait(corev1.ConditionTrue, "NoPodsUsingPVC")
	if claim, err := claims.Get(ctx, "pending", metav1.GetOptions{}); err != nil || len(claim.Status.Conditions) > 0 {
		t.Errorf("the pending claim has %v, %v", claim.Status.Conditions, err)
	}
}

// TestStorageProtection checks that storage objects in use are protected from deletion, and are
// deleted once they are unused.
func TestStorageProtection(t *testing.T) {
	_, c := startWith(t, server.Options{})
	ctx, core := t.Context(), c.CoreV1()
	class := "fast"
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.StorageV1().VolumeAttributesClasses().Create(ctx, &storagev1.VolumeAttributesClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, DriverName: "example.com", Parameters: map[string]string{"a": "b"}}, metav1.CreateOptions{}))
	must(core.PersistentVolumes().Create(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: modes, PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/p"}}}}, metav1.CreateOptions{}))
	must(core.PersistentVolumes().Patch(ctx, "pv", types.MergePatchType, []byte(`{"status":{"phase":"Bound"}}`), metav1.PatchOptions{}, "status"))
	must(core.PersistentVolumeClaims("default").Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "pvc"},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size}, VolumeAttributesClassName: &class}}, metav1.CreateOptions{}))
	must(core.Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "user"}, Spec: corev1.PodSpec{
		NodeName: "node", Containers: []corev1.Container{{Name: "main", Image: "image"}},
		Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "pvc"}}}},
	}}, metav1.CreateOptions{}))
	for _, err := range []error{
		c.StorageV1().VolumeAttributesClasses().Delete(ctx, class, metav1.DeleteOptions{}),
		core.PersistentVolumes().Delete(ctx, "pv", metav1.DeleteOptions{}),
		core.PersistentVolumeClaims("default").Delete(ctx, "pvc", metav1.DeleteOptions{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	claim := func(ctx context.Context) (bool, error) {
		_, err := core.PersistentVolumeClaims("default").Get(ctx, "pvc", metav1.GetOptions{})
		return gone(err)
	}
	if is, err := claim(ctx); is || err != nil {
		t.Fatalf("a claim that a pod uses is gone: %t, %v", is, err)
	}
	must(nil, core.Pods("default").Delete(ctx, "user", *metav1.NewDeleteOptions(0)))
	eventually(t, "claim gone", claim)
	eventually(t, "class gone", func(ctx context.Context) (bool, error) {
		_, err := c.StorageV1().VolumeAttributesClasses().Get(ctx, class, metav1.GetOptions{})
		return gone(err)
	})
	volume := func(ctx context.Context) (bool, error) {
		_, err := core.PersistentVolumes().Get(ctx, "pv", metav1.GetOptions{})
		return gone(err)
	}
	if is, err := volume(ctx); is || err != nil {
		t.Fatalf("a volume that is bound is gone: %t, %v", is, err)
	}
	must(core.PersistentVolumes().Patch(ctx, "pv", types.MergePatchType, []byte(`{"status":{"phase":"Released"}}`), metav1.PatchOptions{}, "status"))
	eventually(t, "volume gone", volume)
}
