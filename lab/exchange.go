package lab

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/lab/conversation"
	"github.com/miniapiserver/miniapiserver/request"
)

// exchange is a request with its answer, while some Recordings take it.
type exchange struct {
	lab                      *Lab
	scope                    *request.Scope
	parts                    []*part // one for each Recording
	received, answered, last time.Time
	method, uri, client      string
	header                   http.Header // of the request, what is kept

	resource *api.Resource
	decoder  Transcoder
	sent     limitedBuffer
	code     int
	answer   http.Header
	etag     string
	modified string
	body     limitedBuffer // of the response; of a stream what is no complete event yet
	isStream bool
	broken   string // why the response is not kept
}

// part is an exchange in one Recording. The fields below are guarded by the lock of its traffic.
type part struct {
	of         *armedRecording
	ref        ObjectRef // that a reader must be allowed to get
	path       string    // instead, of a request that is for no resource
	connection int
	step       *conversation.Step // nil until it is complete, or a stream
	events     []jsonText
	times      []float64
}

// jsonText is JSON as text.
type jsonText = json.RawMessage

// keptHeaders are the headers of requests that are kept, besides those of impersonation. None is a credential.
var keptHeaders = []string{"Accept", "Content-Type", "User-Agent", "If-None-Match", "If-Modified-Since"}

// limitedBuffer keeps up to a number of bytes.
type limitedBuffer struct {
	data  []byte
	limit int64
	over  bool
}

func (b *limitedBuffer) add(p []byte) {
	if b.over = b.over || int64(len(b.data)+len(p)) > b.limit; b.over {
		b.data = nil
		return
	}
	b.data = append(b.data, p...)
}

// newExchange begins an exchange.
func (l *Lab) newExchange(r *http.Request, s *request.Scope, received time.Time) *exchange {
	x := &exchange{lab: l, scope: s, received: received, method: r.Method, client: r.RemoteAddr, header: http.Header{}}
	x.uri = keptURI(r)
	for name, values := range r.Header {
		if slices.Contains(keptHeaders, name) || strings.HasPrefix(name, "Impersonate-") {
			x.header[name] = slices.Clone(values)
		}
	}
	x.resource = l.find(&s.Info)
	if l.connections.Transcode != nil {
		x.decoder = l.connections.Transcode(x.resource)
	}
	x.sent.limit = l.share(shareOfRecordings)
	x.body.limit = x.sent.limit
	return x
}

// keptURI returns the path and the query of a request without the parameters that the lab does not keep.
func keptURI(r *http.Request) string {
	pairs := slices.DeleteFunc(strings.Split(r.URL.RawQuery, "&"), func(pair string) bool { return !isShownParameter(pair) })
	if len(pairs) == 0 {
		return r.URL.EscapedPath()
	}
	return r.URL.EscapedPath() + "?" + strings.Join(pairs, "&")
}

// Sent implements request.Tap.
func (x *exchange) Sent(b []byte) { x.sent.add(b) }

// Began implements request.Tap. The user is known now.
func (x *exchange) Began(code int, header http.Header) {
	x.code, x.answered = code, time.Now()
	x.last = x.answered
	x.answer = http.Header{}
	for _, name := range conversation.ComparedHeaders() {
		if values := header.Values(name); len(values) > 0 {
			x.answer[name] = slices.Clone(values)
		}
	}
	if encoding := header.Get("Content-Encoding"); encoding != "" {
		x.answer.Set("Content-Encoding", encoding)
	}
	x.etag, x.modified = header.Get("ETag"), header.Get("Last-Modified")
	user := userName(x.scope)
	x.parts = slices.DeleteFunc(x.parts, func(p *part) bool { return !matchesAny(p.of.spec.Match.Users, user) })
	if x.scope.Info.Connects || code == http.StatusSwitchingProtocols {
		x.leave()
		return
	}
	ref := x.ref()
	x.isStream = x.scope.Info.Watch && code == http.StatusOK
	for _, p := range x.parts {
		p.ref = ref
		if !x.scope.Info.IsResource {
			p.path = x.scope.Info.Path
		}
	}
	x.parts = slices.DeleteFunc(x.parts, func(p *part) bool { return !p.of.start(p, x.client) })
	x.body.limit = 0
	for _, p := range x.parts {
		x.body.limit = max(x.body.limit, p.of.left())
	}
	if x.isStream {
		for _, p := range x.parts {
			p.of.follow(p, x.step(p, false))
		}
	}
}

