package kinds

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
)

// The functions below do with an object what a write does; old is nil for a new one.

func prepare(r *api.Resource, obj, old api.Object) {
	if r.Prepare != nil {
		r.Prepare(r.NewWrite(api.Attempt{}, obj, old))
	}
}

func prepareStatus(r *api.Resource, obj, old api.Object) {
	if r.Status.Prepare != nil {
		r.Status.Prepare(r.NewWrite(api.Attempt{Status: true}, obj, old))
	}
}

func prepareField(r *api.Resource, name string, obj, old api.Object) {
	if f := r.Subresource(name).(*api.Field); f.Prepare != nil {
		f.Prepare(r.NewWrite(api.Attempt{}, obj, old))
	}
}

// checkField returns the errors of a part of an object, without those of metadata.
func checkField(r *api.Resource, name string, obj, old api.Object) field.ErrorList {
	w := r.NewWrite(api.Attempt{}, obj, old)
	r.Check(r.Subresource(name).(*api.Field).WriteRules, w)
	return besideMetadata(w.Errors)
}

func checkUpdate(r *api.Resource, v *api.Version, obj, old api.Object) field.ErrorList {
	w := r.NewWrite(api.Attempt{Version: v}, obj, old)
	r.Check(r.Rules(), w)
	return w.Errors
}

func checkStatus(r *api.Resource, v *api.Version, obj, old api.Object) field.ErrorList {
	w := r.NewWrite(api.Attempt{Version: v, Status: true}, obj, old)
	r.Check(r.Status.WriteRules, w)
	return w.Errors
}

// warningsOf returns the warnings about an object that need not be valid.
func warningsOf(r *api.Resource, rules api.WriteRules, obj, old api.Object) []string {
	w := r.NewWrite(api.Attempt{}, obj, old)
	for _, check := range rules.Checks {
		check(w)
	}
	return w.Warnings
}

// newMetadata returns the errors of the metadata of a new object.
func newMetadata(r *api.Resource, obj api.Object) field.ErrorList {
	w := r.NewWrite(api.Attempt{}, obj, nil)
	api.NewMetadata(w)
	return w.Errors
}

// besideMetadata returns the errors besides those of metadata that objects in tests of rules do not have.
func besideMetadata(errs field.ErrorList) (beside field.ErrorList) {
	for _, err := range errs {
		switch err.Field {
		case "metadata.name", "metadata.namespace":
			if err.Type == field.ErrorTypeRequired {
				continue
			}
		case "metadata.resourceVersion":
			continue
		}
		beside = append(beside, err)
	}
	return beside
}

// changesGeneration reports whether an update increments the generation.
func changesGeneration(r *api.Resource, obj, old api.Object) bool {
	return r.Generation != nil && r.Generation(obj, old)
}
