package api

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
)

// event is a report of something that happened to an object. Two groups serve
// it in two forms; what is stored is the older one.
func event() *Resource {
	newEvent := func() Object { return &eventsv1.Event{} }
	versions := selectable([]Version{
		{GroupVersion: corev1.SchemeGroupVersion, Validate: validateCoreEvent, ValidateUpdate: validateCoreEventUpdate},
		{
			GroupVersion: eventsv1.SchemeGroupVersion, New: newEvent, ToHub: eventToCore, FromHub: eventFromCore,
			FieldLabels: eventsFieldLabels(), FieldLabelError: unsupportedField,
			Validate: validateEvent, ValidateUpdate: validateEventUpdate,
		},
		eventV1beta1(),
	}, nameLabel, namespaceLabel,
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
		"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
		"reason", "reportingComponent", "source", "type")
	return &Resource{
		Name: "events", Singular: "event", Kind: "Event",
		ShortNames: []string{"ev"},
		Namespaced: true,
		Versions:   versions,
		New:        func() Object { return &corev1.Event{} },
		Rows:       &Table{Columns: eventColumns, Cells: eventCells},
		Prefix:     "events",
		// Many writers of events put what no other server would take for a name.
		ValidateName:        segmentName,
		AllowCreateOnUpdate: true,
		Expires:             true,
		Uncached:            true,
		Fields:              eventFields,
	}
}

func eventsFieldLabels() map[string]string {
	return map[string]string{
		nameLabel:                   nameLabel,
		namespaceLabel:              namespaceLabel,
		"regarding.kind":            "involvedObject.kind",
		"regarding.namespace":       "involvedObject.namespace",
		"regarding.name":            "involvedObject.name",
		"regarding.uid":             "involvedObject.uid",
		"regarding.apiVersion":      "involvedObject.apiVersion",
		"regarding.resourceVersion": "involvedObject.resourceVersion",
		"regarding.fieldPath":       "involvedObject.fieldPath",
		"reason":                    "reason",
		"reportingController":       "reportingComponent",
		"type":                      "type",
	}
}

func eventFields(obj Object) map[string]string {
	e := obj.(*corev1.Event)
	source := e.Source.Component
	if source == "" {
		source = e.ReportingController
	}
	return map[string]string{
		"involvedObject.kind":            e.InvolvedObject.Kind,
		"involvedObject.namespace":       e.InvolvedObject.Namespace,
		"involvedObject.name":            e.InvolvedObject.Name,
		"involvedObject.uid":             string(e.InvolvedObject.UID),
		"involvedObject.apiVersion":      e.InvolvedObject.APIVersion,
		"involvedObject.resourceVersion": e.InvolvedObject.ResourceVersion,
		"involvedObject.fieldPath":       e.InvolvedObject.FieldPath,
		"reason":                         e.Reason,
		"reportingComponent":             e.ReportingController,
		"source":                         source,
		"type":                           e.Type,
	}
}
