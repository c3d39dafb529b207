package core

import (
	corev1 "k8s.io/api/core/v1"

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
		Table:      api.Rows(componentStatusRow),
		Virtual:    &api.View{Source: "componentstatuses"},
	})
}

func componentStatusRow(row *table.Row, s *corev1.ComponentStatus) {
	state, message, failure := "Unknown", "", ""
	for _, c := range s.Conditions {
		if c.Type == corev1.ComponentHealthy {
			state, message, failure = "Unhealthy", c.Message, c.Error
			if c.Status == corev1.ConditionTrue {
				state = "Healthy"
			}
			break
		}
	}
	row.Name(s.Name)
	row.Text("Status", "Status of the component conditions", state)
	row.Text("Message", "Message of the component conditions", message)
	row.Text("Error", "Error of the component conditions", failure)
}
