package controllers

import (
	"reflect"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// TestEqualRules checks that a difference in any field of a rule counts, and that an empty list does not.
func TestEqualRules(t *testing.T) {
	for i := range reflect.TypeFor[rbacv1.PolicyRule]().NumField() {
		var other, empty rbacv1.PolicyRule
		reflect.ValueOf(&other).Elem().Field(i).Set(reflect.ValueOf([]string{"a"}))
		if equalRules(rbacv1.PolicyRule{}, other) {
			t.Errorf("%+v is equal to a rule without it", other)
		}
		reflect.ValueOf(&empty).Elem().Field(i).Set(reflect.ValueOf([]string{}))
		if !equalRules(rbacv1.PolicyRule{}, empty) {
			t.Errorf("%+v is not equal to a rule without it", empty)
		}
	}
}
