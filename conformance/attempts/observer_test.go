package attempts

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// observer finds out what the server does with a field.
type observer struct {
	*client
	kind     *kind
	stored   map[string]any
	rules    map[string][]string
	gates    *gateObserver
	recorded recorded
	// paths are those of the kind's fields, without indices and keys.
	paths map[string]bool
	// usual are the warnings that all requests of the kind have, warnings those of one field.
	usual    []string
	warnings []warning
}

// warning is a warning about values of a field.
type warning struct {
	text   string
	values []string
}

// readUsual reads the warnings of requests with the valid object.
func (o *observer) readUsual(fields []Field) {
	o.paths = map[string]bool{}
	for _, f := range fields {
		o.paths[plain(f.String())] = true
	}
	o.usual = o.do(http.MethodPost, o.kind.path+"?dryRun=All", jsonType, o.kind.base).warnings
	if o.stored != nil {
		o.usual = append(o.usual, o.do(http.MethodPut, o.kind.on(o.stored)+"?dryRun=All", jsonType, o.stored).warnings...)
	}
}

// facts describes what the server does with a field.
func (o *observer) facts(f Field) string {
	if o.kind.Kind == "Binding" {
		return "not tried: it needs a pod that waits for a node; see the conversations about bindings"
	}
	o.warnings = nil
	var facts []string
	add := func(format string, args ...any) { facts = append(facts, fmt.Sprintf(format, args...)) }
	isStatus := f.Path[0] == "status" && o.kind.hasStatus
	if f.Schema.name != "" && o.kind.isShared(f.Schema.name) {
		add("fields as in %s", lastSegment(f.Schema.name))
	}
	absent := o.create(f.Set(o.kind.base, Absent), f)
	if !isStatus {
		o.noteWarnings(f, "no value", absent)
		if absent.ok() {
			switch value := f.Get(absent.object); {
			case value == nil, isEmpty(value):
			case strings.HasSuffix(f.Schema.Format, "date-time"):
				add("default: the time of the request")
			default:
				add("default %s", short(value))
			}
		} else if absent.code == http.StatusUnprocessableEntity {
			add("required")
		}
	}
	accepted, refused := o.try(f, isStatus)
	if len(refused) > 0 {
		add("refuses %s", strings.Join(refused, ", "))
	} else {
		add("no rule found: any value of the type is accepted")
	}
	if change := o.change(f, accepted, isStatus); change != "" {
		add("%s", change)
	}
	if resets := o.resets(f, accepted, absent, isStatus); resets != "" {
		add("%s", resets)
	}
	for _, w := range o.warnings {
		add("warning for %s: %s", strings.Join(w.values, ", "), w.text)
	}
	for _, gate := range o.gates.of(o.kind, f, isStatus) {
		add("%s", gate)
	}
	if rules := o.rulesOf(f); len(rules) > 0 {
		add("declared: %s", strings.Join(rules, ", "))
	}
	if steps := o.recorded.of(o.kind, f); steps != "" {
		add("%s", steps)
	}
	return strings.Join(facts, "; ")
}

// create sends an object without storing it.
func (o *observer) create(object map[string]any, f Field) answer {
	return o.do(http.MethodPost, o.kind.path+"?dryRun=All", jsonType, renamed(object, f))
}

// try sends all values of a field. It returns the accepted ones, and the refused ones with the
// types of their causes.
func (o *observer) try(f Field, isStatus bool) (accepted []any, refused []string) {
	values := map[string][]string{} // by the reason
	var reasons []string
	for _, value := range append(slices.Clone(f.Valid()), f.Off()...) {
		var a answer
		switch {
		case !isStatus:
			a = o.create(f.Set(o.kind.base, value), f)
		case o.stored != nil:
			a = o.update("/status", f, value)
		}
		if a.ok() || a.code == http.StatusConflict {
			o.noteWarnings(f, short(value), a)
			accepted = append(accepted, value)
			continue
		}
		why := fmt.Sprint(a.code)
		if causes := a.causes(); len(causes) > 0 {
			why = strings.TrimPrefix(string(causes[0].Type), "FieldValue")
		}
		if !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
		if text := short(value); !slices.Contains(values[why], text) {
			values[why] = append(values[why], text)
		}
	}
	for _, why := range reasons {
		refused = append(refused, strings.Join(values[why], ", ")+" ("+why+")")
	}
	return accepted, refused
}

