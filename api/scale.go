package api

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scaled is what scale needs to know of a kind: where its numbers are.
type scaled struct {
	// wanted is the place of the number of replicas that is asked for, current
	// the number there are, selector which pods they are.
	wanted   func(obj Object) **int32
	current  func(obj Object) int32
	selector func(obj Object) (string, error)
	// replicas is the path of wanted by apiVersion.
	replicas map[string]string
}

// appsReplicas is where the kinds of the group apps keep what they are scaled
// by, in versions that are no longer served as well: fields may be owned in them.
func appsReplicas() map[string]string {
	return map[string]string{"apps/v1": replicasPath, "apps/v1beta1": replicasPath, "apps/v1beta2": replicasPath}
}

const replicasPath = "spec.replicas"

// scale is the subresource by which all kinds with replicas are scaled alike.
func scale(of scaled) *Subresource {
	return &Subresource{
		Name: "scale", Verbs: readWrite(),
		Replicas: of.replicas,
		Kind: &Resource{
			Name: "scale", Singular: "scale", Kind: "Scale",
			Namespaced: true,
			Versions:   served(autoscalingv1.SchemeGroupVersion),
			Gone:       gone("apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"),
			New:        func() Object { return &autoscalingv1.Scale{} },
			Rows:       &Table{Columns: scaleColumns, Cells: scaleCells},
		},
		View: func(obj Object) (Object, error) {
			selector, err := of.selector(obj)
			if err != nil {
				return nil, err
			}
			s := &autoscalingv1.Scale{
				ObjectMeta: metav1.ObjectMeta{
					Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
					ResourceVersion: obj.GetResourceVersion(), CreationTimestamp: obj.GetCreationTimestamp(),
				},
				Status: autoscalingv1.ScaleStatus{Replicas: of.current(obj), Selector: selector},
			}
			if n := *of.wanted(obj); n != nil {
				s.Spec.Replicas = *n
			}
			return s, nil
		},
		Change: func(obj, asked Object) (Object, error) {
			n := asked.(*autoscalingv1.Scale).Spec.Replicas
			if n < 0 {
				return nil, errors.NewInvalid(schema.GroupKind{Group: autoscalingv1.GroupName, Kind: "Scale"}, asked.GetName(), field.ErrorList{
					field.Invalid(field.NewPath("spec", "replicas"), n, "must be greater than or equal to 0")})
			}
			*of.wanted(obj) = &n
			return obj, nil
		},
	}
}

// selectorText is a label selector in the form that goes into a query.
func selectorText(s *metav1.LabelSelector) (string, error) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return "", err
	}
	return selector.String(), nil
}
