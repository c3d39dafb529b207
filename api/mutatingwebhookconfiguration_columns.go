package api

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// webhookColumns are those of both kinds of webhook configurations.
func webhookColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		numberColumn("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration"),
		ageColumn(),
	}
}

func mutatingWebhookCells(obj Object) []any {
	c := obj.(*admissionv1.MutatingWebhookConfiguration)
	return []any{c.Name, int64(len(c.Webhooks)), Age(c)}
}
