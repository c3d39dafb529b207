package handlers

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/request"
)

// exported makes a Handler export its spans to the returned exporter.
func exported(t *testing.T, sampler sdktrace.Sampler) (*tracetest.InMemoryExporter, func(*Config)) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithSampler(sampler))
	t.Cleanup(func() {
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return spans, func(c *Config) { c.Tracer = provider }
}

// tree describes spans by their names, each in parentheses after that of its parent.
func tree(spans tracetest.SpanStubs) string {
	slices.SortFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	var inside func(trace.SpanID) string
	inside = func(parent trace.SpanID) string {
		var names []string
		for _, s := range spans {
			if s.Parent.SpanID() == parent {
				name := s.Name
				if children := inside(s.SpanContext.SpanID()); children != "" {
					name += " (" + children + ")"
				}
				names = append(names, name)
			}
		}
		return strings.Join(names, ", ")
	}
	return inside(trace.SpanID{})
}

func attributesOf(attributes []attribute.KeyValue) map[string]string {
	m := map[string]string{}
	for _, a := range attributes {
		m[string(a.Key)] = a.Value.Emit()
	}
	return m
}

// steps are the spans of the steps of the chain.
const steps = "authentication, audit, impersonation, priorityandfairness, authorization"

// TestSpans checks the spans of requests.
func TestSpans(t *testing.T) {
	spans, export := exported(t, sdktrace.AlwaysSample())
	h := newHandler(t, export)
	const object = " /api/v1/namespaces/{:namespace}/configmaps/{:name}"
	for _, tt := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{http.MethodPost, mapsPath, `{"metadata":{"name":"a"}}`, 201,
			"POST /api/v1/namespaces/{:namespace}/configmaps (" + steps + ", Create (Create etcd3))"},
		{http.MethodGet, mapsPath + "/a", "", 200, "GET" + object + " (" + steps + ", Get)"},
		{http.MethodGet, mapsPath, "", 200,
			"GET /api/v1/namespaces/{:namespace}/configmaps (" + steps + ", List)"},
		{http.MethodPut, mapsPath + "/a", `{"metadata":{"name":"a"},"data":{"k":"v"}}`, 200,
			"PUT" + object + " (" + steps + ", Update (GuaranteedUpdate etcd3))"},
		{http.MethodGet, mapsPath + "/missing", "", 404, "GET" + object + " (" + steps + ", Get)"},
		{http.MethodDelete, mapsPath + "/a", "", 200,
			"DELETE" + object + " (" + steps + ", Delete (Delete etcd3))"},
		{http.MethodGet, "/version", "", 200, "GET (" + steps + ")"},
	} {
		spans.Reset()
		w := sendText(t, h, tt.method, tt.path, tt.body, auditID, "my-id")
		if w.Code != tt.code {
			t.Fatalf("%s %s: %d %s", tt.method, tt.path, w.Code, w.Body)
		}
		got := spans.GetSpans()
		if text := tree(got); text != tt.want {
			t.Errorf("%s %s: got\n%s\nwant\n%s", tt.method, tt.path, text, tt.want)
		}
		root := got[slices.IndexFunc(got, func(s tracetest.SpanStub) bool { return !s.Parent.IsValid() })]
		attributes := attributesOf(root.Attributes)
		for name, want := range map[string]string{
			"audit-id": "my-id", "http.request.method": tt.method, "url.path": tt.path, "http.target": tt.path, "url.scheme": "http",
			"http.response.status_code": fmt.Sprint(tt.code), "http.response.body.size": fmt.Sprint(w.Body.Len()),
			"server.address": "example.com", "client.address": "192.0.2.1", "network.protocol.version": "1.1",
		} {
			if attributes[name] != want {
				t.Errorf("%s %s: %s is %q, want %q", tt.method, tt.path, name, attributes[name], want)
			}
		}
		if root.SpanKind != trace.SpanKindServer || root.Status.Code != codes.Unset {
			t.Errorf("kind %v, status %v", root.SpanKind, root.Status)
		}
	}
}

// TestSpanEvents checks the events and attributes of the span of a verb.
func TestSpanEvents(t *testing.T) {
	spans, export := exported(t, sdktrace.AlwaysSample())
	h := newHandler(t, export)
	sendText(t, h, http.MethodPost, mapsPath, `{"metadata":{"name":"a"}}`, "User-Agent", strings.Repeat("x", 2000))
	all := spans.GetSpans()
	create := all[slices.IndexFunc(all, func(s tracetest.SpanStub) bool { return s.Name == "Create" })]
	var events []string
	for _, e := range create.Events {
		events = append(events, e.Name)
	}
	want := []string{"limitedReadBody succeeded", "Conversion done", "Write to database call succeeded", "About to write a response", "Writing http response done"}
	if !slices.Equal(events, want) {
		t.Errorf("events %q, want %q", events, want)
	}
	attributes := attributesOf(create.Attributes)
	if attributes["user-agent"] != strings.Repeat("x", 1024)+"...TRUNCATED" || attributes["verb"] != "POST" || attributes["resource"] != "configmaps" {
		t.Errorf("attributes %v", attributes)
	}
}

