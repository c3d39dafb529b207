package customkinds

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

// Checks of converted objects: the webhook must return the same object, and may change only
// labels and annotations of its metadata.

// validateConverted returns a converted object if it is valid. where is its position in the
// error text, or "" for a single object. The JSON of the object may have maxObject bytes.
func validateConverted(original *untyped.Object, raw *runtime.RawExtension, to schema.GroupVersion, where string,
	maxObject int) (*untyped.Object, error) {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("invalid converted object"+where+": "+format, args...)
	}
	if err := bounds.Object(raw.Raw, maxObject); err != nil {
		return nil, invalid("%w", err)
	}
	u := &untyped.Object{}
	if err := u.UnmarshalJSON(raw.Raw); err != nil {
		return nil, invalid("%w", err)
	}
	one := "invalid object at index 0: "
	if where != "" {
		one = "invalid converted object" + where + ": "
	}
	if got := u.GroupVersionKind(); got.GroupVersion() != to {
		return nil, fmt.Errorf(one+"invalid groupVersion (expected %v, received %v)", to, got.GroupVersion())
	} else if want := original.GetKind(); got.Kind != want {
		return nil, fmt.Errorf(one+"invalid kind (expected %v, received %v)", want, got.Kind)
	}
	if err := checkSameIdentity(original, u); err != nil {
		if where == "" {
			return nil, fmt.Errorf("invalid object: %w", err)
		}
		return nil, invalid("%w", err)
	}
	if err := restoreMetadata(original, u); err != nil {
		if where == "" {
			return nil, fmt.Errorf("invalid metadata: %w", err)
		}
		return nil, fmt.Errorf("invalid metadata in object%s: %w", where, err)
	}
	return u, nil
}

func checkSameIdentity(original, converted *untyped.Object) error {
	for _, f := range []struct{ what, want, got string }{
		{"name", original.GetName(), converted.GetName()},
		{"namespace", original.GetNamespace(), converted.GetNamespace()},
		{"UID", string(original.GetUID()), string(converted.GetUID())},
	} {
		if f.want != f.got {
			return fmt.Errorf("must have the same %s: %v != %v", f.what, f.want, f.got)
		}
	}
	return nil
}

// restoreMetadata replaces the metadata of a converted object by the original's, except for
// labels and annotations.
func restoreMetadata(original, converted *untyped.Object) error {
	is, found := converted.Object["metadata"]
	if !found {
		return fmt.Errorf("missing metadata in converted object")
	}
	said, ok := is.(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata of type %T in converted object", is)
	}
	restored := map[string]any{}
	if was, ok := original.Object["metadata"].(map[string]any); ok {
		restored = runtime.DeepCopyJSON(was)
	}
	for _, name := range []string{"labels", "annotations"} {
		if said[name] == nil {
			delete(restored, name)
			continue
		}
		becomes, ok := said[name].(map[string]any)
		if !ok {
			return fmt.Errorf("invalid metadata.%s of type %T in converted object", name, said[name])
		}
		was, _ := restored[name].(map[string]any)
		if err := validateChangedTexts(name, was, becomes); err != nil {
			return err
		}
		restored[name] = becomes
	}
	converted.Object["metadata"], converted.Managed = restored, original.Managed
	return nil
}

// validateChangedTexts validates labels or annotations if they changed.
func validateChangedTexts(name string, was, is map[string]any) error {
	changed := len(was) != len(is)
	texts := make(map[string]string, len(is))
	for key, value := range is {
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("metadata.%s[%s] must be a string, but is %T in converted object", name, key, value)
		}
		texts[key], changed = text, changed || was[key] != value
	}
	if !changed {
		return nil
	}
	var errs field.ErrorList
	if name == "labels" {
		errs = metavalidation.ValidateLabels(texts, field.NewPath("metadata", "labels"))
	} else {
		errs = validation.ValidateAnnotations(texts, field.NewPath("metadata", "annotation"))
	}
	return errs.ToAggregate()
}
