package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/quickjson"
	"github.com/miniapiserver/miniapiserver/request"
)

// typeMeta begins an event that stands alone. The items of a list have no type.
const typeMeta = `{"kind":"Event","apiVersion":"` + apiVersion + `",`

// appendJSON appends the event as a JSON object, as encoding/json writes it from
// kube-apiserver's type. It is written by hand because it is on the path of every request.
func (e *Event) appendJSON(b []byte, withType bool) ([]byte, error) {
	if withType {
		b = append(b, typeMeta...)
	} else {
		b = append(b, '{')
	}
	b = appendMember(b, `"level":`, levelNames()[e.Level])
	b = appendMember(b, `,"auditID":`, e.ID)
	b = appendMember(b, `,"stage":`, e.Stage.String())
	b = e.appendRequest(b)
	b, err := e.appendContent(b)
	if err != nil {
		return nil, err
	}
	b = appendTime(append(b, `,"requestReceivedTimestamp":`...), e.RequestReceivedTimestamp)
	b = appendTime(append(b, `,"stageTimestamp":`...), e.StageTimestamp)
	if len(e.Annotations) > 0 {
		b = appendAnnotations(append(b, `,"annotations":`...), e.Annotations)
	}
	return append(b, '}'), nil
}

// describe encodes the part of the event that describes the request, for this event and later ones,
// until forget.
func (e *Event) describe() { e.described = e.appendRequest(e.described[:0]) }

// forget discards the part of describe, because the description of the request changed.
func (e *Event) forget() { e.described = e.described[:0] }

// appendRequest appends the members that describe the request.
func (e *Event) appendRequest(b []byte) []byte {
	if len(e.described) > 0 {
		return append(b, e.described...)
	}
	b = appendMember(b, `,"requestURI":`, e.RequestURI)
	b = appendMember(b, `,"verb":`, e.Verb)
	b = appendUser(append(b, `,"user":`...), e.User)
	if e.ImpersonatedUser != nil {
		b = appendUser(append(b, `,"impersonatedUser":`...), e.ImpersonatedUser)
	}
	if e.Constraint != "" {
		b = append(appendMember(b, `,"authenticationMetadata":{"impersonationConstraint":`, e.Constraint), '}')
	}
	if len(e.SourceIPs) > 0 {
		b = appendStrings(append(b, `,"sourceIPs":`...), e.SourceIPs)
	}
	if e.UserAgent != "" {
		b = appendMember(b, `,"userAgent":`, e.UserAgent)
	}
	if e.IsResource {
		b = append(e.Object.appendMembers(append(b, `,"objectRef":{`...)), '}')
	}
	return b
}

// appendContent appends the members that come from the body and the response.
func (e *Event) appendContent(b []byte) ([]byte, error) {
	b, err := appendStatus(b, e.ResponseStatus)
	if err != nil {
		return nil, err
	}
	if b, err = appendRaw(b, `,"requestObject":`, e.RequestObject); err != nil {
		return nil, err
	}
	return appendRaw(b, `,"responseObject":`, e.ResponseObject)
}

// appendStatus appends the status of the response. Most have only a code.
func appendStatus(b []byte, s *metav1.Status) ([]byte, error) {
	if s == nil {
		return b, nil
	}
	b = append(b, `,"responseStatus":`...)
	if s.Status == "" && s.Message == "" && s.Reason == "" && s.Details == nil && s.Code != 0 {
		b = strconv.AppendInt(append(b, `{"metadata":{},"code":`...), int64(s.Code), 10)
		return append(b, '}'), nil
	}
	status, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the status: %w", err)
	}
	return append(b, status...), nil
}

// appendRaw appends a member with a JSON value on one line, unless the value is empty.
func appendRaw(b []byte, key string, value []byte) ([]byte, error) {
	if len(value) == 0 {
		return b, nil
	}
	out := bytes.NewBuffer(append(b, key...))
	if err := json.Compact(out, value); err != nil {
		return nil, fmt.Errorf("%s %w", strings.Trim(key, `,":`), err)
	}
	return out.Bytes(), nil
}

func appendMember(b []byte, key, value string) []byte {
	return quickjson.AppendString(append(b, key...), value)
}

