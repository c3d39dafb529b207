package api

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func controllerRevisionColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Controller", "Controller of the object"),
		textColumn("Revision", doc(appsv1.ControllerRevision{}, "revision")),
		ageColumn(),
	}
}

func controllerRevisionCells(obj Object) []any {
	r := obj.(*appsv1.ControllerRevision)
	return []any{r.Name, controllerCell(r), r.Revision, Age(r)}
}

// controllerCell names the controller of an object as kubectl takes it:
// "daemonset.apps/a".
func controllerCell(obj metav1.Object) string {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil {
		return cellNone
	}
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	return strings.ToLower(kind.String()) + "/" + ref.Name
}
