package extending

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/scale"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Fleet is a number of ships with the same engine.
type Fleet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FleetSpec   `json:"spec,omitempty"`
	Status            FleetStatus `json:"status,omitempty"`
}

type FleetSpec struct {
	Replicas *int32 `json:"replicas,omitempty"`
	Engine   string `json:"engine,omitempty"`
}

// SwaggerDoc has the descriptions of the fields for kubectl explain.
func (FleetSpec) SwaggerDoc() map[string]string {
	return map[string]string{
		"replicas": "Desired number of ships. Defaults to 1.",
		"engine":   "Sail or Steam. Defaults to Sail. Cannot be changed.",
	}
}

type FleetStatus struct {
	Replicas int32 `json:"replicas,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (f *Fleet) DeepCopyObject() runtime.Object {
	out := *f
	f.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if n := f.Spec.Replicas; n != nil {
		out.Spec.Replicas = new(*n)
	}
	return &out
}

// Fleets describes the kind.
func Fleets() *api.Resource {
	return api.NewResource(api.Kind[*Fleet]{
		Names: api.Names{
			Name: "fleets", Singular: "fleet", Kind: "Fleet", ShortNames: []string{"fl"}, Namespaced: true,
		},
		Versions: api.Served(schema.GroupVersion{Group: "ships.example.com", Version: "v1"}),
		Default: func(f *Fleet) {
			api.SetDefault(&f.Spec.Replicas, 1)
			if f.Spec.Engine == "" {
				f.Spec.Engine = "Sail"
			}
		},
		Storage: api.Storage{Prefix: "ships.example.com/fleets", Encoding: api.JSON},
		Checks: api.Checks(
			api.Metadata,
			api.Changes(fleetChanges),
			api.Rules(fleetRules),
			api.Declared,
		),
		HasGeneration: true,
		Status:        api.NewStatus(nil, api.Metadata, api.Changes(fleetStatusChanges), api.Declared),
		Subresources: []api.Subresource{scale.New(scale.Replicas[*Fleet]{
			Replicas: map[string]string{"ships.example.com/v1": scale.ReplicasPath},
			Wanted:   func(f *Fleet) **int32 { return &f.Spec.Replicas },
			Current:  func(f *Fleet) int32 { return f.Status.Replicas },
			Selector: func(f *Fleet) (string, error) { return "fleet=" + f.Name, nil },
		})},
		Table: api.Rows(fleetRow),
	})
}

func fleetRules(at *validation.Path, f *Fleet) {
	spec := at.Child("spec")
	validation.NonNegative(spec.Child("replicas"), *f.Spec.Replicas)
	validation.Enum(spec.Child("engine"), f.Spec.Engine, "Sail", "Steam")
}

func fleetChanges(at *validation.Path, obj, old *Fleet) {
	validation.Immutable(at.Child("spec").Child("engine"), obj.Spec.Engine, old.Spec.Engine)
}

func fleetStatusChanges(at *validation.Path, obj, _ *Fleet) {
	validation.NonNegative(at.Child("status").Child("replicas"), obj.Status.Replicas)
}

func fleetRow(row *table.Row, f *Fleet) {
	row.Name(f.Name)
	row.Text("Ready", "Actual and desired number of ships", table.Ratio(f.Status.Replicas, table.ValueOrZero(f.Spec.Replicas)))
	row.Text("Engine", ".spec.engine", f.Spec.Engine)
	row.Age(f)
}
