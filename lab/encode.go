package lab

import (
	"encoding/json"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/quickjson"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/request"
)

// writer writes the JSON of a Request. The lab makes one of every request, so that an encoder that uses reflection would cost a
// good part of the request itself. A test compares the result with the Go type.
type writer struct{ b []byte }

// key begins a member of the current object.
func (w *writer) key(name string) {
	if last := w.b[len(w.b)-1]; last != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(append(append(w.b, '"'), name...), `":`...)
}

func (w *writer) open(name string)  { w.key(name); w.b = append(w.b, '{') }
func (w *writer) close()            { w.b = append(w.b, '}') }
func (w *writer) element()          { w.b = append(w.b, '{') }
func (w *writer) array(name string) { w.key(name); w.b = append(w.b, '[') }

// endElement ends an element of a list; end ends the list.
func (w *writer) endElement() { w.b = append(w.b, "},"...) }

func (w *writer) end() {
	if w.b[len(w.b)-1] == ',' {
		w.b = w.b[:len(w.b)-1]
	}
	w.b = append(w.b, ']')
}

// text writes a member with a text, unless it is empty.
func (w *writer) text(name, value string) {
	if value != "" {
		w.key(name)
		w.b = quickjson.AppendString(w.b, value)
	}
}

// number writes a member with a number, unless it is 0.
func (w *writer) number(name string, value int64) {
	if value != 0 {
		w.key(name)
		w.b = strconv.AppendInt(w.b, value, 10)
	}
}

