package storage

import (
	grpcprometheus "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
)

// CallMetrics counts the gRPC calls to external etcds, under the names grpc_client_* that
// kube-apiserver's client of etcd has. An embedded etcd is called in process, without gRPC. A nil
// *CallMetrics counts nothing.
type CallMetrics struct{ client *grpcprometheus.ClientMetrics }

// NewCallMetrics returns CallMetrics for the stores of a server.
func NewCallMetrics() *CallMetrics { return &CallMetrics{grpcprometheus.NewClientMetrics()} }

// Describe implements prometheus.Collector.
func (m *CallMetrics) Describe(ch chan<- *prometheus.Desc) { m.client.Describe(ch) }

// Collect implements prometheus.Collector.
func (m *CallMetrics) Collect(ch chan<- prometheus.Metric) { m.client.Collect(ch) }

// dialOptions returns the options of a connection whose calls are counted.
func (m *CallMetrics) dialOptions() []grpc.DialOption {
	if m == nil {
		return nil
	}
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(m.client.UnaryClientInterceptor()),
		grpc.WithChainStreamInterceptor(m.client.StreamClientInterceptor()),
	}
}
