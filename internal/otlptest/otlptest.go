// Package otlptest is an OpenTelemetry collector for tests: a gRPC server that keeps the spans
// that it receives.
package otlptest

import (
	"context"
	"net"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// Collector receives spans over OTLP.
type Collector struct {
	collectorpb.UnimplementedTraceServiceServer
	// Endpoint is the address of the collector.
	Endpoint string
	// Err is the answer to all exports; nil accepts them.
	Err error

	mu       sync.Mutex
	received []*tracepb.ResourceSpans
}

// New starts a collector that ends with the test.
func New(t testing.TB, network, address string) *Collector {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{Endpoint: l.Addr().String()}
	server := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, c)
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) }) // it ends with Stop
	t.Cleanup(func() { server.Stop(); wg.Wait() })
	return c
}

// Export implements collectorpb.TraceServiceServer.
func (c *Collector) Export(_ context.Context, r *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Err == nil {
		c.received = append(c.received, r.ResourceSpans...)
	}
	return &collectorpb.ExportTraceServiceResponse{}, c.Err
}

// Resource returns the attributes of the server that sent the spans.
func (c *Collector) Resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]string{}
	for _, resource := range c.received {
		for _, a := range resource.Resource.Attributes {
			all[a.Key] = a.Value.GetStringValue()
		}
	}
	return all
}

// Spans returns the spans that the collector has received.
func (c *Collector) Spans() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*tracepb.Span
	for _, resource := range c.received {
		for _, scope := range resource.ScopeSpans {
			all = append(all, scope.Spans...)
		}
	}
	return all
}
