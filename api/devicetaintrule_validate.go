package api

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
)

// maxTaintRuleConditions bounds the conditions of a rule.
const maxTaintRuleConditions = 8

func deviceTaintRuleRules(at *place, r *resourcev1beta2.DeviceTaintRule) {
	deviceTaintRuleChanges(at, r, nil)
}

// deviceTaintRuleChanges leaves an effect alone that did not change: a newer server
// may have stored one that this one does not know.
func deviceTaintRuleChanges(at *place, is, was *resourcev1beta2.DeviceTaintRule) {
	spec := at.of("spec")
	if s := is.Spec.DeviceSelector; s != nil {
		at := spec.of("deviceSelector")
		present(at.of("driver"), s.Driver, func(at *place, name *string) { driverName(at, *name) })
		present(at.of("pool"), s.Pool, func(at *place, name *string) { poolName(at, *name) })
		present(at.of("device"), s.Device, func(at *place, name *string) { format(at, *name, dnsLabel) })
	}
	taint, t := spec.of("taint"), &is.Spec.Taint
	format(taint.of("key"), t.Key, qualifiedName)
	optional(taint.of("value"), t.Value, labelValue)
	if was == nil || was.Spec.Taint.Effect != t.Effect {
		deviceEffect(taint.of("effect"), resourcev1.DeviceTaintEffect(t.Effect))
	}
}

func deviceTaintRuleStatusRules(at *place, is, _ *resourcev1beta2.DeviceTaintRule) {
	at = at.of("status").of("conditions")
	conditionRules(at, is.Status.Conditions)
	if n := len(is.Status.Conditions); n > maxTaintRuleConditions {
		at.tooMany(n, maxTaintRuleConditions)
	}
}
