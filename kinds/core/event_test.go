package core_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const event = `metadata: {name: Any_Name}
involvedObject: {namespace: ns, kind: Pod, name: p}`

func TestEventRules(t *testing.T) {
	kindtest.New(t, "events.v1", event).Create(kindtest.Rules{
		{"namespace", "involvedObject.name: q", "involvedObject.namespace: other",
			`involvedObject.namespace: Invalid value: "other": does not match event.namespace`},
		{"cluster-scoped object", "involvedObject.namespace: ns", `involvedObject.namespace: ""`,
			`involvedObject.namespace: Invalid value: "": does not match event.namespace`},
	})
}

func TestReportedEvent(t *testing.T) {
	k := kindtest.New(t, "events.v1", event).With(
		`eventTime: "2026-05-04T11:00:00.000000Z"; reportingComponent: example.com/c; reportingInstance: ` +
			"i; action: A; reason: R")
	k.Create(kindtest.Rules{
		{"reportingComponent", "reportingComponent: c", `reportingComponent: ""`,
			`reportingComponent: Required value; reportingComponent: Invalid value: "": name part must ` +
				`be non-empty; reportingComponent: Invalid value: "": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"name of the component", "reportingComponent: example.com/d", "reportingComponent: a b",
			`reportingComponent: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"reportingInstance", "reportingInstance: b", `reportingInstance: ""`, "reportingInstance: Required value"},
		{"action", "action: B", `action: ""`, "action: Required value"},
		{"reason", "reason: S", `reason: ""`, "reason: Required value"},
		{"namespace", "involvedObject.name: q", `involvedObject.namespace: ""`,
			`involvedObject.namespace: Invalid value: "": does not match event.namespace`},
	})
}

func TestEventUpdated(t *testing.T) {
	kindtest.New(t, "events.v1", event).Updated(kindtest.Cases{
		{"message", "message: hello; count: 5", "message: hello; count: 5"},
	})
}

func TestEventColumns(t *testing.T) {
	k := kindtest.New(t, "events.v1", event)
	k.Columns("Last Seen|Type|Reason|Object|(Subobject)|(Source)|Message|(First Seen)|(Count)|"+
		"(Name)", kindtest.Cases{
		{"older",
			`firstTimestamp: "2026-05-04T11:00:00Z"; lastTimestamp: "2026-05-04T11:59:00Z"; count: 7; ` +
				`source: {component: kubelet, host: n1}; message: " hello "; type: Normal; reason: R`,
			"60s|Normal|R|pod/p||kubelet, n1|hello|60m|7|Any_Name"},
		{"newer",
			`eventTime: "2026-05-04T11:00:00.000000Z"; reportingComponent: example.com/c; ` +
				"reportingInstance: i; action: A; reason: R", "60m||R|pod/p||example.com/c, i||60m|1|Any_Name"},
		{"series",
			`eventTime: "2026-05-04T11:00:00.000000Z"; reportingComponent: example.com/c; ` +
				"reportingInstance: i; action: A; reason: R; series: {count: 4, lastObservedTime: " +
				`"2026-05-04T11:59:50.000000Z"}`, "10s||R|pod/p||example.com/c, i||60m|4|Any_Name"},
		{"bare", "involvedObject.fieldPath: spec.containers{c}",
			"<unknown>|||pod/p|spec.containers{c}|||<unknown>|1|Any_Name"},
	})
}

func TestEventSelectableFields(t *testing.T) {
	kindtest.New(t, "events.v1", event).Selectable(kindtest.Cases{
		{"source",
			"source.component: kubelet; type: Normal; reason: R; involvedObject.uid: u; " +
				"involvedObject.apiVersion: v1",
			"involvedObject.apiVersion=v1,involvedObject.fieldPath=,involvedObject.kind=Pod,involvedObjec" +
				"t.name=p,involvedObject.namespace=ns,involvedObject.resourceVersion=,involvedObject.uid=u,re" +
				"ason=R,reportingComponent=,source=kubelet,type=Normal"},
		{"reporter", "reportingComponent: example.com/c",
			"involvedObject.apiVersion=,involvedObject.fieldPath=,involvedObject.kind=Pod,involvedObject." +
				"name=p,involvedObject.namespace=ns,involvedObject.resourceVersion=,involvedObject.uid=,reaso" +
				"n=,reportingComponent=example.com/c,source=example.com/c,type="},
	})
}

