package api

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func deviceTaintRuleColumns() []metav1.TableColumnDefinition {
	taint := resourcev1.DeviceTaint{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Key", doc(taint, "key")),
		textColumn("Value", doc(taint, "value")),
		textColumn("Effect", doc(taint, "effect")),
		textColumn("TimeAdded", doc(taint, "timeAdded")),
		ageColumn(),
	}
}

func deviceTaintRuleCells(obj Object) []any {
	r := obj.(*resourcev1beta2.DeviceTaintRule)
	t := &r.Spec.Taint
	var added any = ""
	if t.TimeAdded != nil {
		added = Elapsed{Since: t.TimeAdded.Time}
	}
	return []any{r.Name, t.Key, t.Value, string(t.Effect), added, Age(r)}
}
