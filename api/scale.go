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

// scale is the subresource by which all built-in kinds with replicas are scaled
// alike.
func scale(of scaled) *Subresource {
	return Scale(true, Scaling{
		Replicas: of.replicas,
		Wanted: func(obj Object) (n int32, err error) {
			if p := *of.wanted(obj); p != nil {
				n = *p
			}
			return n, nil
		},
		SetWanted: func(obj Object, n int32) error {
			*of.wanted(obj) = &n
			return nil
		},
		Status: func(obj Object) (autoscalingv1.ScaleStatus, error) {
			selector, err := of.selector(obj)
			return autoscalingv1.ScaleStatus{Replicas: of.current(obj), Selector: selector}, err
		},
	})
}

// Scaling is what the subresource scale needs to know of a kind.
type Scaling struct {
	// Replicas is Subresource.Replicas.
	Replicas map[string]string
	// Wanted and SetWanted are about the number of replicas that is asked for,
	// Status tells what there is.
	Wanted    func(obj Object) (int32, error)
	SetWanted func(obj Object, n int32) error
	Status    func(obj Object) (autoscalingv1.ScaleStatus, error)
	// OwnRules: SetWanted and the kind's validation say what may be asked for.
	OwnRules bool
	// Unreadable tells why an object cannot be shown; nil means that all can.
	Unreadable func(obj Object) error
}

// Scale makes the subresource scale of a kind.
func Scale(namespaced bool, of Scaling) *Subresource {
	return &Subresource{
		Name: "scale", Verbs: readWrite(),
		Replicas: of.Replicas, Unreadable: of.Unreadable,
		Kind: &Resource{
			Name: "scale", Singular: "scale", Kind: "Scale",
			Namespaced: namespaced,
			Versions:   served(autoscalingv1.SchemeGroupVersion),
			Gone:       gone("apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"),
			New:        func() Object { return &autoscalingv1.Scale{} },
			Rows:       &Table{Columns: scaleColumns, Cells: scaleCells},
		},
		View: func(obj Object) (Object, error) {
			status, err := of.Status(obj)
			if err != nil {
				return nil, err
			}
			n, err := of.Wanted(obj)
			return &autoscalingv1.Scale{
				ObjectMeta: metav1.ObjectMeta{
					Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
					ResourceVersion: obj.GetResourceVersion(), CreationTimestamp: obj.GetCreationTimestamp(),
				},
				Spec: autoscalingv1.ScaleSpec{Replicas: n}, Status: status,
			}, err
		},
		Change: func(obj, asked Object) (Object, error) {
			n := asked.(*autoscalingv1.Scale).Spec.Replicas
			if n < 0 && !of.OwnRules {
				return nil, errors.NewInvalid(schema.GroupKind{Group: autoscalingv1.GroupName, Kind: "Scale"}, asked.GetName(), field.ErrorList{
					field.Invalid(field.NewPath("spec", "replicas"), n, "must be greater than or equal to 0")})
			}
			return obj, of.SetWanted(obj, n)
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
