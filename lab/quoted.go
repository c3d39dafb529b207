package lab

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/request"
)

// quoted is what the layers say of a request that may quote the object in it: the value that is invalid, the text that a policy
// makes of it. Only a get shows it, and only to users who may read the object. A list shows it to nobody, because it is the same for
// all of its readers.
type quoted struct {
	message, why string
	cause        *v1alpha1.Cause
	warnings     []string
	notes        []request.Annotation // audit annotations that belong to no step
}

// Texts in place of what is not shown.
const (
	withheldMessage = "(left out, because it may quote an object with secrets)"
	laterMessage    = "(in a get of this request, because it may quote the object)"
)

// mayQuote reports whether a message of a layer may have contents of the object of a request, beyond its name.
func mayQuote(by string) bool {
	switch by {
	case v1alpha1.CauseAuthentication, v1alpha1.CauseImpersonation, v1alpha1.CauseFlowControl, v1alpha1.CauseAuthorization,
		v1alpha1.CauseRouting, v1alpha1.CauseConflict, v1alpha1.CausePrecondition, v1alpha1.CauseStorage:
		return false
	}
	return true
}

// takeQuoted moves what may quote the object from d to the result. Nothing of an object with secrets is kept.
func (d *description) takeQuoted(isConfidential bool) quoted {
	d.warnings = d.scope.Warnings()
	q := quoted{message: d.message, cause: d.cause, warnings: d.warnings, why: d.whyInOneLine()}
	for _, a := range d.scope.Annotations() {
		if authorizationFact(a.Key) == "" {
			q.notes = append(q.notes, request.Annotation{Key: a.Key, Value: cut(a.Value, maxText)})
		}
	}
	isQuoting := d.cause != nil && mayQuote(d.cause.By)
	text := laterMessage
	if isConfidential {
		text = withheldMessage
	}
	if isQuoting {
		if d.message != "" {
			d.message = text
		}
		d.cause = withoutQuotes(d.cause, isConfidential)
	}
	if len(d.warnings) > 0 {
		list := make([]string, len(d.warnings))
		for i := range list {
			list[i] = text
		}
		d.warnings = list
	}
	d.why = d.whyInOneLine()
	if isConfidential {
		return quoted{}
	}
	if !isQuoting {
		q.message, q.cause = "", nil
	}
	if q.why == d.why {
		q.why = ""
	}
	return q
}

// withoutQuotes returns a cause without values. Of an object with secrets the fields are left out, too.
func withoutQuotes(c *v1alpha1.Cause, isConfidential bool) *v1alpha1.Cause {
	out := *c
	out.Variables, out.Fields = nil, nil
	for _, f := range c.Fields {
		if !isConfidential {
			out.Fields = append(out.Fields, v1alpha1.CauseField{Path: withoutKeys(f.Path), Type: f.Type})
		}
	}
	return &out
}

// withoutKeys returns a path without the keys of maps and lists in it, which are contents of an object, too.
func withoutKeys(path string) string {
	before, rest, ok := strings.Cut(path, "[")
	for ok {
		key, after, closed := strings.Cut(rest, "]")
		if strings.Trim(key, "0123456789") != "" || !closed {
			key = "*"
		}
		var more string
		more, rest, ok = strings.Cut(after, "[")
		before += "[" + key + "]" + more
	}
	return before
}

// size estimates the memory of q in bytes.
func (q *quoted) size() int64 {
	n := len(q.message) + len(q.why)
	for _, w := range q.warnings {
		n += 16 + len(w)
	}
	for _, a := range q.notes {
		n += 32 + len(a.Key) + len(a.Value)
	}
	if c := q.cause; c != nil {
		n += 200 + len(c.Expression)
		for _, f := range c.Fields {
			n += 48 + len(f.Path) + len(f.Message)
		}
		for name, value := range c.Variables {
			n += 64 + len(name) + len(value)
		}
	}
	return int64(n)
}

// isEmpty reports whether there is nothing that may quote the object.
func (q *quoted) isEmpty() bool {
	return q.message == "" && q.why == "" && q.cause == nil && len(q.warnings) == 0 && len(q.notes) == 0
}

// show adds q to a Request.
func (q *quoted) show(r *v1alpha1.Request) {
	s := &r.Status
	s.Message, s.Why = cmp.Or(q.message, s.Message), cmp.Or(q.why, s.Why)
	if q.cause != nil {
		missing := s.Cause
		s.Cause = new(v1alpha1.Cause)
		*s.Cause = *q.cause
		if missing != nil {
			s.Cause.Missing = missing.Missing
		}
	}
	if len(q.warnings) > 0 {
		s.Warnings = q.warnings
	}
	if len(q.notes) > 0 {
		facts := make(map[string]string, len(q.notes))
		for _, a := range q.notes {
			facts[a.Key] = a.Value
		}
		s.Steps = append(s.Steps, v1alpha1.Step{Name: "audit annotations", Facts: facts})
	}
}

// causeInOneLine returns the explanation of a refusal in one line.
func (d *description) causeInOneLine() string {
	c, text := d.cause, d.message
	if text == laterMessage || text == withheldMessage {
		text = d.reason
		for i, f := range c.Fields {
			if i == maxFieldsInLine {
				text += " ..."
				break
			}
			text += fmt.Sprintf(" %s (%s)", f.Path, f.Type)
		}
	}
	by := c.By
	if c.Name != "" {
		by += " " + c.Name
	}
	return cut(by+": "+cmp.Or(strings.TrimSpace(text), d.reason, http.StatusText(d.code)), maxAgent)
}

// maxFieldsInLine is the number of fields that a line names.
const maxFieldsInLine = 4
