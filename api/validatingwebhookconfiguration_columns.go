package api

import admissionv1 "k8s.io/api/admissionregistration/v1"

func validatingWebhookCells(obj Object) []any {
	c := obj.(*admissionv1.ValidatingWebhookConfiguration)
	return []any{c.Name, int64(len(c.Webhooks)), Age(c)}
}
