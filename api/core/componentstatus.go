package core

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
)

// ComponentStatus describes the kind ComponentStatus, the health of a component of the control
// plane, which is determined for each request.
func ComponentStatus() *api.Resource {
	return api.NewResource(api.Kind[*corev1.ComponentStatus]{
		Names: api.Names{
			Name: "componentstatuses", Singular: "componentstatus", Kind: "ComponentStatus",
			ShortNames: []string{"cs"},
			Verbs:      []string{api.VerbGet, api.VerbList},
		},
		Versions:   api.Served(corev1.SchemeGroupVersion),
		Deprecated: "v1 ComponentStatus is deprecated in v1.19+",
		Table:      api.Table[*corev1.ComponentStatus]{Columns: componentStatusColumns, Cells: componentStatusCells},
		Virtual:    &api.Virtual{Source: "componentstatuses"},
	})
}

func componentStatusColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		table.NameColumn(),
		table.TextColumn("Status", "Status of the component conditions"),
		table.TextColumn("Message", "Message of the component conditions"),
		table.TextColumn("Error", "Error of the component conditions"),
	}
}

func componentStatusCells(s *corev1.ComponentStatus) []any {
	for _, c := range s.Conditions {
		switch {
		case c.Type != corev1.ComponentHealthy:
		case c.Status == corev1.ConditionTrue:
			return []any{s.Name, "Healthy", c.Message, c.Error}
		default:
			return []any{s.Name, "Unhealthy", c.Message, c.Error}
		}
	}
	return []any{s.Name, "Unknown", "", ""}
}