// leave counts the exchange as left out.
func (x *exchange) leave() {
	for _, p := range x.parts {
		p.of.leave()
	}
	x.parts = nil
}

// ref returns the object of the exchange, which its readers must be allowed to get.
func (x *exchange) ref() ObjectRef {
	d := description{record: &record{scope: x.scope}, found: x.scope.Account.Found()}
	d.describeObject(&x.scope.Info)
	return d.ref
}

// Wrote implements request.Tap.
func (x *exchange) Wrote(b []byte) {
	if len(x.parts) == 0 {
		return
	}
	x.last = time.Now()
	if !x.isStream {
		x.body.add(b)
		return
	}
	if x.answer.Get("Content-Encoding") == "gzip" { // each write is a stream of its own
		var err error
		if b, err = gunzip(b, x.body.limit); err != nil {
			x.broken = "its events cannot be decompressed"
		}
	}
	x.body.add(b)
	for x.broken == "" {
		event, rest, err := x.decoder.Event(x.answer.Get("Content-Type"), x.body.data)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		if err != nil {
			x.broken = "its events cannot be read: " + err.Error()
			return
		}
		for _, p := range x.parts {
			if out, ok := x.redactor(p).response(event); ok {
				p.of.event(p, out, x.last)
			} else {
				x.broken = "its events cannot be read"
			}
		}
		x.body.data = rest
	}
}

// Ended implements request.Tap.
func (x *exchange) Ended(isAborted bool) {
	if x.answered.IsZero() && len(x.parts) > 0 { // nothing was sent: the connection was taken over, or broken
		if x.scope.Info.Connects || !isAborted {
			x.leave()
			return
		}
		x.Began(http.StatusInternalServerError, http.Header{})
	}
	if isAborted && x.broken == "" {
		x.broken = "the connection broke"
	}
	if x.isStream {
		x.last = time.Now() // its client may have left long after the last event
	}
	for _, p := range x.parts {
		p.of.finish(p, x.step(p, true))
	}
	x.parts, x.sent.data, x.body.data = nil, nil, nil
}

// redactor returns what replaces the secrets of the exchange in a Recording.
func (x *exchange) redactor(p *part) *redactor {
	return newRedactor(p.of.secrets, x.resource, x.scope.Info.Subresource)
}

// step returns the exchange as a step of a conversation.
func (x *exchange) step(p *part, isComplete bool) *conversation.Step {
	red := x.redactor(p)
	at := p.of.seconds
	s := &conversation.Step{ID: x.scope.LogID(), Method: x.method, Path: red.text(x.uri), Headers: map[string]string{},
		Timing: &conversation.Timing{Start: at(x.received), Answer: at(x.answered), Connection: p.connection,
			ETag: x.etag, LastModified: x.modified}}
	if isComplete {
		s.Timing.End = at(x.last)
	}
	if u := cmp.Or(x.scope.Impersonator, x.scope.User); u != nil {
		s.Timing.User, s.Timing.Groups = u.Name, u.Groups
	}
	for name, values := range x.header {
		s.Headers[name] = red.text(strings.Join(values, "\n"))
	}
	x.describeBody(s, red)
	headers := map[string]any{}
	for name, values := range x.answer {
		if name != "Content-Encoding" {
			headers[strings.ToLower(name)] = red.text(strings.Join(values, "\n"))
		}
	}
	s.Expect = map[string]any{"status": x.code, "headers": headers}
	s.Timing.Unanswered = x.broken
	x.describeResponse(s, red, headers)
	return s
}

