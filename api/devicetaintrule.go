package api

import (
	"time"

	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deviceTaintRule taints the devices that it selects.
func deviceTaintRule(now func() time.Time) *Resource {
	return &Resource{
		Name: "devicetaintrules", Singular: "devicetaintrule", Kind: "DeviceTaintRule",
		Versions: older(preview[resourcev1beta2.DeviceTaintRule](resourcev1beta2.SchemeGroupVersion, ""),
			alike[resourcev1beta2.DeviceTaintRule, resourcev1alpha3.DeviceTaintRule](resourcev1alpha3.SchemeGroupVersion)),
		New:                  func() Object { return &resourcev1beta2.DeviceTaintRule{} },
		Rows:                 &Table{Columns: deviceTaintRuleColumns, Cells: deviceTaintRuleCells},
		Prefix:               "devicetaintrules",
		PrepareCreate:        func(obj Object) { stampRule(obj, nil, now()) },
		PrepareUpdate:        func(obj, old Object) { stampRule(obj, old, now()) },
		ValidateCreate:       rulesOf(deviceTaintRuleRules),
		ValidateUpdate:       changesOf(deviceTaintRuleChanges),
		HasStatus:            true,
		PrepareStatusUpdate:  keepMetadataOf,
		ValidateStatusUpdate: changesOf(deviceTaintRuleStatusRules),
		ResetFields:          map[string][]string{"status": {"metadata", "spec"}},
		Generation:           true,
		ReturnDeletedObject:  true,
		// kube-apiserver 1.36 still writes the version before.
		Stored: resourcev1alpha3.SchemeGroupVersion,
	}
}

// stampRule tells since when devices are tainted like this: a new effect starts
// anew, unless the writer gives another time. old is nil for a new rule.
func stampRule(obj, old Object, now time.Time) {
	stamp := metav1.NewTime(now.Truncate(time.Second))
	taint := &obj.(*resourcev1beta2.DeviceTaintRule).Spec.Taint
	if taint.TimeAdded == nil {
		taint.TimeAdded = &stamp
	}
	if old == nil {
		return
	}
	if was := &old.(*resourcev1beta2.DeviceTaintRule).Spec.Taint; taint.Effect != was.Effect && taint.TimeAdded.Equal(was.TimeAdded) {
		taint.TimeAdded = &stamp
	}
}
