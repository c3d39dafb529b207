package server

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/miniapiserver/miniapiserver/server/tracing"
)

func tracingFlags(o *Options) []Flag {
	return []Flag{
		{Name: "tracing-config-file", Value: text(&o.TracingConfigFile, ""),
			Help: "File containing a TracingConfiguration of apiserver.config.k8s.io: the collector to which the " +
				"OpenTelemetry spans of requests are sent, and the rate of sampled requests. If empty, no spans " +
				"are sent."},
	}
}

// openTracing begins to export spans if --tracing-config-file is given.
func (p *builder) openTracing() error {
	if p.o.TracingConfigFile == "" {
		return nil
	}
	var err error
	if p.tracing, err = tracing.Open(p.o.TracingConfigFile, p.serverID, p.logger); err != nil {
		return fileError("tracing-config-file", p.o.TracingConfigFile, err)
	}
	p.atEnd(func(ctx context.Context) error { p.tracing.Close(ctx); return nil })
	return nil
}

// tracer returns the provider of spans; nil if none are exported.
func (p *builder) tracer() trace.TracerProvider {
	if p.tracing == nil {
		return nil
	}
	return p.tracing
}
