package kindtest

import (
	"context"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// This file has all uses of the fields of api.Resource. The order of the steps is that of the registry.

// find returns one of the kinds that a server serves, and the version that name, such as
// deployments.v1.apps, has.
func find(name string, served []*api.Resource) (*api.Resource, *api.Version) {
	for _, r := range served {
		if plural, rest, _ := strings.Cut(name, "."); r.Name == plural {
			version, group, _ := strings.Cut(rest, ".")
			for i := range r.Versions {
				if v := &r.Versions[i]; v.Group == group && v.Version == version {
					return r, v
				}
			}
		}
	}
	return nil, nil
}

// isAction reports whether objects of a kind are requests of an action, such as reviews, which have no metadata.
func isAction(r *api.Resource) bool {
	_, ok := r.Virtual.(*api.Action)
	return ok
}

// outcome is what the kind made of a request.
type outcome struct {
	object   api.Object
	errs     field.ErrorList
	warnings []string
}

// create makes a new object from one that was sent in version v.
func create(r *api.Resource, v *api.Version, by *Writer, sent api.Object) (out outcome, err error) {
	if out.object, err = r.Decoded(v, sent); err != nil {
		return out, err
	}
	obj := out.object
	if r.CheckConversion != nil {
		if err := r.CheckConversion(obj); err != nil {
			return out, err
		}
	}
	if !isAction(r) {
		obj.SetUID("u")
		obj.SetCreationTimestamp(metav1.NewTime(created()))
	}
	if r.Generation != nil {
		obj.SetGeneration(1)
	}
	if r.Status != nil && r.KeepStatus == api.KeepNever {
		setStatus(obj, nil)
	}
	out.run(r, r.Rules(), r.NewWrite(attempt(v, "create", by), obj, nil))
	if len(out.errs) > 0 {
		return out, nil
	}
	// The response has the object as it is read from storage.
	for _, setDefaults := range []func(api.Object){r.Default, r.DefaultStored} {
		if setDefaults != nil {
			setDefaults(obj)
		}
	}
	return out, nil
}

// update replaces old by the object that was sent in version v: as a whole, its status, or the part that another
// subresource changes.
func update(
	r *api.Resource, v *api.Version, by *Writer, subresource string, sent, old api.Object,
) (out outcome, err error) {
	if out.object, err = r.Decoded(v, sent); err != nil {
		return out, err
	}
	obj := out.object
	obj.SetGeneration(old.GetGeneration())
	w := r.NewWrite(attempt(v, "update", by), obj, old)
	rules := r.Rules()
	switch subresource {
	case "":
		if r.Status != nil && r.KeepStatus != api.KeepAlways {
			setStatus(obj, old)
		}
	case "status":
		keepAllButStatus(obj, old)
		rules, w.Status = r.Status.WriteRules, true
	default:
		rules = r.Subresource(subresource).(*api.Field).WriteRules
	}
	out.run(r, rules, w)
	return out, nil
}

// attempt returns an attempt in version v whose context collects the warnings that are given at once.
func attempt(v *api.Version, verb string, by *Writer) api.Attempt {
	scope := &request.Scope{Info: request.Info{Verb: verb}}
	out := api.Attempt{Context: request.With(context.Background(), scope), Version: v}
	if by != nil {
		scope.User, out.User, out.Access = by.User, by.User, by
	}
	return out
}

// run prepares and checks an object by rules.
func (out *outcome) run(r *api.Resource, rules api.WriteRules, w *api.Write[api.Object]) {
	if rules.Prepare != nil {
		rules.Prepare(w)
	}
	if !w.IsNew() && !w.Status && r.Generation != nil && r.Generation(w.Object, w.Old) {
		w.Object.SetGeneration(w.Old.GetGeneration() + 1)
	}
	r.Check(rules, w)
	out.warnings = request.From(w.Context).Warnings()
	if out.errs = w.Errors; len(out.errs) == 0 {
		out.warnings = append(out.warnings, w.Warnings...)
	}
}

// setStatus sets the status of obj to that of from, or clears it.
func setStatus(obj, from api.Object) {
	status := reflect.ValueOf(obj).Elem().FieldByName("Status")
	switch {
	case !status.IsValid():
	case from == nil:
		status.SetZero()
	default:
		status.Set(reflect.ValueOf(from.DeepCopyObject()).Elem().FieldByName("Status"))
	}
}

// keepAllButStatus sets all fields of obj but metadata and status to the values of old.
func keepAllButStatus(obj, old api.Object) {
	to, from := reflect.ValueOf(obj).Elem(), reflect.ValueOf(old.DeepCopyObject()).Elem()
	for i := range to.NumField() {
		if name := to.Type().Field(i).Name; name != "ObjectMeta" && name != "Status" {
			to.Field(i).Set(from.Field(i))
		}
	}
}

// columns returns the names of the columns, those of kubectl get -o wide in parentheses.
func columns(r *api.Resource) []string {
	var names []string
	for _, c := range r.Columns() {
		if c.Priority > 0 {
			c.Name = "(" + c.Name + ")"
		}
		names = append(names, c.Name)
	}
	return names
}

// cells returns the row of an object.
func cells(r *api.Resource, obj api.Object) []any { return r.Row(obj).Cells() }

// selectable returns the selectable fields of an object besides its name and namespace.
func selectable(r *api.Resource, obj api.Object) map[string]string {
	if r.Selectable == nil {
		return nil
	}
	return r.Selectable(obj)
}

// created is the creation time of objects, an hour before tables are made.
func created() time.Time { return time.Date(2026, 5, 4, 11, 0, 0, 0, time.UTC) }
