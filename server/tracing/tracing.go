// Package tracing exports the OpenTelemetry spans of requests to a collector, over OTLP and
// gRPC, as a TracingConfiguration describes. Package handlers makes the spans.
package tracing

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// flushTimeout is the maximum time for sending the last spans.
const flushTimeout = 5 * time.Second

// Provider makes spans and exports them in batches. If the collector does not accept them fast
// enough, spans are dropped. It must be closed.
type Provider struct {
	trace.TracerProvider
	sdk    *sdktrace.TracerProvider
	logger *slog.Logger
}

// Open returns the Provider for a configuration file. The instance identifies the server among
// others. The collector need not be reachable.
func Open(file, instance string, logger *slog.Logger) (*Provider, error) {
	c, err := readConfig(file)
	if err != nil {
		return nil, err
	}
	options := []otlptracegrpc.Option{otlptracegrpc.WithInsecure()}
	if c.Endpoint != nil {
		options = append(options, otlptracegrpc.WithEndpoint(*c.Endpoint))
	}
	exporter, err := otlptracegrpc.New(context.Background(), options...)
	if err != nil {
		return nil, err
	}
	sampler := sdktrace.NeverSample()
	if rate := c.SamplingRatePerMillion; rate != nil && *rate > 0 {
		sampler = sdktrace.TraceIDRatioBased(float64(*rate) / million)
	}
	sdk := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&loggedExporter{exporter, logger}),
		sdktrace.WithSampler(sdktrace.ParentBased(sampler)),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "apiserver"),
			attribute.String("service.instance.id", instance))),
	)
	return &Provider{sdk, sdk, logger}, nil
}

// Close sends the spans that have not been sent, and closes the connection to the collector.
func (p *Provider) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := p.sdk.Shutdown(ctx); err != nil {
		p.logger.Warn("the last spans were not exported", "error", err)
	}
}

// loggedExporter logs failures, which OpenTelemetry would write to stderr itself.
type loggedExporter struct {
	sdktrace.SpanExporter
	logger *slog.Logger
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *loggedExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.logger.Warn("spans were not exported", "spans", len(spans), "error", err)
	}
	return nil
}
