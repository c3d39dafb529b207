package scale

import (
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
)

// Scale is a Scale in the versions that it had in the groups of the kinds that it scales. The published
// packages of these versions have many other types, which no server needs any more.
type Scale struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is what is wanted.
	Spec ScaleSpec `json:"spec,omitempty"`
	// Status is what was seen.
	Status ScaleStatus `json:"status,omitempty"`
}

// ScaleSpec is what is wanted of a scaled object.
type ScaleSpec struct {
	// Replicas is the number of instances.
	// +optional
	// +k8s:beta(since: "1.37")=+k8s:optional
	// +default=0
	// +k8s:beta(since: "1.37")=+k8s:minimum=0
	Replicas int32 `json:"replicas,omitempty"`
}

// ScaleStatus is what was seen of a scaled object.
type ScaleStatus struct {
	// Replicas is the number of instances.
	Replicas int32 `json:"replicas"`
	// Selector has the labels of the instances, if they are all that selects them.
	Selector map[string]string `json:"selector,omitempty"`
	// TargetSelector is the selector as a text.
	TargetSelector string `json:"targetSelector,omitempty"`
}

// DeepCopyObject returns a deep copy.
func (s *Scale) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Selector = maps.Clone(s.Status.Selector)
	return &out
}

// olderVersions returns the versions that Scale had in the groups of the kinds that it scales. No
// path has them, but the result of a patch may be in one of them.
func olderVersions() []api.Version {
	var versions []api.Version
	for _, gv := range []schema.GroupVersion{{Group: "apps", Version: "v1beta1"}, {Group: "apps", Version: "v1beta2"},
		{Group: "extensions", Version: "v1beta1"}} {
		versions = append(versions, api.Version{
			GroupVersion: gv, NotServed: true, New: func() api.Object { return &Scale{} },
			ToHub: api.Converting(toHub), FromHub: api.Converting(fromHub),
		})
	}
	return versions
}

// toHub converts a Scale with two forms of its selector, of which the text has more.
func toHub(old *Scale) (*autoscalingv1.Scale, error) {
	text := old.Status.TargetSelector
	if text == "" && len(old.Status.Selector) > 0 {
		text = metav1.FormatLabelSelector(metav1.SetAsLabelSelector(old.Status.Selector))
	}
	return &autoscalingv1.Scale{
		ObjectMeta: old.ObjectMeta, Spec: autoscalingv1.ScaleSpec{Replicas: old.Spec.Replicas},
		Status: autoscalingv1.ScaleStatus{Replicas: old.Status.Replicas, Selector: text},
	}, nil
}

func fromHub(to *autoscalingv1.Scale) (*Scale, error) {
	return &Scale{ObjectMeta: to.ObjectMeta, Spec: ScaleSpec{Replicas: to.Spec.Replicas},
		Status: ScaleStatus{Replicas: to.Status.Replicas, TargetSelector: to.Status.Selector}}, nil
}
