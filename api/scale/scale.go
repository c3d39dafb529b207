package scale

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
)

// Replicas gives access to the fields of a kind with the Go type T that Scale shows.
type Replicas[T api.Object] struct {
	// Wanted returns the address of spec.replicas, Current the number of replicas in the
	// status, Selector the label selector of the pods in string form.
	Wanted   func(obj T) **int32
	Current  func(obj T) int32
	Selector func(obj T) (string, error)
	// Replicas is the field path of the wanted replicas by apiVersion.
	Replicas map[string]string
}

// AppsReplicasPaths returns the field paths of the replicas of kinds in apps, including
// removed versions, in which managedFields of old objects may be.
func AppsReplicasPaths() map[string]string {
	return map[string]string{"apps/v1": ReplicasPath, "apps/v1beta1": ReplicasPath, "apps/v1beta2": ReplicasPath}
}

// ReplicasPath is the field path of the replicas of most kinds.
const ReplicasPath = "spec.replicas"

// New returns the subresource scale of a built-in kind.
func New[T api.Object](of Replicas[T]) *api.View {
	return NewForAccessors(true, Accessors{
		Replicas: of.Replicas, Row: scaleRow,
		Wanted: func(obj api.Object) (n int32, err error) {
			if p := *of.Wanted(obj.(T)); p != nil {
				n = *p
			}
			return n, nil
		},
		SetWanted: func(obj api.Object, n int32) error {
			*of.Wanted(obj.(T)) = &n
			return nil
		},
		Status: func(obj api.Object) (autoscalingv1.ScaleStatus, error) {
			selector, err := of.Selector(obj.(T))
			return autoscalingv1.ScaleStatus{Replicas: of.Current(obj.(T)), Selector: selector}, err
		},
	})
}

// Accessors gives access to the fields of a kind that Scale shows.
type Accessors struct {
	// Replicas is View.Replicas.
	Replicas map[string]string
	// Wanted returns the wanted number of replicas and SetWanted sets it; Status returns the
	// status of the Scale.
	Wanted    func(obj api.Object) (int32, error)
	SetWanted func(obj api.Object, n int32) error
	Status    func(obj api.Object) (autoscalingv1.ScaleStatus, error)
	// Previous, unless it is nil, returns the wanted number before a write, to which patches are applied.
	Previous func(obj api.Object) (int32, error)
	// OwnRules: SetWanted and the validation of the kind restrict the number of replicas, so
	// a negative number is not rejected before.
	OwnRules bool
	// Unregistered is Resource.Unregistered of the Scale.
	Unregistered bool
	// Unreadable is View.Unreadable.
	Unreadable func(obj api.Object) error
	// Row is api.Table.Row of the Scale.
	Row func(row *table.Row, s *autoscalingv1.Scale)
}

// NewForAccessors returns the subresource scale of a kind that need not have a Go type.
func NewForAccessors(namespaced bool, of Accessors) *api.View {
	definition := api.Kind[*autoscalingv1.Scale]{
		Names:    api.Names{Name: "scale", Singular: "scale", Kind: "Scale", Namespaced: namespaced},
		Versions: api.Served(autoscalingv1.SchemeGroupVersion),
		Table:    api.Rows(of.Row),
	}
	if of.Unregistered {
		definition.RemovedVersions = api.RemovedVersions("apps/v1beta1", "apps/v1beta2", "extensions/v1beta1")
	} else {
		definition.Versions = append(definition.Versions, olderVersions()...)
	}
	kind := api.NewResource(definition)
	kind.Unregistered = of.Unregistered
	previous := of.Previous
	if previous == nil {
		previous = of.Wanted
	}
	return &api.View{
		Name: "scale", Verbs: api.ReadWrite(), Kind: kind,
		Replicas: of.Replicas, Unreadable: of.Unreadable,
		View: view(of.Wanted, of.Status), Previous: view(previous, of.Status),
		Change: func(obj, requested api.Object) (api.Object, error) {
			n := requested.(*autoscalingv1.Scale).Spec.Replicas
			if n < 0 && !of.OwnRules {
				return nil, errors.NewInvalid(schema.GroupKind{Group: autoscalingv1.GroupName, Kind: "Scale"}, requested.GetName(), field.ErrorList{
					field.Invalid(field.NewPath("spec", "replicas"), n, "must be greater than or equal to 0")})
			}
			return obj, of.SetWanted(obj, n)
		},
	}
}

// view returns a function that returns the Scale of an object.
func view(
	wanted func(api.Object) (int32, error), status func(api.Object) (autoscalingv1.ScaleStatus, error),
) func(api.Object) (api.Object, error) {
	return func(obj api.Object) (api.Object, error) {
		status, err := status(obj)
		if err != nil {
			return nil, err
		}
		n, err := wanted(obj)
		return &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{
				Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
				ResourceVersion: obj.GetResourceVersion(), CreationTimestamp: obj.GetCreationTimestamp(),
			},
			Spec: autoscalingv1.ScaleSpec{Replicas: n}, Status: status,
		}, err
	}
}

// SelectorText returns a label selector in the string form of query parameters.
func SelectorText(s *metav1.LabelSelector) (string, error) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return "", err
	}
	return selector.String(), nil
}

func scaleRow(row *table.Row, s *autoscalingv1.Scale) {
	row.Text("Name", ".metadata.name", s.Name) // not NameOf, because no resource scales/NAME exists
	row.Number("Desired", ".spec.replicas", int64(s.Spec.Replicas))
	row.Number("Available", ".status.replicas", int64(s.Status.Replicas))
	row.Age(s)
}
