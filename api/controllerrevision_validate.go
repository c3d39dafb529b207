package api

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
)

func revisionRules(at *place, r *appsv1.ControllerRevision) {
	revisionNumber(at, r)
	if len(r.Data.Raw) > 0 {
		var object map[string]any
		if err := json.Unmarshal(r.Data.Raw, &object); err != nil || object == nil {
			at.of("data").required("data must be a valid JSON object")
		}
	}
}

func revisionNumber(at *place, r *appsv1.ControllerRevision) {
	if len(r.Data.Raw) == 0 && r.Data.Object == nil {
		at.of("data").required("data is mandatory")
	}
	nonNegative(at.of("revision"), r.Revision)
}

// revisionChanges let the number change, and never what was recorded.
func revisionChanges(at *place, is, was *appsv1.ControllerRevision) {
	revisionNumber(at, is)
	if !equality.Semantic.DeepEqual(is.Data, was.Data) {
		at.of("data").invalid(is.Data, validation.FieldImmutableErrorMsg)
	}
}
