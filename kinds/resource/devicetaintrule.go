package resource

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// DeviceTaintRule describes the kind DeviceTaintRule, which taints the devices that it
// selects.
func DeviceTaintRule(now func() time.Time) *api.Resource {
	versions := api.WithOlderVersions(api.Served(resourcev1.SchemeGroupVersion),
		api.SameFields[resourcev1.DeviceTaintRule, resourcev1beta2.DeviceTaintRule](resourcev1beta2.SchemeGroupVersion),
		api.SameFields[resourcev1.DeviceTaintRule, resourcev1alpha3.DeviceTaintRule](resourcev1alpha3.SchemeGroupVersion))
	// kube-apiserver serves v1 by a strategy of its own.
	for i := range versions {
		versions[i].RequireResourceVersion = versions[i].GroupVersion == resourcev1.SchemeGroupVersion
		versions[i].ReturnDeletedObject = !versions[i].RequireResourceVersion
	}
	return api.NewResource(api.Kind[*resourcev1.DeviceTaintRule]{
		Names:    api.Names{Name: "devicetaintrules", Singular: "devicetaintrule", Kind: "DeviceTaintRule"},
		Versions: versions,
		Default:  func(obj *resourcev1.DeviceTaintRule) { setRuleTimeAdded(obj, now) },
		Storage:  api.Storage{Prefix: "devicetaintrules", StorageVersion: resourcev1beta2.SchemeGroupVersion},
		Prepare:  api.Prepare(nil, func(obj, old *resourcev1.DeviceTaintRule) { renewRuleTimeAdded(obj, old, now) }),
		Checks: api.Checks(
			api.Metadata,
			api.Changes(deviceTaintRuleChanges),
			api.OnCreate(api.Rules(deviceTaintRuleRules)),
			api.Declared,
		),
		HasGeneration: true,
		Status: api.NewStatus(
			api.KeepMetadataOf,
			api.Metadata, api.Changes(deviceTaintRuleStatusRules), api.Declared,
		).WithoutTable(),
		Reset: map[string][]string{"status": {"metadata", "spec"}},
		Table: api.Rows(deviceTaintRuleRow),
	})
}

// setRuleTimeAdded sets timeAdded of a taint without one.
func setRuleTimeAdded(obj *resourcev1.DeviceTaintRule, now func() time.Time) {
	if taint := &obj.Spec.Taint; taint.TimeAdded == nil {
		taint.TimeAdded = &metav1.Time{Time: now().Truncate(time.Second)}
	}
}

// renewRuleTimeAdded sets timeAdded for a changed effect, unless the request changes timeAdded too.
func renewRuleTimeAdded(obj, old *resourcev1.DeviceTaintRule, now func() time.Time) {
	taint, stored := &obj.Spec.Taint, &old.Spec.Taint
	if taint.Effect != stored.Effect && taint.TimeAdded.Equal(stored.TimeAdded) {
		taint.TimeAdded = nil
		setRuleTimeAdded(obj, now)
	}
}

func deviceTaintRuleRow(row *table.Row, r *resourcev1.DeviceTaintRule) {
	taint := &r.Spec.Taint
	var added any = ""
	if taint.TimeAdded != nil {
		added = table.Elapsed{Since: taint.TimeAdded.Time}
	}
	row.Name(r.Name)
	row.Text("Key", ".spec.taint.key", taint.Key)
	row.Text("Value", ".spec.taint.value", taint.Value)
	row.Text("Effect", ".spec.taint.effect", string(taint.Effect))
	row.Text("TimeAdded", ".spec.taint.timeAdded", added)
	row.Age(r)
}

// maxTaintRuleConditions is the maximum number of conditions of a rule.
const maxTaintRuleConditions = 8

func deviceTaintRuleRules(at *validation.Path, r *resourcev1.DeviceTaintRule) {
	deviceTaintRuleChanges(at, r, nil)
}

// deviceTaintRuleChanges does not validate an unchanged effect, since a newer server may
// have stored an effect that is unknown here.
func deviceTaintRuleChanges(at *validation.Path, obj, old *resourcev1.DeviceTaintRule) {
	spec := at.Child("spec")
	if s := obj.Spec.DeviceSelector; s != nil {
		at := spec.Child("deviceSelector")
		validation.IfPresent(at.Child("driver"), s.Driver, func(at *validation.Path, name *string) { validation.DriverName(at, *name) })
		validation.IfPresent(at.Child("pool"), s.Pool, func(at *validation.Path, name *string) { poolName(at, *name) })
		validation.IfPresent(at.Child("device"), s.Device,
			func(at *validation.Path, name *string) { validation.Format(at, *name, validation.DNSLabel) })
	}
	taint, t := spec.Child("taint"), &obj.Spec.Taint
	validation.Format(taint.Child("key"), t.Key, validation.QualifiedName)
	validation.OptionalFormat(taint.Child("value"), t.Value, validation.LabelValue)
	if old == nil || old.Spec.Taint.Effect != t.Effect {
		deviceEffect(taint.Child("effect"), t.Effect)
	}
}

func deviceTaintRuleStatusRules(at *validation.Path, obj, _ *resourcev1.DeviceTaintRule) {
	at = at.Child("status").Child("conditions")
	validation.ConditionRules(at, obj.Status.Conditions)
	if n := len(obj.Status.Conditions); n > maxTaintRuleConditions {
		at.TooMany(n, maxTaintRuleConditions)
	}
}
