package api

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// eventColumns are the same in both groups that serve events.
func eventColumns() []metav1.TableColumnDefinition {
	e := corev1.Event{}
	return []metav1.TableColumnDefinition{
		textColumn("Last Seen", doc(e, "lastTimestamp")),
		textColumn("Type", doc(e, "type")),
		textColumn("Reason", doc(e, "reason")),
		textColumn("Object", doc(e, "involvedObject")),
		wide(textColumn("Subobject", doc(corev1.ObjectReference{}, "fieldPath"))),
		wide(textColumn("Source", doc(e, "source"))),
		textColumn("Message", doc(e, "message")),
		wide(textColumn("First Seen", doc(e, "firstTimestamp"))),
		wide(textColumn("Count", doc(e, "count"))),
		wide(nameColumn()),
	}
}

func eventCells(obj Object) []any {
	e := obj.(*corev1.Event)
	first := Elapsed{Since: e.FirstTimestamp.Time}
	if e.FirstTimestamp.IsZero() {
		first.Since = e.EventTime.Time
	}
	last := Elapsed{Since: e.LastTimestamp.Time}
	if e.LastTimestamp.IsZero() {
		last = first
	}
	count := e.Count
	switch {
	case e.Series != nil:
		count, last.Since = e.Series.Count, e.Series.LastObservedTime.Time
	case count == 0:
		count = 1 // what is reported in the newer way happened once
	}
	target := strings.ToLower(e.InvolvedObject.Kind)
	if e.InvolvedObject.Name != "" {
		target += "/" + e.InvolvedObject.Name
	}
	return []any{
		last, e.Type, e.Reason, target, e.InvolvedObject.FieldPath, eventSource(e), strings.TrimSpace(e.Message),
		first, int64(count), e.Name,
	}
}

// eventSource is who reported an event, from where.
func eventSource(e *corev1.Event) string {
	source := orElse(e.Source.Component, e.ReportingController)
	if at := orElse(e.Source.Host, e.ReportingInstance); at != "" {
		source += ", " + at
	}
	return source
}
