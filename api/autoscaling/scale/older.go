package scale

import (
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
)

// olderVersions returns the versions that Scale had in the groups of the kinds that it scales. No
// path has them, but the result of a patch may be in one of them.
func olderVersions() []api.Version {
	return []api.Version{
		olderVersion(appsv1beta1.SchemeGroupVersion, func(old *appsv1beta1.Scale) *autoscalingv1.Scale {
			return fromOlder(old.ObjectMeta, old.Spec.Replicas, old.Status.Replicas, old.Status.Selector, old.Status.TargetSelector)
		}, func(to *autoscalingv1.Scale) *appsv1beta1.Scale {
			return &appsv1beta1.Scale{ObjectMeta: to.ObjectMeta, Spec: appsv1beta1.ScaleSpec{Replicas: to.Spec.Replicas},
				Status: appsv1beta1.ScaleStatus{Replicas: to.Status.Replicas, TargetSelector: to.Status.Selector}}
		}),
		olderVersion(appsv1beta2.SchemeGroupVersion, func(old *appsv1beta2.Scale) *autoscalingv1.Scale {
			return fromOlder(old.ObjectMeta, old.Spec.Replicas, old.Status.Replicas, old.Status.Selector, old.Status.TargetSelector)
		}, func(to *autoscalingv1.Scale) *appsv1beta2.Scale {
			return &appsv1beta2.Scale{ObjectMeta: to.ObjectMeta, Spec: appsv1beta2.ScaleSpec{Replicas: to.Spec.Replicas},
				Status: appsv1beta2.ScaleStatus{Replicas: to.Status.Replicas, TargetSelector: to.Status.Selector}}
		}),
		olderVersion(extensionsv1beta1.SchemeGroupVersion, func(old *extensionsv1beta1.Scale) *autoscalingv1.Scale {
			return fromOlder(old.ObjectMeta, old.Spec.Replicas, old.Status.Replicas, old.Status.Selector, old.Status.TargetSelector)
		}, func(to *autoscalingv1.Scale) *extensionsv1beta1.Scale {
			return &extensionsv1beta1.Scale{ObjectMeta: to.ObjectMeta, Spec: extensionsv1beta1.ScaleSpec{Replicas: to.Spec.Replicas},
				Status: extensionsv1beta1.ScaleStatus{Replicas: to.Status.Replicas, TargetSelector: to.Status.Selector}}
		}),
	}
}

// olderVersion returns a version with the Go type Old.
func olderVersion[T any, Old interface {
	*T
	api.Object
}](gv schema.GroupVersion, toHub func(Old) *autoscalingv1.Scale, fromHub func(*autoscalingv1.Scale) Old) api.Version {
	return api.Version{
		GroupVersion: gv, NotServed: true, New: func() api.Object { return Old(new(T)) },
		ToHub:   api.Converting(func(old Old) (*autoscalingv1.Scale, error) { return toHub(old), nil }),
		FromHub: api.Converting(func(hub *autoscalingv1.Scale) (Old, error) { return fromHub(hub), nil }),
	}
}

// fromOlder converts a Scale with two forms of its selector, of which the text has more.
func fromOlder(meta metav1.ObjectMeta, wanted, current int32, labels map[string]string, text string) *autoscalingv1.Scale {
	if text == "" && len(labels) > 0 {
		text = metav1.FormatLabelSelector(metav1.SetAsLabelSelector(labels))
	}
	return &autoscalingv1.Scale{
		ObjectMeta: meta, Spec: autoscalingv1.ScaleSpec{Replicas: wanted},
		Status: autoscalingv1.ScaleStatus{Replicas: current, Selector: text},
	}
}
