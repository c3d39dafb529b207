package server

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/miniapiserver/miniapiserver/server/tracing"
)

func tracingFlags(o *Options) []Flag {
	return []Flag{
		{Name: "tracing-config-file", Value: text(&o.TracingConfigFile, ""),
			Help: "File containing a TracingConfiguration of apiserver.config.k8s.io: the collector to which the OpenTelemetry spans of requests are sent, and the rate of sampled requests. If empty, no spans are sent."},
	}
}

// openTracing begins to export spans if --tracing-config-file is given.
func (s *Server) openTracing() error {
	if s.o.TracingConfigFile == "" {
		return nil
	}
	var err error
	if s.tracing, err = tracing.Open(s.o.TracingConfigFile, s.serverID, s.logger); err != nil {
		return fileError("tracing-config-file", s.o.TracingConfigFile, err)
	}
	return nil
}

// tracer returns the provider of spans; nil if none are exported.
func (s *Server) tracer() trace.TracerProvider {
	if s.tracing == nil {
		return nil
	}
	return s.tracing
}
