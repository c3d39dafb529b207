package core

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Event describes the kind Event, a report about an object. The groups core and events serve
// it with different fields; it is stored in the form of the core group.
func Event() *api.Resource {
	newEvent := func() api.Object { return &eventsv1.Event{} }
	versions := api.WithFieldLabels([]api.Version{
		{GroupVersion: corev1.SchemeGroupVersion},
		{
			GroupVersion: eventsv1.SchemeGroupVersion, New: newEvent, ToHub: api.Converting(eventToCore), FromHub: api.Converting(eventFromCore),
			FieldLabels: eventsFieldLabels(), FieldLabelError: api.UnsupportedField,
		},
		eventV1beta1(),
	}, api.NameLabel, api.NamespaceLabel,
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
		"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
		"reason", "reportingComponent", "source", "type")
	return api.NewResource(api.Kind[*corev1.Event]{
		Names:    api.Names{Name: "events", Singular: "event", Kind: "Event", ShortNames: []string{"ev"}, Namespaced: true},
		Versions: versions,
		Storage:  api.Storage{Prefix: "events", Uncached: true, Expires: true},
		// Existing clients use names of events that no other kind would allow.
		ValidateName:        validation.SegmentName,
		AllowCreateOnUpdate: true,
		Checks:              api.Checks(validateEventOfVersion, api.Declared, api.ObjectMetaIfValid),
		Selectable:          eventFields,
		Delete:              api.Deletion{NoDependents: true},
		Table:               api.Rows(eventRow),
	})
}

