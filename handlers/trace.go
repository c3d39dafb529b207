package handlers

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

const (
	// slowRequest is the duration from which on the steps of a request are logged.
	slowRequest = 500 * time.Millisecond
	// maxTracedAgent is the maximum length of a User-Agent in a span.
	maxTracedAgent = 1024
	// groupMonitoring is the group whose members may, beside administrators, determine by the
	// headers of a request whether it is sampled.
	groupMonitoring = "system:monitoring"
)

// trace begins the OpenTelemetry span of the request. It is only part of the chain if spans are
// exported. A span that a client names in the headers is the parent if the client is
// trusted; otherwise the trace is a new one, which has a link to it.
func (h *Handler) trace(next http.HandlerFunc) http.HandlerFunc {
	if h.Tracer == nil {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		sw := w.(*responseWriter) // of the step measure
		ctx, span := h.startServerSpan(sw, r)
		defer func() {
			code := sw.code
			if p := recover(); p != nil {
				defer panic(p)
				code = http.StatusInternalServerError
			}
			span.SetAttributes(attribute.Int("http.response.status_code", max(code, http.StatusOK)),
				attribute.Int("http.response.body.size", sw.written))
			if code >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, "")
			}
			span.End()
		}()
		next(w, r.WithContext(ctx))
	}
}

// startServerSpan begins the span of a whole request, with that of its authentication, which has
// ended.
func (h *Handler) startServerSpan(w *responseWriter, r *http.Request) (context.Context, trace.Span) {
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(w.received)}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	if remote := trace.SpanContextFromContext(ctx); remote.IsValid() && !mayInfluenceSampling(w.scope.User) {
		options = append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: remote}))
	}
	tracer := h.Tracer.Tracer(request.Instrumentation)
	ctx, span := tracer.Start(ctx, spanName(&w.scope.Info, r.Method), options...)
	if span.IsRecording() {
		span.SetAttributes(serverAttributes(r, w.scope.LogID())...)
		_, authentication := tracer.Start(ctx, "authentication", trace.WithTimestamp(w.received))
		authentication.End()
	}
	return ctx, span
}

// mayInfluenceSampling reports whether the trace headers of a user's requests are trusted.
func mayInfluenceSampling(u *request.User) bool {
	return slices.Contains(u.Groups, request.GroupMasters) || slices.Contains(u.Groups, groupMonitoring)
}

// spanName returns the method, and the path of a resource with placeholders for names.
func spanName(info *request.Info, method string) string {
	if !info.IsResource {
		return method
	}
	name := method + " /" + info.APIPrefix
	if info.Group != "" {
		name += "/" + info.Group
	}
	name += "/" + info.Version
	if info.Namespace != "" {
		name += "/namespaces/{:namespace}"
	}
	name += "/" + info.Resource
	if info.Name != "" {
		name += "/{:name}"
	}
	if info.Subresource != "" {
		name += "/" + info.Subresource
	}
	return name
}

// serverAttributes describes a request by OpenTelemetry's conventions for HTTP, as
// kube-apiserver does.
func serverAttributes(r *http.Request, id string) []attribute.KeyValue {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	host, port, _ := net.SplitHostPort(r.Host)
	if host == "" {
		host = r.Host
	}
	_, version, _ := strings.Cut(r.Proto, "/")
	all := []attribute.KeyValue{
		attribute.String("server.address", host),
		attribute.String("http.request.method", r.Method),
		attribute.String("url.scheme", scheme),
		attribute.String("url.path", r.URL.Path),
		attribute.String("http.target", r.URL.RequestURI()),
		attribute.String("network.protocol.version", version),
		attribute.String("user_agent.original", truncatedAgent(r)),
		attribute.String("audit-id", id),
	}
	if n, err := strconv.Atoi(port); err == nil {
		all = append(all, attribute.Int("server.port", n))
	}
	if peer, port, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		all = append(all, attribute.String("network.peer.address", peer))
		if n, err := strconv.Atoi(port); err == nil {
			all = append(all, attribute.Int("network.peer.port", n))
		}
	}
	if ip := utilnet.GetClientIP(r); ip != nil {
		all = append(all, attribute.String("client.address", ip.String()))
	}
	return all
}

