package api

import (
	"cmp"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func flowSchemaColumns() []metav1.TableColumnDefinition {
	spec := flowcontrolv1.FlowSchemaSpec{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("PriorityLevel", doc(flowcontrolv1.PriorityLevelConfigurationReference{}, "name")),
		textColumn("MatchingPrecedence", doc(spec, "matchingPrecedence")),
		textColumn("DistinguisherMethod", doc(spec, "distinguisherMethod")),
		ageColumn(),
		textColumn("MissingPL", "references a broken or non-existent PriorityLevelConfiguration"),
	}
}

func flowSchemaCells(obj Object) []any {
	s := obj.(*flowcontrolv1.FlowSchema)
	method, dangling := cellNone, "?"
	if m := s.Spec.DistinguisherMethod; m != nil {
		method = string(m.Type)
	}
	for _, c := range s.Status.Conditions {
		if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			dangling = string(c.Status)
			break
		}
	}
	return []any{
		s.Name, s.Spec.PriorityLevelConfiguration.Name, int64(s.Spec.MatchingPrecedence), method, Age(s), dangling,
	}
}

// flowSchemaOrder is the order in which requests are matched.
func flowSchemaOrder(a, b Object) int {
	one, other := a.(*flowcontrolv1.FlowSchema), b.(*flowcontrolv1.FlowSchema)
	return cmp.Or(cmp.Compare(one.Spec.MatchingPrecedence, other.Spec.MatchingPrecedence), cmp.Compare(one.Name, other.Name))
}