const newEvent = `metadata: {name: a}
regarding: {namespace: ns, kind: Pod, name: p}
eventTime: "2026-05-04T11:00:00.000000Z"
reportingController: example.com/c
reportingInstance: i
action: A
reason: R
type: Normal`

func TestNewEventRules(t *testing.T) {
	kindtest.New(t, "events.v1.events.k8s.io", newEvent).Create(kindtest.Rules{
		{"name", "metadata.name: a.b", "metadata.name: A",
			`metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"reportingController", "reportingController: c", `reportingController: ""`,
			`reportingController: Required value; reportingController: Invalid value: "": name part must ` +
				`be non-empty; reportingController: Invalid value: "": name part must consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"eventTime", `eventTime: "2026-05-04T12:00:00.000000Z"`, "eventTime: null; regarding.namespace: ns",
			"eventTime: Required value"},
		{"type", "type: Warning", "type: Error", `type: Invalid value: "": has invalid value: Error`},
		{"firstTimestamp", "note: hello", `deprecatedFirstTimestamp: "2026-05-04T11:00:00Z"`,
			`firstTimestamp: Invalid value: "": needs to be unset`},
		{"lastTimestamp", "note: hello", `deprecatedLastTimestamp: "2026-05-04T11:00:00Z"`,
			`lastTimestamp: Invalid value: "": needs to be unset`},
		{"count", `series: {count: 2, lastObservedTime: "2026-05-04T11:59:50.000000Z"}`, "deprecatedCount: 1",
			`count: Invalid value: "": needs to be unset`},
		{"source", "note: hello", "deprecatedSource: {component: c}", `source: Invalid value: "": needs to be unset`},
		{"count of a series", `series: {count: 2, lastObservedTime: "2026-05-04T11:59:50.000000Z"}`,
			`series: {count: 1, lastObservedTime: "2026-05-04T11:59:50.000000Z"}`,
			`series.count: Invalid value: "": should be at least 2`},
		{"time of a series", `series: {count: 3, lastObservedTime: "2026-05-04T11:59:50.000000Z"}`,
			"series: {count: 2, lastObservedTime: null}", "series.lastObservedTime: Required value"},
		{"finalizer", "metadata.finalizers: [a.b/c]", "metadata.finalizers: [a]",
			`metadata.finalizers[0]: Invalid value: "a": name is neither a standard finalizer name nor ` +
				"is it fully qualified"},
	})
}

func TestNewEventUpdateRules(t *testing.T) {
	kindtest.New(t, "events.v1.events.k8s.io", newEvent).Update(kindtest.Rules{
		{"regarding", `series: {count: 2, lastObservedTime: "2026-05-04T11:59:50.000000Z"}`, "regarding.name: q",
			"involvedObject: Invalid value: " +
				`{"Kind":"Pod","Namespace":"ns","Name":"q","UID":"","APIVersion":"","ResourceVersion":"","Fie` +
				`ldPath":""}: field is immutable`},
		{"reason", "metadata.labels: {a: b}", "reason: S", `reason: Invalid value: "S": field is immutable`},
		{"note", "metadata.labels: {a: b}", "note: other", `message: Invalid value: "other": field is immutable`},
		{"type", "metadata.labels: {a: b}", "type: Warning", `type: Invalid value: "Warning": field is immutable`},
		{"eventTime", "metadata.labels: {a: b}", `eventTime: "2026-05-04T11:00:00.000001Z"`,
			`eventTime: Invalid value: "2026-05-04T11:00:00.000001Z": field is immutable`},
		{"action", "metadata.labels: {a: b}", "action: B", `action: Invalid value: "B": field is immutable`},
		{"related", "metadata.labels: {a: b}", "related: {name: a}",
			"related: Invalid value: " +
				`{"Kind":"","Namespace":"","Name":"a","UID":"","APIVersion":"","ResourceVersion":"","FieldPat` +
				`h":""}: field is immutable`},
		{"reportingController", "metadata.labels: {a: b}", "reportingController: example.com/d",
			`reportingController: Invalid value: "example.com/d": field is immutable`},
		{"reportingInstance", "metadata.labels: {a: b}", "reportingInstance: j",
			`reportingInstance: Invalid value: "j": field is immutable`},
		{"count", "metadata.labels: {a: b}", "deprecatedCount: 2", "count: Invalid value: 2: field is immutable"},
		{"series", "series: null", `series: {count: 1, lastObservedTime: "2026-05-04T11:59:50.000000Z"}`,
			`series.count: Invalid value: "": should be at least 2`},
	})
}

