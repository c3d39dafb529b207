package api

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Bounds of what the newer form of events may say.
const (
	maxEventField = 128
	maxEventNote  = 1024
)

// validateCoreEvent is lenient, as the core group has always been: only events
// with an eventTime, which are made by newer clients, are looked at closely.
func validateCoreEvent(obj Object) field.ErrorList {
	return leniently(obj.(*corev1.Event), "reportingComponent")
}

func leniently(e *corev1.Event, controller string) field.ErrorList {
	errs := eventNamespace(e)
	if !e.EventTime.IsZero() {
		errs = append(errs, eventReport(e, controller)...)
	}
	return errs
}

func validateCoreEventUpdate(obj, _ Object) field.ErrorList { return validateCoreEvent(obj) }

// validateEvent checks an event that came through the events group.
func validateEvent(obj Object) field.ErrorList {
	e := obj.(*corev1.Event)
	errs := leniently(e, "reportingController")
	for _, fault := range subdomainName(e.Name, false) {
		errs = append(errs, field.Invalid(metadataPath().Child("name"), e.Name, fault))
	}
	errs = append(errs, eventSeries(e)...)
	if e.EventTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("eventTime"), ""))
	}
	if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
		errs = append(errs, field.Invalid(field.NewPath("type"), "", fmt.Sprintf("has invalid value: %v", e.Type)))
	}
	unset := func(name string, ok bool) {
		if !ok {
			errs = append(errs, field.Invalid(field.NewPath(name), "", "needs to be unset"))
		}
	}
	unset("firstTimestamp", e.FirstTimestamp.IsZero())
	unset("lastTimestamp", e.LastTimestamp.IsZero())
	unset("count", e.Count == 0)
	unset("source", e.Source == corev1.EventSource{})
	return errs
}

// validateEventUpdate lets nothing but the series of an event change.
func validateEventUpdate(obj, old Object) field.ErrorList {
	is, was := obj.(*corev1.Event), old.(*corev1.Event)
	errs := eventSeries(is)
	fixed := func(name string, is, was any) {
		errs = append(errs, validation.ValidateImmutableField(is, was, field.NewPath(name))...)
	}
	fixed("involvedObject", is.InvolvedObject, was.InvolvedObject)
	fixed("reason", is.Reason, was.Reason)
	fixed("message", is.Message, was.Message)
	fixed("source", is.Source, was.Source)
	fixed("firstTimestamp", is.FirstTimestamp, was.FirstTimestamp)
	fixed("lastTimestamp", is.LastTimestamp, was.LastTimestamp)
	fixed("count", is.Count, was.Count)
	fixed("reason", is.Reason, was.Reason)
	fixed("type", is.Type, was.Type)
	if a, b := microseconds(is.EventTime), microseconds(was.EventTime); !a.Equal(&b) {
		errs = append(errs, field.Invalid(field.NewPath("eventTime"), is.EventTime, validation.FieldImmutableErrorMsg))
	}
	fixed("action", is.Action, was.Action)
	fixed("related", is.Related, was.Related)
	fixed("reportingController", is.ReportingController, was.ReportingController)
	fixed("reportingInstance", is.ReportingInstance, was.ReportingInstance)
	return errs
}

// microseconds drops what protobuf keeps of a time and JSON does not.
func microseconds(t metav1.MicroTime) metav1.MicroTime {
	return metav1.MicroTime{Time: t.Truncate(time.Microsecond)}
}

func eventSeries(e *corev1.Event) field.ErrorList {
	if e.Series == nil {
		return nil
	}
	var errs field.ErrorList
	if e.Series.Count < 2 {
		errs = append(errs, field.Invalid(field.NewPath("series.count"), "", "should be at least 2"))
	}
	if e.Series.LastObservedTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("series.lastObservedTime"), ""))
	}
	return errs
}

// eventNamespace: an event lives beside the object it is about, and events of
// cluster-scoped objects live in the default namespace.
func eventNamespace(e *corev1.Event) field.ErrorList {
	about := e.InvolvedObject.Namespace
	if about == e.Namespace || about == "" && e.Namespace == metav1.NamespaceDefault {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("involvedObject", "namespace"), about, "does not match event.namespace")}
}

// eventReport checks who reports what. controller is the name that the field
// has in the version at hand.
func eventReport(e *corev1.Event, controller string) field.ErrorList {
	var errs field.ErrorList
	if e.ReportingController == "" {
		errs = append(errs, field.Required(field.NewPath(controller), ""))
	}
	for _, fault := range utilvalidation.IsQualifiedName(e.ReportingController) {
		errs = append(errs, field.Invalid(field.NewPath(controller), e.ReportingController, fault))
	}
	for _, f := range []struct{ name, value string }{
		{"reportingInstance", e.ReportingInstance}, {"action", e.Action}, {"reason", e.Reason},
	} {
		if f.value == "" {
			errs = append(errs, field.Required(field.NewPath(f.name), ""))
		}
		if len(f.value) > maxEventField {
			errs = append(errs, field.Invalid(field.NewPath(f.name), "", fmt.Sprintf("can have at most %v characters", maxEventField)))
		}
	}
	if len(e.Message) > maxEventNote {
		errs = append(errs, field.Invalid(field.NewPath("message"), "", fmt.Sprintf("can have at most %v characters", maxEventNote)))
	}
	return errs
}
