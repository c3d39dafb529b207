package ssa

import (
	"encoding/json"
	"errors"
	"maps"

	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// kubectl is the manager name of kubectl, and lastAppliedAnnotation the annotation of its
// client-side apply. The server maintains the annotation for this manager only, so that an object
// can be migrated between client-side and server-side apply.
const (
	kubectl               = "kubectl"
	lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
)

// migrate applies the patch again after an error, if the error is about nothing but conflicts on
// fields that kubectl set by client-side apply. Otherwise it returns the error.
func (a *applyOperation) migrate(err error) (api.Object, owners, error) {
	var found conflicts
	if !errors.As(err, &found) {
		return nil, nil, err
	}
	if a.w.Manager == kubectl {
		if allowed, ok := a.lastApplied(); ok {
			if found = found.without(allowed); len(found) == 0 {
				return a.run(true)
			}
		}
	}
	return nil, nil, found.status(a.w.Shuffle)
}

// lastApplied returns the unchanged fields of kubectl's last client-side apply; ok is false if the
// annotation is missing or invalid.
func (a *applyOperation) lastApplied() (fields Set, ok bool) {
	if a.live == nil {
		return nil, false
	}
	text := a.live.GetAnnotations()[lastAppliedAnnotation]
	u := &untyped.Object{}
	if text == "" || json.Unmarshal([]byte(text), u) != nil || u.GetAPIVersion() != a.w.Version.String() {
		return nil, false
	}
	for _, object := range []map[string]any{a.before, u.Object} {
		if a.v.checkDistinct(object) != nil {
			return nil, false
		}
	}
	fields, err := a.v.root.fields(u.Object)
	if err != nil {
		return nil, false
	}
	_, difference, err := diff(a.v.root, u.Object, a.before)
	if err != nil {
		return nil, false
	}
	fields, _ = minus(fields, difference)
	return fields, true
}

// syncLastApplied updates the annotation of obj, if it has one, to the patch that kubectl applied.
// It removes the annotation if the annotations would become too large.
func (a *applyOperation) syncLastApplied(obj api.Object) error {
	annotations := obj.GetAnnotations()
	if annotations[lastAppliedAnnotation] == "" {
		return nil
	}
	text, err := json.Marshal(withoutLastApplied(a.patch))
	if err != nil {
		return errorf("failed to build last-applied annotation: %w", err)
	}
	annotations = maps.Clone(annotations)
	annotations[lastAppliedAnnotation] = string(text) + "\n"
	if validation.ValidateAnnotationsSize(annotations) != nil {
		delete(annotations, lastAppliedAnnotation)
	}
	obj.SetAnnotations(annotations)
	return nil
}

func withoutLastApplied(patch map[string]any) map[string]any {
	meta, _ := patch["metadata"].(map[string]any)
	annotations, ok := meta["annotations"].(map[string]any)
	if !ok {
		return patch
	}
	patch, meta = without(patch), without(meta)
	meta["annotations"] = without(annotations, lastAppliedAnnotation)
	patch["metadata"] = meta
	return patch
}