// TestEventConverted shows what clients of events.k8s.io read.
func TestEventConverted(t *testing.T) {
	kindtest.New(t, "events.v1", event).Converted("events.k8s.io/v1", kindtest.Cases{
		{"message and object", "message: a; reason: b",
			`note: a; reason: b; regarding: {"kind":"Pod","name":"p","namespace":"ns"}; message: null`},
		{"source", "source: {component: a, host: b}", `deprecatedSource: {"component":"a","host":"b"}; source: null`},
		{"times", `firstTimestamp: "2026-05-04T11:00:00Z"; lastTimestamp: "2026-05-04T11:30:00Z"; count: 2`,
			"deprecatedFirstTimestamp: 2026-05-04T11:00:00Z; deprecatedLastTimestamp: " +
				"2026-05-04T11:30:00Z; deprecatedCount: 2"},
	})
}

// TestEventCells checks the time, the count and the source that tables show of events.
func TestEventCells(t *testing.T) {
	k := kindtest.New(t, "events.v1", event).With(`message: " hello\n\n  "`)
	k.Columns("Last Seen|Type|Reason|Object|(Subobject)|(Source)|Message|(First Seen)|(Count)|"+
		"(Name)", kindtest.Cases{
		{"times of older clients",
			`firstTimestamp: "2026-05-04T11:00:00Z"; lastTimestamp: "2026-05-04T11:59:00Z"; count: 7; ` +
				"source: {component: kubelet, host: n1}", "60s|||pod/p||kubelet, n1|hello|60m|7|Any_Name"},
		{"time of newer clients",
			`eventTime: "2026-05-04T11:00:00.000000Z"; reportingComponent: example.com/c; reportingInstance: i`,
			"60m|||pod/p||example.com/c, i|hello|60m|1|Any_Name"},
		{"series",
			`eventTime: "2026-05-04T11:00:00.000000Z"; series: {count: 4, lastObservedTime: ` +
				`"2026-05-04T11:59:50.000000Z"}`, "10s|||pod/p|||hello|60m|4|Any_Name"},
		{"part of the object", `involvedObject.fieldPath: "spec.containers{c}"`,
			"<unknown>|||pod/p|spec.containers{c}||hello|<unknown>|1|Any_Name"},
	})
}

// TestEventBounds checks the bounds of the fields of events of newer clients.
func TestEventBounds(t *testing.T) {
	kindtest.New(t, "events.v1.events.k8s.io", newEvent).Create(kindtest.Rules{
		{"length of a note", "note: " + strings.Repeat("a", 1024), "note: " + strings.Repeat("a", 1025),
			`message: Invalid value: "": can have at most 1024 characters`},
		{"length of an action", "action: " + strings.Repeat("a", 128), "action: " + strings.Repeat("a", 129),
			`action: Invalid value: "": can have at most 128 characters`},
		{"length of a reason", "reason: " + strings.Repeat("a", 128), "reason: " + strings.Repeat("a", 129),
			`reason: Invalid value: "": can have at most 128 characters`},
		{"length of an instance", "reportingInstance: " + strings.Repeat("a", 128),
			"reportingInstance: " + strings.Repeat("a", 129),
			`reportingInstance: Invalid value: "": can have at most 128 characters`},
		{"prefix of a name", "metadata.generateName: a-", "metadata.generateName: -a",
			`metadata.generateName: Invalid value: "-a": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}