// appendUser appends a UserInfo of authentication.k8s.io/v1, which is empty for nil.
func appendUser(b []byte, u *request.User) []byte {
	b = append(b, '{')
	if u == nil {
		return append(b, '}')
	}
	start := len(b)
	b = appendOptional(b, start, "username", u.Name)
	b = appendOptional(b, start, "uid", u.UID)
	if len(u.Groups) > 0 {
		b = appendStrings(appendKey(b, start, "groups"), u.Groups)
	}
	if len(u.Extra) == 0 {
		return append(b, '}')
	}
	b = append(appendKey(b, start, "extra"), '{')
	start = len(b)
	for _, key := range slices.Sorted(maps.Keys(u.Extra)) {
		if len(b) > start {
			b = append(b, ',')
		}
		b = append(quickjson.AppendString(b, key), ':')
		b = appendStrings(b, u.Extra[key])
	}
	return append(b, "}}"...)
}

func (o *ObjectReference) appendMembers(b []byte) []byte {
	start := len(b)
	b = appendOptional(b, start, "resource", o.Resource)
	b = appendOptional(b, start, "namespace", o.Namespace)
	b = appendOptional(b, start, "name", o.Name)
	b = appendOptional(b, start, "uid", o.UID)
	b = appendOptional(b, start, "apiGroup", o.Group)
	b = appendOptional(b, start, "apiVersion", o.Version)
	b = appendOptional(b, start, "resourceVersion", o.ResourceVersion)
	return appendOptional(b, start, "subresource", o.Subresource)
}

// appendKey appends the key of a member of an object whose members begin at start.
func appendKey(b []byte, start int, key string) []byte {
	if len(b) > start {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), key...), `":`...)
}

// appendOptional appends a member unless it is empty.
func appendOptional(b []byte, start int, key, value string) []byte {
	if value == "" {
		return b
	}
	return quickjson.AppendString(appendKey(b, start, key), value)
}

func appendStrings(b []byte, list []string) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = quickjson.AppendString(b, s)
	}
	return append(b, ']')
}

func appendAnnotations(b []byte, list []request.Annotation) []byte {
	b = append(b, '{')
	for i, a := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(quickjson.AppendString(b, a.Key), ':')
		b = quickjson.AppendString(b, a.Value)
	}
	return append(b, '}')
}

// appendTime appends a time in microseconds. Its digits are written one by one, because parsing the
// layout of time.Format costs more than the rest of it.
func appendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return append(t.AppendFormat(append(b, '"'), "2006-01-02T15:04:05.000000Z07:00"), '"')
	}
	hour, minute, second := t.Clock()
	b = append(appendDigits(append(b, '"'), year, 4), '-')
	b = append(appendDigits(b, int(month), 2), '-')
	b = append(appendDigits(b, day, 2), 'T')
	b = append(appendDigits(b, hour, 2), ':')
	b = append(appendDigits(b, minute, 2), ':')
	b = append(appendDigits(b, second, 2), '.')
	return append(appendDigits(b, t.Nanosecond()/1000, 6), 'Z', '"')
}

// appendDigits appends the last n decimal digits of a number.
func appendDigits(b []byte, number, n int) []byte {
	at := len(b)
	b = append(b, "000000"[:n]...)
	for i := at + n - 1; i >= at; i-- {
		b[i] = byte('0' + number%10)
		number /= 10
	}
	return b
}

// appendLegacy appends the event in the legacy format, one line of text.
func (e *Event) appendLegacy(b []byte) []byte {
	user, groups := "<none>", "<none>"
	if e.User != nil && e.User.Name != "" {
		user = e.User.Name
		if len(e.User.Groups) > 0 {
			groups = quoted(e.User.Groups)
		}
	}
	as, asGroups := "<self>", "<lookup>"
	if e.ImpersonatedUser != nil {
		as = e.ImpersonatedUser.Name
		if e.ImpersonatedUser.Groups != nil {
			asGroups = quoted(e.ImpersonatedUser.Groups)
		}
	}
	namespace, response, ip := "<none>", "<deferred>", "<unknown>"
	if e.Object.Namespace != "" {
		namespace = e.Object.Namespace
	}
	if e.ResponseStatus != nil {
		response = strconv.Itoa(int(e.ResponseStatus.Code))
	}
	if len(e.SourceIPs) > 0 {
		ip = e.SourceIPs[0]
	}
	return fmt.Appendf(b, "%s AUDIT: id=%q stage=%q ip=%q method=%q user=%q groups=%q as=%q asgroups=%q user-agent=%q namespace=%q uri=%q response=\"%s\"",
		e.RequestReceivedTimestamp.Format(time.RFC3339Nano), e.ID, e.Stage, ip, e.Verb, user, groups, as, asGroups, e.UserAgent, namespace, e.RequestURI, response)
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strconv.Quote(s)
	}
	return strings.Join(out, ",")
}