func eventsFieldLabels() map[string]string {
	return map[string]string{
		api.NameLabel:               api.NameLabel,
		api.NamespaceLabel:          api.NamespaceLabel,
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

func eventFields(e *corev1.Event) map[string]string {
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

func eventRow(row *table.Row, e *corev1.Event) {
	first := table.Elapsed{Since: e.FirstTimestamp.Time}
	if e.FirstTimestamp.IsZero() {
		first.Since = e.EventTime.Time
	}
	last := table.Elapsed{Since: e.LastTimestamp.Time}
	if e.LastTimestamp.IsZero() {
		last = first
	}
	count := e.Count
	switch {
	case e.Series != nil:
		count, last.Since = e.Series.Count, e.Series.LastObservedTime.Time
	case count == 0:
		count = 1 // newer clients set no count
	}
	target := strings.ToLower(e.InvolvedObject.Kind)
	if e.InvolvedObject.Name != "" {
		target += "/" + e.InvolvedObject.Name
	}
	row.Text("Last Seen", ".lastTimestamp", last)
	row.Text("Type", ".type", e.Type)
	row.Text("Reason", ".reason", e.Reason)
	row.Text("Object", ".involvedObject", target)
	row.Wide().Text("Subobject", ".involvedObject.fieldPath", e.InvolvedObject.FieldPath)
	row.Wide().Text("Source", ".source", eventSource(e))
	row.Text("Message", ".message", strings.TrimSpace(e.Message))
	row.Wide().Text("First Seen", ".firstTimestamp", first)
	row.Wide().Text("Count", ".count", int64(count))
	row.Wide().Name(e.Name)
}

// eventSource returns the component and host that reported an event.
func eventSource(e *corev1.Event) string {
	source := cmp.Or(e.Source.Component, e.ReportingController)
	if at := cmp.Or(e.Source.Host, e.ReportingInstance); at != "" {
		source += ", " + at
	}
	return source
}

// eventV1beta1 returns events.k8s.io/v1beta1, which has the fields of v1 and the validation of
// the core group.
func eventV1beta1() api.Version {
	same := api.SameFields[eventsv1.Event, eventsv1beta1.Event](eventsv1beta1.SchemeGroupVersion)
	v := same
	v.NotServed = true
	toCore, fromCore := api.Converting(eventToCore), api.Converting(eventFromCore)
	v.FieldLabels, v.FieldLabelError = eventsFieldLabels(), api.UnsupportedField
	v.ToHub = func(obj api.Object) (api.Object, error) {
		e, err := same.ToHub(obj)
		if err != nil {
			return nil, err
		}
		return toCore(e)
	}
	v.FromHub = func(obj api.Object) (api.Object, error) {
		e, err := fromCore(obj)
		if err != nil {
			return nil, err
		}
		return same.FromHub(e)
	}
	return v
}

// Maximum lengths of fields in events.k8s.io/v1.
const (
	maxEventField = 128
	maxEventNote  = 1024
)

// validateEventOfVersion validates an event by the rules of the version of the request.
func validateEventOfVersion(w *api.Write[*corev1.Event]) {
	switch {
	case w.Version == nil:
	case w.Version.GroupVersion != eventsv1.SchemeGroupVersion:
		w.Add(validateCoreEvent(w.Object)...)
	case w.IsNew():
		w.Add(validateEvent(w.Object)...)
	default:
		w.Add(validateEventUpdate(w.Object, w.Old)...)
	}
}

// validateCoreEvent validates an event of the core group. Only events with an eventTime, from
// newer clients, are validated completely.
func validateCoreEvent(obj *corev1.Event) field.ErrorList {
	return validateLenientEvent(obj, "reportingComponent")
}

func validateLenientEvent(e *corev1.Event, controller string) field.ErrorList {
	if e.EventTime.IsZero() {
		return eventNamespace(e)
	}
	var errs field.ErrorList
	if e.InvolvedObject.Namespace == "" && e.Namespace != metav1.NamespaceDefault && e.Namespace != metav1.NamespaceSystem {
		errs = append(errs, field.Invalid(field.NewPath("involvedObject", "namespace"), "", "does not match event.namespace"))
	}
	return append(errs, eventReport(e, controller)...)
}

// validateEvent validates an event of events.k8s.io/v1.
func validateEvent(e *corev1.Event) field.ErrorList {
	errs := validateLenientEvent(e, "reportingController")
	errs = append(errs, apivalidation.ValidateObjectMetaAccessor(e, true, validation.SubdomainName, api.MetadataPath())...)
	errs = append(errs, eventFinalizers(e)...)
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

// validateEventUpdate validates that only the series of an event changes.
func validateEventUpdate(value, old *corev1.Event) field.ErrorList {
	errs := append(validateLenientEvent(value, "reportingController"), eventFinalizers(value)...)
	if !equality.Semantic.DeepEqual(value.Series, old.Series) {
		errs = append(errs, eventSeries(value)...)
	}
	fixed := func(name string, value, old any) {
		if !equality.Semantic.DeepEqual(value, old) {
			errs = append(errs, field.Invalid(field.NewPath(name), validation.InternalForm(value), apivalidation.FieldImmutableErrorMsg))
		}
	}
	fixed("involvedObject", value.InvolvedObject, old.InvolvedObject)
	fixed("reason", value.Reason, old.Reason)
	fixed("message", value.Message, old.Message)
	fixed("source", value.Source, old.Source)
	fixed("firstTimestamp", value.FirstTimestamp, old.FirstTimestamp)
	fixed("lastTimestamp", value.LastTimestamp, old.LastTimestamp)
	fixed("count", value.Count, old.Count)
	fixed("reason", value.Reason, old.Reason)
	fixed("type", value.Type, old.Type)
	if a, b := toMicroseconds(value.EventTime), toMicroseconds(old.EventTime); !a.Equal(&b) {
		errs = append(errs, field.Invalid(field.NewPath("eventTime"), value.EventTime, apivalidation.FieldImmutableErrorMsg))
	}
	fixed("action", value.Action, old.Action)
	fixed("related", value.Related, old.Related)
	fixed("reportingController", value.ReportingController, old.ReportingController)
	fixed("reportingInstance", value.ReportingInstance, old.ReportingInstance)
	return errs
}

// toMicroseconds removes the nanoseconds, which protobuf encodes and JSON does not.
func toMicroseconds(t metav1.MicroTime) metav1.MicroTime {
	return metav1.MicroTime{Time: t.Truncate(time.Microsecond)}
}

// eventFinalizers validates finalizers, whose names are free in the core group.
func eventFinalizers(e *corev1.Event) field.ErrorList {
	return api.FinalizerNames(e.Finalizers, api.MetadataPath().Child("finalizers"))
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

// eventNamespace validates the namespace of an event: that of its object, or default for
// cluster-scoped objects.
func eventNamespace(e *corev1.Event) field.ErrorList {
	about := e.InvolvedObject.Namespace
	if about == e.Namespace || about == "" && e.Namespace == metav1.NamespaceDefault {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("involvedObject", "namespace"), about, "does not match event.namespace")}
}

// eventReport validates the reporting controller and instance. controller is the name of the
// field in the version of the request.
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
