package sandbox

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
)

// storageDriver is the provisioner of the StorageClasses and the driver of their volumes. The stages
// of stages/volumes.yaml play it.
const storageDriver = "sandbox.miniapiserver.io"

// StorageClasses of the sandbox. The default one has the name and the binding mode of kind's.
const (
	defaultStorageClass   = "standard"
	immediateStorageClass = "immediate"
)

// createStorage creates the StorageClasses and their CSIDriver, if they do not exist.
func createStorage(ctx context.Context, client kubernetes.Interface) error {
	no, yes := false, true
	driver := &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: storageDriver},
		Spec: storagev1.CSIDriverSpec{
			AttachRequired: &no, PodInfoOnMount: &no,
			VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
		},
	}
	if _, err := client.StorageV1().CSIDrivers().Create(ctx, driver, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating CSIDriver %s: %w", driver.Name, err)
	}
	for name, mode := range map[string]storagev1.VolumeBindingMode{
		defaultStorageClass:   storagev1.VolumeBindingWaitForFirstConsumer,
		immediateStorageClass: storagev1.VolumeBindingImmediate,
	} {
		policy := corev1.PersistentVolumeReclaimDelete
		class := &storagev1.StorageClass{
			ObjectMeta:  metav1.ObjectMeta{Name: name},
			Provisioner: storageDriver, ReclaimPolicy: &policy, VolumeBindingMode: &mode, AllowVolumeExpansion: &yes,
		}
		if name == defaultStorageClass {
			class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		}
		if _, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating StorageClass %s: %w", name, err)
		}
	}
	return nil
}

// stageFunctions returns the functions that the templates of stages have beside kwok's.
func (s *controlPlane) stageFunctions(ctx context.Context) gotpl.FuncMap {
	return gotpl.FuncMap{
		// StorageClass returns the class with a name.
		"StorageClass": func(name string) (map[string]any, error) {
			class, err := s.client.StorageV1().StorageClasses().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			return runtime.DefaultUnstructuredConverter.ToUnstructured(class)
		},
	}
}