// TestSpanParents checks that only trusted clients determine the trace of their requests and
// whether it is sampled.
func TestSpanParents(t *testing.T) {
	const remote = "0af7651916cd43dd8448eb211c80319c"
	parent := func(flags string) string { return "00-" + remote + "-b7ad6b7169203331-" + flags }
	for _, tt := range []struct {
		group, header   string
		sampler         sdktrace.Sampler
		sampled, inside bool
	}{
		{request.GroupMasters, parent("01"), sdktrace.NeverSample(), true, true},
		{groupMonitoring, parent("01"), sdktrace.NeverSample(), true, true},
		{request.GroupMasters, parent("00"), sdktrace.AlwaysSample(), false, false},
		{"testers", parent("01"), sdktrace.NeverSample(), false, false},
		{"testers", parent("00"), sdktrace.AlwaysSample(), true, false},
		{"testers", "", sdktrace.AlwaysSample(), true, false},
		{request.GroupMasters, "00-junk", sdktrace.AlwaysSample(), true, false},
	} {
		spans, export := exported(t, sdktrace.ParentBased(tt.sampler))
		h := newHandler(t, export)
		send(t, h, http.MethodGet, "/version", nil, "Group", tt.group, "Traceparent", tt.header)
		all := spans.GetSpans()
		if (len(all) > 0) != tt.sampled {
			t.Errorf("%+v: %d spans", tt, len(all))
		}
		for _, s := range all {
			if inside := s.SpanContext.TraceID().String() == remote; inside != tt.inside {
				t.Errorf("%+v: %s is in trace %s", tt, s.Name, s.SpanContext.TraceID())
			}
			if s.SpanKind == trace.SpanKindServer && !tt.inside && strings.HasPrefix(tt.header, "00-0a") &&
				(len(s.Links) != 1 || s.Links[0].SpanContext.TraceID().String() != remote) {
				t.Errorf("%+v: links %v", tt, s.Links)
			}
		}
	}
}

// TestSpansOfFailures checks the spans of requests that a step refuses or that panic, and that
// unauthenticated clients cannot cause any.
func TestSpansOfFailures(t *testing.T) {
	for _, tt := range []struct {
		change func(*Config)
		code   int
		want   string
		failed bool
	}{
		{unknownUser, 401, "", false},
		{func(c *Config) { c.Authorizer = panicking{} }, 500, "GET (" + steps + ")", true},
		{func(c *Config) { c.Authorizer = authz.AlwaysDeny{} }, 403, "GET (" + steps + ")", false},
	} {
		spans, export := exported(t, sdktrace.AlwaysSample())
		h := chainOnly(t, func(c *Config) {
			export(c)
			tt.change(c)
		})
		if w := through(h, httptest.NewRequest(http.MethodGet, "/version", nil)); w.Code != tt.code {
			t.Errorf("%d %s, want %d", w.Code, w.Body, tt.code)
		}
		all := spans.GetSpans()
		if got := tree(all); got != tt.want {
			t.Errorf("%d: got %s, want %s", tt.code, got, tt.want)
		}
		for _, s := range all {
			if s.SpanKind == trace.SpanKindServer && (s.Status.Code == codes.Error) != tt.failed {
				t.Errorf("%d: status %v", tt.code, s.Status)
			}
		}
	}
}

// TestSlowRequests checks that the steps of slow requests are logged, at the verbosity at which
// kube-apiserver logs them.
func TestSlowRequests(t *testing.T) {
	for _, tt := range []struct {
		level slog.Level
		slow  bool
		want  bool
	}{{levelSlow, true, true}, {levelSlow, false, false}, {levelSlow + 3, true, false}} {
		var out bytes.Buffer
		level := &slog.LevelVar{}
		level.Set(slog.LevelWarn)
		h := newHandler(t, func(c *Config) {
			c.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level, ReplaceAttr: onlyMessage}))
		})
		level.Set(tt.level) // while the server runs
		if tt.slow {
			h.slow = 1
		}
		sendText(t, h, http.MethodPost, mapsPath+"?fieldManager=me", `{"metadata":{"name":"a"},"data":{"k":"secret"}}`,
			"User-Agent", "me/1", "Accept", "application/json", auditID, "my-id")
		send(t, h, http.MethodGet, "/version", nil) // kube-apiserver logs only requests for resources
		got := strings.Split(strings.ReplaceAll(out.String(), `\"`, `'`), `\n`)
		if tt.want != (len(got) > 1) {
			t.Errorf("%+v: %s", tt, &out)
		}
		if !tt.want {
			continue
		}
		lines := []string{
			`msg="Trace[1]: 'Create' accept:application/json,audit-id:my-id,client:192.0.2.1,api-group:,api-version:v1,name:,subresource:,` +
				`namespace:ns,protocol:HTTP/1.1,resource:configmaps,scope:resource,url:/api/v1/namespaces/ns/configmaps,user-agent:me/1,verb:POST (T) (total time: Nms):`,
			`Trace[1]: ---'limitedReadBody succeeded' len:47 Nms (T)`,
			`Trace[1]: ---'Conversion done' Nms (T)`,
			`Trace[1]: ['Create etcd3' audit-id:my-id,key:/registry/configmaps/ns/a,group:,resource:configmaps Nms (T)]`,
			`Trace[1]: ---'Write to database call succeeded' Nms (T)`,
			`Trace[1]: ---'About to write a response' Nms (T)`,
			`Trace[1]: ---'Writing http response done' Nms (T)`,
			`Trace[1]: [D] [D] END`, "\"\n",
		}
		for _, r := range []struct{ pattern, by string }{
			{`Trace\[\d+\]`, "Trace[1]"}, {`\((\d\d-\w+-\d+ )?\d\d:\d\d:\d\d\.\d+\)`, "(T)"}, {`\[[\d.µm]+s\]`, "[D]"}, {`\d+ms`, "Nms"},
		} {
			for i := range got {
				got[i] = regexp.MustCompile(r.pattern).ReplaceAllString(got[i], r.by)
			}
		}
		if !slices.Equal(got, lines) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
		}
	}
}

func onlyMessage(_ []string, a slog.Attr) slog.Attr {
	if a.Key != slog.MessageKey {
		return slog.Attr{}
	}
	return a
}