// describeBody sets the body of a request.
func (x *exchange) describeBody(s *conversation.Step, red *redactor) {
	switch {
	case x.sent.over:
		s.Timing.Skip = "its body is too large"
		return
	case red.hasSecrets && x.code == http.StatusBadRequest && len(x.sent.data) > 0:
		s.Timing.Skip = "its body is not kept, because it could not be decoded and its kind has secrets"
		return
	}
	if len(x.sent.data) == 0 {
		return
	}
	media := x.header.Get("Content-Type")
	body, isObject, err := x.transcode(cmp.Or(media, "application/json"), x.sent.data)
	var ok bool
	if isObject && err == nil {
		if s.Body, ok = red.request(body); ok && isTranscoded(media) {
			s.Headers["Content-Type"] = "application/json"
			if strings.Contains(media, "apply-patch") {
				s.Headers["Content-Type"] = "application/apply-patch+yaml" // which JSON is too
			}
		}
	} else if !red.hasSecrets {
		s.Body, ok = plainText(red, x.sent.data)
	}
	if !ok {
		s.Body, s.Timing.Skip = nil, "its body is not kept, because it cannot be read, or is of another kind"
	}
}

// plainText returns a body that is no object as a string of JSON. It reports false for one that is no text.
func plainText(red *redactor, data []byte) (jsonText, bool) {
	text, err := json.Marshal(red.text(string(data)))
	return text, err == nil && bytes.Equal(bytes.ToValidUTF8(data, nil), data)
}

// transcode returns a body as JSON.
func (x *exchange) transcode(media string, data []byte) ([]byte, bool, error) {
	if x.decoder == nil {
		return nil, false, nil
	}
	return x.decoder.JSON(media, data)
}

// isTranscoded reports whether bodies of a media type become JSON.
func isTranscoded(media string) bool {
	return strings.Contains(media, "protobuf") || strings.Contains(media, "cbor") || strings.Contains(media, "yaml")
}

// maxDocument is the size of a response that is no object, such as a document about the API, up to which it is kept.
const maxDocument = 64 << 10

// describeResponse sets the body of the response.
func (x *exchange) describeResponse(s *conversation.Step, red *redactor, headers map[string]any) {
	media := x.answer.Get("Content-Type")
	if isTranscoded(media) && !strings.Contains(media, "openapi") {
		s.Headers["Accept"] = inJSON(s.Headers["Accept"])
		headers["content-type"] = "application/json"
	}
	if red.mayQuote() {
		delete(headers, "warning")
		s.Ignore = append(s.Ignore, "headers.warning", "message", "details.causes")
	}
	if x.isStream {
		s.Stream = &conversation.Stream{Events: new(int), Seconds: new(float64)}
		return
	}
	data, over := x.body.data, x.body.over
	if x.answer.Get("Content-Encoding") == "gzip" && len(data) > 0 {
		var err error
		if data, err = gunzip(data, x.body.limit); err != nil {
			over = true
		}
	}
	if over || !x.scope.Info.IsResource && len(data) > maxDocument {
		s.Only = []string{} // the status and the headers are compared
		return
	}
	body, isObject, err := x.transcode(media, data)
	switch {
	case len(data) == 0:
		s.Expect["body"] = ""
	case isObject && err == nil:
		out, ok := red.response(body)
		if !ok {
			s.Only = []string{}
			return
		}
		s.Expect["body"] = out
	case red.hasSecrets:
		s.Only = []string{}
	default:
		if text, ok := plainText(red, data); ok {
			s.Expect["body"] = text
			return
		}
		s.Expect["body"] = conversation.Binary(data)
	}
}

// inJSON returns an Accept header that asks for JSON where it asks for another encoding.
func inJSON(accept string) string {
	for _, media := range []string{"application/vnd.kubernetes.protobuf", "application/cbor-seq", "application/cbor", "application/yaml"} {
		accept = strings.ReplaceAll(accept, media, "application/json")
	}
	return strings.ReplaceAll(accept, ";stream=watch", "")
}

// gunzip decompresses data of at most limit bytes.
func gunzip(data []byte, limit int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(out)) > limit {
		err = errors.New("too large")
	}
	return out, err
}

// withEvents returns the step of a stream with its events. The lock of the traffic is held.
func (p *part) withEvents() *conversation.Step {
	if p.step == nil || p.step.Stream == nil {
		return p.step
	}
	out, timing, n := *p.step, *p.step.Timing, len(p.events)
	timing.Events = slices.Clone(p.times)
	seconds := cmp.Or(timing.End, p.of.seconds(time.Now())) - timing.Answer + 5
	out.Timing, out.Stream = &timing, &conversation.Stream{Events: &n, Seconds: &seconds}
	out.Expect = maps.Clone(p.step.Expect)
	out.Expect["events"] = append([]jsonText{}, p.events...)
	return &out
}