func truncatedAgent(r *http.Request) string {
	agent := r.UserAgent()
	if len(agent) > maxTracedAgent {
		agent = strings.ToValidUTF8(agent[:maxTracedAgent], "") + "...TRUNCATED"
	}
	return agent
}

// traced returns a step of the chain with a span of the time until the step calls the next one
// or refuses the request. It is the step itself if no spans are exported, but for the account of the request.
func (h *Handler) traced(name string, s step) step {
	s = h.accounted(name, s)
	if h.Tracer == nil {
		return s
	}
	return func(next http.HandlerFunc) http.HandlerFunc {
		within := s(func(w http.ResponseWriter, r *http.Request) {
			outside := request.EndSpan(r.Context())
			next(w, r.WithContext(outside))
		})
		return func(w http.ResponseWriter, r *http.Request) {
			ctx, span := request.StartSpan(r.Context(), name)
			defer span.End() // of a refused request
			within(w, r.WithContext(ctx))
		}
	}
}

// verbSpan is the name of the span of a verb, and that of the event that storage is done.
type verbSpan struct{ name, stored string }

// verbSpanOf returns the span of a verb; the zero value if it has none.
func verbSpanOf(verb string) verbSpan {
	switch verb {
	case api.VerbGet:
		return verbSpan{name: "Get"}
	case api.VerbList:
		return verbSpan{name: "List"}
	case api.VerbCreate:
		return verbSpan{"Create", "Write to database call succeeded"}
	case api.VerbUpdate:
		return verbSpan{"Update", "Write to database call succeeded"}
	case api.VerbPatch:
		return verbSpan{"Patch", "Object stored in database"}
	case api.VerbDelete, api.VerbDeleteCollection:
		return verbSpan{"Delete", "Object deleted from database"}
	}
	return verbSpan{}
}

// beginSpan begins the span of a verb. Requests without an end of their own have none.
func (c *call) beginSpan() {
	verb := verbSpanOf(c.info.Verb)
	if verb.name == "" || c.info.Connects {
		return
	}
	r := c.r
	ctx, span := request.StartLazySpan(r.Context(), verb.name, func() []attribute.KeyValue { return requestAttributes(r) })
	c.span, c.r = span, r.WithContext(ctx)
	request.From(ctx).Account.SetSpan(span)
	if w, ok := c.w.(*responseWriter); ok {
		w.span = span
	}
}

// endSpan ends the span of the verb, and logs its steps if it was slow.
func (h *Handler) endSpan(c *call) {
	c.span.Event("Writing http response done")
	c.span.End()
	if c.span.Duration() >= h.slow && h.Logger.Enabled(c.r.Context(), levelSlow) {
		h.Logger.Info(c.span.Report(h.slow, h.Logger.Enabled(c.r.Context(), levelAllSteps)))
	}
}

const (
	// levelSlow is the level at which slow requests are logged: --v=2.
	levelSlow = -2
	// levelAllSteps is the level at which their fast steps are logged as well: --v=4.
	levelAllSteps = -4
)

// requestAttributes describes a request for the log of slow requests.
func requestAttributes(r *http.Request) []attribute.KeyValue {
	scope := request.From(r.Context())
	info, labels := &scope.Info, labelsOf(r, scope, 0)
	if info.Verb == api.VerbCreate {
		labels.scope = "resource" // unlike in metrics
	}
	client := ""
	if ip := utilnet.GetClientIP(r); ip != nil {
		client = ip.String()
	}
	return []attribute.KeyValue{
		attribute.String("accept", r.Header.Get("Accept")),
		attribute.String("audit-id", scope.LogID()),
		attribute.String("client", client),
		attribute.String("api-group", info.Group),
		attribute.String("api-version", info.Version),
		attribute.String("name", info.Name),
		attribute.String("subresource", info.Subresource),
		attribute.String("namespace", info.Namespace),
		attribute.String("protocol", r.Proto),
		attribute.String("resource", info.Resource),
		attribute.String("scope", labels.scope),
		attribute.String("url", r.URL.Path),
		attribute.String("user-agent", truncatedAgent(r)),
		attribute.String("verb", labels.verb),
	}
}
