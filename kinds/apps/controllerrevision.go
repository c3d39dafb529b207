package apps

import (
	"encoding/json"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// ControllerRevision describes the kind ControllerRevision, which is an immutable snapshot
// of state that a controller keeps for rollbacks.
func ControllerRevision() *api.Resource {
	return api.NewResource(api.Kind[*appsv1.ControllerRevision]{
		Names:           api.Names{Name: "controllerrevisions", Singular: "controllerrevision", Kind: "ControllerRevision", Namespaced: true},
		Versions:        api.Served(appsv1.SchemeGroupVersion),
		RemovedVersions: api.RemovedVersions("apps/v1beta1", "apps/v1beta2"),
		Storage:         api.Storage{Prefix: "controllerrevisions"},
		Checks: api.Checks(
			api.Metadata,
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(revisionRules)),
			api.Changes(revisionChanges),
			api.Declared,
		),
		Table: api.Rows(controllerRevisionRow),
	})
}

func controllerRevisionRow(row *table.Row, r *appsv1.ControllerRevision) {
	row.Name(r.Name)
	row.Text("Controller", "Controller of the object", controllerCell(r))
	row.Text("Revision", ".revision", r.Revision)
	row.Age(r)
}

// controllerCell returns the controller of an object in the form of kubectl arguments:
// "daemonset.apps/a".
func controllerCell(obj metav1.Object) string {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil {
		return table.CellNone
	}
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	return strings.ToLower(kind.String()) + "/" + ref.Name
}

func revisionRules(at *validation.Path, r *appsv1.ControllerRevision) {
	validation.NonNegative(at.Child("revision"), r.Revision)
	if len(r.Data.Raw) == 0 {
		at.Child("data").Required("data is mandatory")
	} else {
		var object map[string]any
		if err := json.Unmarshal(r.Data.Raw, &object); err != nil || object == nil {
			at.Child("data").Required("data must be a valid JSON object")
		}
	}
}

// revisionChanges permits changes of the revision number, but not of the data, which a revision that was
// stored before the rule existed need not have.
func revisionChanges(at *validation.Path, obj, old *appsv1.ControllerRevision) {
	validation.NonNegative(at.Child("revision"), obj.Revision)
	if !equality.Semantic.DeepEqual(obj.Data, old.Data) {
		at.Child("data").Invalid(obj.Data, apivalidation.FieldImmutableErrorMsg)
	}
}
