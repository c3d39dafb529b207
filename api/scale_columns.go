package api

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func scaleColumns() []metav1.TableColumnDefinition {
	name := nameColumn()
	name.Format = "" // not the name of an object that can be asked for by it
	return []metav1.TableColumnDefinition{
		name,
		numberColumn("Desired", doc(autoscalingv1.ScaleSpec{}, "replicas")),
		numberColumn("Available", doc(autoscalingv1.ScaleStatus{}, "replicas")),
		ageColumn(),
	}
}

func scaleCells(obj Object) []any {
	s := obj.(*autoscalingv1.Scale)
	return []any{s.Name, int64(s.Spec.Replicas), int64(s.Status.Replicas), Age(s)}
}
