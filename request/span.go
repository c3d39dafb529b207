package request

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Span is a timed part of the work for a request. It has steps: events, and spans inside it. A
// span is an OpenTelemetry span if its context has one, and the text of a slow request is made
// from the same steps. Spans exist only if Scope.Traced is set. A nil Span records nothing. It is
// safe for concurrent use.
type Span struct {
	name       string
	start      time.Time
	attributes func() []attribute.KeyValue
	parent     *Span // nil for the outermost
	// otel is the OpenTelemetry span, and otelParent the one around it. If no spans are exported, both are the same and record
	// nothing.
	otel, otelParent trace.Span
	isExported       bool

	mu    sync.Mutex
	took  time.Duration // 0 until the end
	steps []spanStep
}

// spanStep is an event, or a span inside another one.
type spanStep struct {
	name       string
	at         time.Time
	took       time.Duration // of a step of Did
	attributes []attribute.KeyValue
	span       *Span
}

type spanKey struct{}

// Instrumentation names the code that makes the spans.
const Instrumentation = "github.com/miniapiserver/miniapiserver"

// StartSpan begins a span inside that of ctx. The returned context carries it.
func StartSpan(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, *Span) {
	return StartLazySpan(ctx, name, func() []attribute.KeyValue { return attributes })
}

// StartLazySpan is StartSpan with attributes that are computed when they are needed: now if the
// span is exported, at its end if it is slow.
func StartLazySpan(ctx context.Context, name string, attributes func() []attribute.KeyValue) (context.Context, *Span) {
	s := &Span{name: name, start: time.Now(), attributes: attributes, parent: CurrentSpan(ctx), otelParent: trace.SpanFromContext(ctx)}
	s.otel, s.isExported = s.otelParent, s.otelParent.SpanContext().IsValid()
	if s.isExported {
		ctx, s.otel = s.otelParent.TracerProvider().Tracer(Instrumentation).Start(ctx, name, trace.WithTimestamp(s.start))
	}
	if s.otel.IsRecording() {
		s.otel.SetAttributes(attributes()...)
	}
	if s.parent != nil {
		s.parent.add(spanStep{at: s.start, span: s})
	}
	return context.WithValue(ctx, spanKey{}, s), s
}

// EndSpan ends the span of ctx and returns the context outside it.
func EndSpan(ctx context.Context) context.Context {
	s := CurrentSpan(ctx)
	if s == nil {
		return ctx
	}
	s.End()
	if s.isExported {
		ctx = trace.ContextWithSpan(ctx, s.otelParent)
	}
	return context.WithValue(ctx, spanKey{}, s.parent)
}

// CurrentSpan returns the span of ctx, or nil.
func CurrentSpan(ctx context.Context) *Span {
	s, _ := ctx.Value(spanKey{}).(*Span)
	return s
}

// usualSteps is the number of steps for which an outermost span has room: most writes have as many.
const usualSteps = 16

func (s *Span) add(step spanStep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.steps == nil && s.parent == nil {
		s.steps = make([]spanStep, 0, usualSteps)
	}
	s.steps = append(s.steps, step)
}

// Event records that a step of the span is completed.
func (s *Span) Event(name string, attributes ...attribute.KeyValue) {
	if s == nil {
		return
	}
	now := time.Now()
	if s.otel.IsRecording() {
		s.otel.AddEvent(name, trace.WithTimestamp(now), trace.WithAttributes(attributes...))
	}
	s.add(spanStep{name: name, at: now, attributes: attributes})
}

// End ends the span. Only the first call counts.
func (s *Span) End() {
	if s == nil {
		return
	}
	now := time.Now()
	if s.isExported {
		s.otel.End(trace.WithTimestamp(now))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.took == 0 {
		s.took = max(now.Sub(s.start), 1)
	}
}

// Duration returns the duration of a span that has ended.
func (s *Span) Duration() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took
}

// Formats of times in a report.
const (
	reportDate = "02-Jan-2006 15:04:05.000"
	reportTime = "15:04:05.000"
)

// Report returns the steps of a span that has ended, in the form in which kube-apiserver logs
// slow requests. Unless all are requested, it leaves out the steps that take less than their
// share of the threshold, and the spans that take less than all of it.
func (s *Span) Report(threshold time.Duration, all bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := rand.Int32()
	var b strings.Builder
	fmt.Fprintf(&b, "Trace[%d]: %q ", id, s.name)
	writeAttributes(&b, s.attributes())
	fmt.Fprintf(&b, "(%s) (total time: %dms):", s.start.Format(reportDate), s.took.Milliseconds())
	r := reporter{&b, threshold, all}
	r.writeSteps(s, fmt.Sprintf("\nTrace[%d]: ", id))
	fmt.Fprintf(&b, "\nTrace[%d]: [%v] [%v] END\n", id, s.took, s.took)
	return b.String()
}

// reporter writes the steps of spans.
type reporter struct {
	b         *strings.Builder
	threshold time.Duration
	all       bool
}

// writeSteps writes the steps of a span whose lock is held.
func (r *reporter) writeSteps(s *Span, indent string) {
	share := r.threshold / time.Duration(len(s.steps)+1)
	previous := s.start
	for _, step := range s.steps {
		if step.span != nil {
			previous = r.writeSpan(step.span, indent)
			continue
		}
		took := step.at.Sub(previous)
		previous = step.at
		if r.all || took >= share {
			r.b.WriteString(indent + "---")
			r.writeSummary(step.name, step.attributes, took, step.at)
		}
	}
}

// writeSpan writes a span inside another one, and returns when the next step begins.
func (r *reporter) writeSpan(s *Span, indent string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.took >= r.threshold || r.all {
		r.b.WriteString(indent + "[")
		r.writeSummary(s.name, s.attributes(), s.took, s.start)
		r.writeSteps(s, indent+" ")
		r.b.WriteString("]")
	}
	return s.start.Add(s.took)
}

func (r *reporter) writeSummary(name string, attributes []attribute.KeyValue, took time.Duration, at time.Time) {
	fmt.Fprintf(r.b, "%q ", name)
	writeAttributes(r.b, attributes)
	fmt.Fprintf(r.b, "%dms (%s)", took.Milliseconds(), at.Format(reportTime))
}

func writeAttributes(b *strings.Builder, attributes []attribute.KeyValue) {
	for i, a := range attributes {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "%s:%s", a.Key, a.Value.Emit())
	}
	if len(attributes) > 0 {
		b.WriteByte(' ')
	}
}
