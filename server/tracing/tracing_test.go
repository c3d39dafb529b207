package tracing

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/miniapiserver/miniapiserver/internal/otlptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tracing.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"

// TestExport checks that spans reach the collector at the latest when the Provider is closed.
func TestExport(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		address, scheme := "127.0.0.1:0", ""
		if network == "unix" {
			dir, err := os.MkdirTemp("", "otlp") // a socket needs a short path
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			address, scheme = filepath.Join(dir, "s"), "unix://"
		}
		c := otlptest.New(t, network, address)
		p, err := Open(writeConfig(t, head+"samplingRatePerMillion: 1000000\nendpoint: "+scheme+c.Endpoint), "apiserver-x", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		_, span := p.Tracer("test").Start(t.Context(), "a span")
		span.End()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		p.Close(ended) // a stop that has no time left still sends the spans
		spans, resource := c.Spans(), c.Resource()
		if len(spans) != 1 || spans[0].Name != "a span" || resource["service.name"] != "apiserver" || resource["service.instance.id"] != "apiserver-x" {
			t.Errorf("%s: got %v of %v", network, spans, resource)
		}
	}
}

// TestFailedExport checks that a failure is logged.
func TestFailedExport(t *testing.T) {
	c := otlptest.New(t, "tcp", "127.0.0.1:0")
	c.Err = status.Error(codes.InvalidArgument, "on purpose")
	var log strings.Builder
	p, err := Open(writeConfig(t, head+"samplingRatePerMillion: 1000000\nendpoint: "+c.Endpoint), "x", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	_, span := p.Tracer("test").Start(t.Context(), "a span")
	span.End()
	p.Close(t.Context())
	if !strings.Contains(log.String(), "spans were not exported") || !strings.Contains(log.String(), "on purpose") {
		t.Errorf("the log is %q", log.String())
	}
}

// TestSampling checks which spans are sampled.
func TestSampling(t *testing.T) {
	remote := func(flags trace.TraceFlags) context.Context {
		return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: flags, Remote: true,
		}))
	}
	for _, tt := range []struct {
		rate                string
		alone, not, sampled bool
	}{
		{"", false, false, true},
		{"samplingRatePerMillion: 0", false, false, true},
		{"samplingRatePerMillion: 1000000", true, false, true},
	} {
		p, err := Open(writeConfig(t, head+tt.rate), "x", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for ctx, want := range map[context.Context]bool{context.Background(): tt.alone, remote(0): tt.not, remote(trace.FlagsSampled): tt.sampled} {
			if _, span := p.Tracer("test").Start(ctx, "x"); span.SpanContext().IsSampled() != want {
				t.Errorf("%q: sampled %v, want %v", tt.rate, !want, want)
			}
		}
		p.Close(t.Context())
	}
	// About a tenth of a rate of a tenth is sampled; the bounds are ten standard deviations away.
	p, err := Open(writeConfig(t, head+"samplingRatePerMillion: 100000"), "x", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	sampled := 0
	for range 10000 {
		if _, span := p.Tracer("test").Start(context.Background(), "x"); span.SpanContext().IsSampled() {
			sampled++
		}
	}
	if sampled < 700 || sampled > 1300 {
		t.Errorf("%d of 10000 spans are sampled", sampled)
	}
}

// TestConfigFaults checks that errors name the file and the field.
func TestConfigFaults(t *testing.T) {
	for text, want := range map[string]string{
		head + "samplingRatePerMillion: -1":                                     `samplingRatePerMillion: Invalid value: -1: sampling rate must be positive`,
		head + "samplingRatePerMillion: 1000001":                                `samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million`,
		head + "endpoint: https://x:1":                                          `endpoint: Invalid value: "https://x:1": unsupported scheme: https.`,
		head + "endpoint: 'a b'":                                                `endpoint: Invalid value: "dns://a b": parse`,
		head + "samplingRate: 1":                                                `strict decoding error: unknown field "samplingRate"`,
		head + "endpoint: 1":                                                    `cannot unmarshal number into Go struct field configuration.endpoint of type string`,
		"kind: TracingConfiguration":                                            `Object 'apiVersion' is missing`,
		"apiVersion: apiserver.config.k8s.io/v1":                                `Object 'kind' is missing`,
		"apiVersion: apiserver.config.k8s.io/v2\nkind: TracingConfiguration":    `no kind "TracingConfiguration" is registered for version "apiserver.config.k8s.io/v2"`,
		"apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration": `no kind "EncryptionConfiguration" is registered for version "apiserver.config.k8s.io/v1"`,
		"[": `yaml: `,
	} {
		file := writeConfig(t, text)
		_, err := Open(file, "x", slog.New(slog.DiscardHandler))
		if err == nil || !strings.HasPrefix(strings.ToLower(err.Error()), strings.ToLower(file+": ")) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "missing"), "x", nil); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a missing file: %v", err)
	}
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		for _, endpoint := range []string{"localhost:4317", "dns://8.8.8.8/x:1", "unix:///tmp/s", "unix-abstract://s"} {
			p, err := Open(writeConfig(t, strings.Replace(head, "v1", version, 1)+"endpoint: "+endpoint), "x", slog.New(slog.DiscardHandler))
			if err != nil {
				t.Errorf("%s, %s: %v", version, endpoint, err)
				continue
			}
			p.Close(t.Context())
		}
	}
}