// noteWarnings notes the warnings of an answer that are about the field. A warning that begins with
// the path of another field is listed there.
func (o *observer) noteWarnings(f Field, value string, a answer) {
	for _, text := range a.warnings {
		at, _, _ := strings.Cut(strings.TrimPrefix(text, `299 - "`), ":")
		at = plain(at)
		if field := plain(f.String()); slices.Contains(o.usual, text) || o.paths[at] && at != field || strings.HasPrefix(field, at+".") {
			continue
		}
		text = strings.TrimPrefix(text, "299 - ")
		i := slices.IndexFunc(o.warnings, func(w warning) bool { return w.text == text })
		if i < 0 {
			i = len(o.warnings)
			o.warnings = append(o.warnings, warning{text: text})
		}
		if !slices.Contains(o.warnings[i].values, value) {
			o.warnings[i].values = append(o.warnings[i].values, value)
		}
	}
}

// update sends the stored object, or a part of it, with another value of the field. If a controller
// has changed the object, it is read again.
func (o *observer) update(part string, f Field, value any) answer {
	send := func() answer {
		return o.do(http.MethodPut, o.kind.on(o.stored)+part+"?dryRun=All", jsonType, f.Set(o.stored, value))
	}
	a := send()
	for tries := 0; a.code == http.StatusConflict && f.Path[0] != "metadata" && tries < 10; tries++ {
		o.stored = o.do(http.MethodGet, o.kind.on(o.stored), jsonType, nil).object
		a = send()
	}
	return a
}

// change describes an update of the field to an accepted value.
func (o *observer) change(f Field, accepted []any, isStatus bool) string {
	if o.stored == nil {
		return ""
	}
	part := ""
	if isStatus {
		part = "/status"
	}
	before := f.Get(o.stored)
	for _, value := range accepted {
		if equalJSON(value, before) || isEmpty(value) {
			continue
		}
		a := o.update(part, f, value)
		if a.ok() {
			o.noteWarnings(f, short(value), a)
		}
		switch {
		case a.code == http.StatusUnprocessableEntity:
			return "immutable or bound to other fields in an update"
		case !a.ok():
			return fmt.Sprintf("an update is refused with %d", a.code)
		case !equalJSON(f.Get(a.object), value) && equalJSON(f.Get(a.object), before):
			return "an update leaves it as it is"
		}
		return ""
	}
	return ""
}

// resets describes the writes that set or reset the field otherwise than usual: a create and an
// update reset the status of a kind with that subresource, and a write of the status resets the
// rest of the object.
func (o *observer) resets(f Field, accepted []any, absent answer, isStatus bool) string {
	i := slices.IndexFunc(accepted, func(value any) bool {
		return !isEmpty(value) && !equalJSON(value, f.Get(absent.object)) && !equalJSON(value, f.Get(o.stored))
	})
	if i < 0 {
		return ""
	}
	value := accepted[i]
	has := func(a answer) bool { return a.ok() && equalJSON(f.Get(a.object), value) }
	isReset := func(a answer, before any) bool { return a.ok() && equalJSON(f.Get(a.object), before) }
	var facts []string
	created := o.create(f.Set(o.kind.base, value), f)
	switch {
	case isStatus && has(created):
		facts = append(facts, "a create sets it")
	case !isStatus && absent.ok() && isReset(created, f.Get(absent.object)):
		facts = append(facts, "a create drops it")
	}
	switch {
	case o.stored == nil:
	case isStatus && has(o.update("", f, value)):
		facts = append(facts, "an update of the object sets it")
	case !isStatus && o.kind.hasStatus && has(o.update("/status", f, value)):
		facts = append(facts, "a write of the status sets it")
	}
	return strings.Join(facts, "; ")
}
