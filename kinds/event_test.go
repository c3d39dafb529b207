package kinds

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/kinds/core"
)

func reported() *corev1.Event {
	return &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: "e", Namespace: "n"},
		InvolvedObject:      corev1.ObjectReference{Kind: "Pod", Namespace: "n"},
		EventTime:           metav1.MicroTime{Time: time.Unix(1700000000, 0)},
		ReportingController: "example.com/c", ReportingInstance: "i", Action: "A", Reason: "R", Type: "Normal",
	}
}

func TestEventValidation(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(*corev1.Event)
		core, want string
	}{
		"fine":      {func(e *corev1.Event) {}, "", ""},
		"no time":   {func(e *corev1.Event) { e.EventTime = metav1.MicroTime{} }, "", "eventTime: Required value"},
		"type":      {func(e *corev1.Event) { e.Type = "Odd" }, "", `type: Invalid value: "": has invalid value: Odd`},
		"count":     {func(e *corev1.Event) { e.Count = 2 }, "", `count: Invalid value: "": needs to be unset`},
		"no action": {func(e *corev1.Event) { e.Action = "" }, "action: Required value", "action: Required value"},
		"note": {func(e *corev1.Event) { e.Message = strings.Repeat("n", 1025) },
			`message: Invalid value: "": can have at most 1024 characters`, `message: Invalid value: "": can have at most 1024 characters`},
		"namespace": {func(e *corev1.Event) { e.InvolvedObject.Namespace = "other" },
			"", ""},
		"namespace without a time": {func(e *corev1.Event) { e.InvolvedObject.Namespace, e.EventTime = "other", metav1.MicroTime{} },
			`involvedObject.namespace: Invalid value: "other": does not match event.namespace`,
			`[involvedObject.namespace: Invalid value: "other": does not match event.namespace, eventTime: Required value]`},
		"generateName": {func(e *corev1.Event) { e.GenerateName = "-x" }, "", `metadata.generateName: Invalid value: "-x": ` + subdomainRule},
		"no namespace": {func(e *corev1.Event) { e.Namespace, e.InvolvedObject.Namespace = "ns", "" },
			`involvedObject.namespace: Invalid value: "": does not match event.namespace`,
			`involvedObject.namespace: Invalid value: "": does not match event.namespace`},
		"system namespace": {func(e *corev1.Event) { e.Namespace, e.InvolvedObject.Namespace = "kube-system", "" }, "", ""},
		"finalizer": {func(e *corev1.Event) { e.Finalizers = []string{"a"} },
			"", `metadata.finalizers[0]: Invalid value: "a": name is neither a standard finalizer name nor is it fully qualified`},
		"series": {func(e *corev1.Event) { e.Series = &corev1.EventSeries{Count: 1, LastObservedTime: e.EventTime} },
			"", `series.count: Invalid value: "": should be at least 2`},
	} {
		e := reported()
		c.change(e)
		for i, want := range []string{c.core, c.want} {
			r := core.Event()
			got := ""
			if err := r.CheckCreate(&r.Versions[i], e).ToAggregate(); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s, %s: got %s, want %s", name, r.Versions[i].GroupVersion, got, want)
			}
		}
	}
}

func TestEventUpdate(t *testing.T) {
	r := core.Event()
	old := reported()
	old.ResourceVersion = "7"
	obj := old.DeepCopy()
	obj.Series = &corev1.EventSeries{Count: 2, LastObservedTime: old.EventTime}
	if errs := checkUpdate(r, &r.Versions[1], obj, old); len(errs) > 0 {
		t.Errorf("series: %v", errs)
	}
	obj.Message = "changed"
	if errs := checkUpdate(r, &r.Versions[1], obj, old); len(errs) != 1 || errs[0].Field != "message" {
		t.Errorf("message: %v", errs)
	}
	if errs := checkUpdate(r, &r.Versions[0], obj, old); len(errs) != 0 {
		t.Errorf("message in the core group: %v", errs)
	}
}
