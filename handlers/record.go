package handlers

import (
	"cmp"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// record records the request if the server has a lab.
func (h *Handler) record(next http.HandlerFunc) http.HandlerFunc {
	if h.Recorder == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		sw := w.(*responseWriter) // of the step measure
		sw.scope.Account = &request.Account{}
		sw.scope.Traced = apf.IsMutating(sw.scope.Info.Verb) // reads have few steps, and must stay fast
		sw.scope.Audit = &request.AuditRecord{Level: request.AuditMetadata}
		sw.recording = h.Recorder.Begin(r, sw.scope, sw.received)
		if sw.tap = h.Recorder.Tap(r, sw.scope, sw.received); sw.tap != nil && r.Body != nil && r.Body != http.NoBody {
			r.Body = &tappedBody{r.Body, sw.tap}
		}
		defer func() {
			code := sw.code
			p := recover()
			if p != nil {
				code = http.StatusInternalServerError
			}
			sw.recording.Ended(code, sw.written)
			if sw.tap != nil {
				sw.tap.Ended(p != nil)
			}
			if p != nil {
				panic(p)
			}
		}()
		next(w, r)
	}
}

// tappedBody is the body of a request, of which a tap gets what is read.
type tappedBody struct {
	io.ReadCloser
	tap request.Tap
}

// Read implements io.Reader.
func (b *tappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.tap.Sent(p[:n])
	return n, err
}

// readdress has a request that was sent to the address of a recording served as if it had been sent to the address of the server.
func (h *Handler) readdress(next http.HandlerFunc) http.HandlerFunc {
	if h.Recorder == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		name, prefix, ok := h.Recorder.Readdress(r.URL.Path)
		if !ok {
			next(w, r)
			return
		}
		request.From(r.Context()).Recording = name
		out := *r
		out.URL = new(url.URL)
		*out.URL = *r.URL
		out.URL.Path, out.URL.RawPath = cmp.Or(r.URL.Path[len(prefix):], "/"), strings.TrimPrefix(r.URL.RawPath, prefix)
		out.RequestURI = strings.TrimPrefix(r.RequestURI, prefix)
		next(w, &out)
	}
}

// accounted returns a step of the chain that the account of the request has. It is the step itself if the server has no lab.
func (h *Handler) accounted(name string, s step) step {
	if h.Recorder == nil {
		return s
	}
	return func(next http.HandlerFunc) http.HandlerFunc {
		within := s(func(w http.ResponseWriter, r *http.Request) {
			w.(*responseWriter).scope.Account.EndStep()
			next(w, r)
		})
		return func(w http.ResponseWriter, r *http.Request) {
			account := w.(*responseWriter).scope.Account
			account.BeginStep(name)
			within(w, r)
			account.EndStep() // of a refused request
		}
	}
}

// recordLimit records what flow control decided.
func recordLimit(scope *request.Scope, ticket *apf.Ticket, ok bool) {
	if scope.Account == nil {
		return
	}
	schema, level, seats := ticket.Classified()
	scope.Account.Fact("flowSchema", schema)
	scope.Account.Fact("priorityLevel", level)
	scope.Account.Fact("seats", strconv.Itoa(seats))
	if waited := scope.Durations.Of(request.PartAPFQueueWait); waited > 0 {
		scope.Account.Fact("waited", waited.String())
	}
	if !ok {
		scope.Account.Refuse(request.Refusal{By: request.RefusedByFlowControl, Name: level})
	}
}

// recordBody records the body of a write, and the object that was decoded from it. Between the two are the fields that were
// dropped and the defaults that were set.
func (c *call) recordBody(obj api.Object, data []byte) {
	account := request.From(c.r.Context()).Account
	if account == nil {
		return
	}
	c.codec.RecordBody(account, c.r.Header.Get("Content-Type"), data, obj)
}

// recordPatch records a patch that is no state of the object.
func (c *call) recordPatch(kind types.PatchType, data []byte) {
	request.From(c.r.Context()).Account.SetPatch(string(kind), data)
}

// recordOutcome records the object that a write stored.
func (c *call) recordOutcome(out registry.Outcome) {
	if account := request.From(c.r.Context()).Account; account != nil {
		o := out.Object
		account.SetStored(request.Stored{Name: o.GetName(), UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion()})
	}
}

// recordRefusal records the layer that refused a request.
func recordRefusal(scope *request.Scope, by, name string) {
	scope.Account.Refuse(request.Refusal{By: by, Name: name})
}