// flag writes a member that is true, unless it is not.
func (w *writer) flag(name string, value bool) {
	if value {
		w.key(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *writer) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.array(name)
	for _, s := range list {
		w.b = append(quickjson.AppendString(w.b, s), ',')
	}
	w.end()
}

func (w *writer) time(name, format string, t time.Time) {
	w.key(name)
	w.b = append(w.b, '"')
	w.b = t.UTC().AppendFormat(w.b, format)
	w.b = append(w.b, '"')
}

// value writes a member that is rare, by reflection.
func (w *writer) value(name string, value any) {
	data, err := json.Marshal(value)
	if err == nil { // the types of the API can always be encoded
		w.key(name)
		w.b = append(w.b, data...)
	}
}

// object writes the Request that d describes.
func (w *writer) object(d *description) {
	w.element()
	w.text("apiVersion", v1alpha1.GroupVersion.String())
	w.text("kind", "Request")
	w.open("metadata")
	w.text("name", d.name)
	w.time("creationTimestamp", time.RFC3339, d.received)
	if d.scope.ID != d.name {
		w.open("annotations")
		w.text("lab.miniapiserver.io/audit-id", cut(d.scope.ID, maxAgent))
		w.close()
	}
	w.close()
	w.open("spec")
	w.spec(d)
	w.close()
	w.open("status")
	w.status(d)
	w.close()
	w.close()
}

func (w *writer) spec(d *description) {
	info := &d.scope.Info
	w.time("time", metav1.RFC3339Micro, d.received)
	w.text("verb", info.Verb)
	w.text("method", d.method)
	w.text("uri", d.uri)
	if u := d.scope.User; u != nil {
		w.text("user", u.Name)
		w.texts("groups", u.Groups)
	}
	if u := d.scope.Impersonator; u != nil {
		w.text("impersonator", u.Name)
	}
	w.text("sourceIP", d.sourceIP)
	w.text("userAgent", d.userAgent)
	w.text("group", info.Group)
	w.text("version", info.Version)
	w.text("resource", d.resource)
	w.text("namespace", d.ref.Namespace)
	w.text("objectName", d.ref.Name)
	w.flag("dryRun", d.dryRun)
	w.text("fieldManager", d.manager)
	w.text("contentType", d.contentType)
	w.number("bodyBytes", d.bodyBytes)
}

func (w *writer) status(d *description) {
	w.text("phase", d.phase)
	w.number("code", int64(d.code))
	w.text("reason", d.reason)
	w.text("message", d.message)
	w.text("why", d.why)
	if d.phase == v1alpha1.PhaseComplete {
		w.text("took", roundedText(d.took))
		w.number("microseconds", d.took.Microseconds())
		w.number("responseBytes", int64(d.written))
	}
	w.texts("warnings", d.warnings)
	w.array("steps")
	w.steps(d)
	w.end()
	if s := d.found.Stored; s.ResourceVersion != "" || s.UID != "" {
		w.open("stored")
		w.text("uid", s.UID)
		w.text("resourceVersion", s.ResourceVersion)
		w.number("retries", int64(d.found.Retries))
		w.close()
	}
	if d.cause != nil {
		w.value("cause", d.cause)
	}
	if d.watch != nil {
		w.value("watch", d.watch)
	}
}

// maxSteps is the maximum number of steps of a Request.
const maxSteps = 200

// steps writes the steps: those of the chain, of the spans behind it, and of encoding and writing the response.
func (w *writer) steps(d *description) {
	account, notes := d.scope.Account, d.scope.Annotations()
	chain := account.Chain()
	for i := range chain {
		c := &chain[i]
		w.element()
		w.text("name", c.Name)
		w.step(c.Start.Sub(d.received), c.Took)
		facts := facts{w: w}
		for _, f := range account.Facts(c) {
			facts.add(f.Key, f.Value)
		}
		if c.Name == stepAuthorization {
			for _, a := range notes {
				if of := authorizationFact(a.Key); of != "" {
					facts.add(of, a.Value)
				}
			}
		}
		facts.close()
		w.endElement()
	}
	var path [16]string
	left := maxSteps
	d.found.Span.Steps(func(s *request.SpanStep) {
		if left--; left < 0 || s.Depth >= len(path) {
			return
		}
		path[s.Depth] = s.Name
		w.element()
		w.key("name")
		w.b = append(w.b, '"')
		for i, name := range path[:s.Depth+1] {
			if i > 0 {
				w.b = append(w.b, '/')
			}
			w.b = quickjson.AppendContent(w.b, name)
		}
		w.b = append(w.b, '"')
		w.step(s.Start.Sub(d.received), s.Took)
		facts := facts{w: w}
		var attributes []attribute.KeyValue
		if s.Depth > 0 { // the spec has those of the request
			attributes = s.Attributes()
		}
		for _, a := range attributes {
			if key := string(a.Key); !isRepeated(key) {
				facts.add(key, cut(a.Value.Emit(), maxAgent))
			}
		}
		facts.close()
		w.endElement()
	})
	d.scope.Durations.Each(func(p request.Part, took time.Duration) {
		if p == request.PartSerialize || p == request.PartResponseWrite {
			w.element()
			w.text("name", p.String())
			w.step(max(d.took-took, 0), took)
			w.endElement()
		}
	})
}

// step writes when a step began, and how long it took.
func (w *writer) step(start, took time.Duration) {
	w.key("start")
	w.b = strconv.AppendInt(w.b, start.Microseconds(), 10)
	w.number("microseconds", took.Microseconds())
}

// facts writes the member facts of a step, which is missing if there are none.
type facts struct {
	w     *writer
	begun bool
}

func (f *facts) add(name, value string) {
	if value == "" {
		return
	}
	if !f.begun {
		f.begun = true
		f.w.open("facts")
	}
	f.w.b = append(quickjson.AppendString(f.comma(), name), ':')
	f.w.b = quickjson.AppendString(f.w.b, value)
}

func (f *facts) comma() []byte {
	if b := f.w.b; b[len(b)-1] != '{' {
		return append(b, ',')
	}
	return f.w.b
}

func (f *facts) close() {
	if f.begun {
		f.w.close()
	}
}

// isRepeated reports whether an attribute of a span is in the spec of the Request too.
func isRepeated(key string) bool {
	switch key {
	case "audit-id", "client", "api-group", "api-version", "name", "subresource", "namespace", "resource", "url", "user-agent", "verb",
		"operation":
		return true
	}
	return false
}
