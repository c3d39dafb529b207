package request

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
)

// slowSpan is a span of 900 ms: a fast step, a slow one, a slow span with two steps, a fast span
// with a step, and 300 ms that no step explains.
func slowSpan() *Span {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	with := func(attributes ...attribute.KeyValue) func() []attribute.KeyValue {
		return func() []attribute.KeyValue { return attributes }
	}
	slow := &Span{name: "slow", start: at(150), took: 510 * time.Millisecond, attributes: with(), steps: []spanStep{
		{name: "first", at: at(160)}, {name: "second", at: at(660), attributes: []attribute.KeyValue{attribute.Bool("ok", true)}},
	}}
	fast := &Span{name: "fast", start: at(660), took: 40 * time.Millisecond, attributes: with(attribute.String("a", "b")), steps: []spanStep{{name: "only", at: at(665)}}}
	return &Span{name: "Create", start: begin, took: 900 * time.Millisecond,
		attributes: with(attribute.String("verb", "POST"), attribute.Int("n", 2)),
		steps:      []spanStep{{name: "read", at: at(1)}, {name: "decoded", at: at(150)}, {span: slow}, {span: fast}}}
}

// TestReport checks the text of a slow request, which k8s.io/utils/trace would write in the same
// form.
func TestReport(t *testing.T) {
	const head = `Trace[1]: "Create" verb:POST,n:2 (02-Jan-2026 03:04:05.006) (total time: 900ms):` + "\n"
	const end = "Trace[1]: [900ms] [900ms] END\n"
	for _, tt := range []struct {
		all  bool
		want string
	}{
		{false, head + `Trace[1]: ---"decoded" 149ms (03:04:05.156)
Trace[1]: ["slow" 510ms (03:04:05.156)
Trace[1]:  ---"second" ok:true 500ms (03:04:05.666)]
` + end},
		{true, head + `Trace[1]: ---"read" 1ms (03:04:05.007)
Trace[1]: ---"decoded" 149ms (03:04:05.156)
Trace[1]: ["slow" 510ms (03:04:05.156)
Trace[1]:  ---"first" 10ms (03:04:05.166)
Trace[1]:  ---"second" ok:true 500ms (03:04:05.666)]
Trace[1]: ["fast" a:b 40ms (03:04:05.666)
Trace[1]:  ---"only" 5ms (03:04:05.671)]
` + end},
	} {
		got := slowSpan().Report(500*time.Millisecond, tt.all)
		if got = regexp.MustCompile(`Trace\[\d+\]`).ReplaceAllString(got, "Trace[1]"); got != tt.want {
			t.Errorf("got\n%swant\n%s", got, tt.want)
		}
	}
}

// TestSpans checks the nesting of spans, and that the first end counts.
func TestSpans(t *testing.T) {
	ctx, outer := StartSpan(context.Background(), "outer")
	inside, inner := StartSpan(ctx, "inner", attribute.Int("n", 1))
	inner.Event("step")
	if CurrentSpan(inside) != inner || CurrentSpan(EndSpan(inside)) != outer || CurrentSpan(EndSpan(ctx)) != nil {
		t.Error("the context does not have the innermost span")
	}
	took := inner.Duration()
	if took <= 0 || outer.Duration() <= 0 {
		t.Errorf("%v, %v", took, outer.Duration())
	}
	inner.End()
	if inner.Duration() != took {
		t.Error("a span ended twice")
	}
	text := outer.Report(1, true)
	for _, want := range []string{`"outer" (`, `: ["inner" n:1 `, `:  ---"step" `} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	var none *Span
	none.Event("step")
	none.End()
	if ctx := context.Background(); CurrentSpan(ctx) != nil || EndSpan(ctx) != ctx {
		t.Error("a context has a span")
	}
}
