package externaljwt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Metrics have kube-apiserver's names and labels.
type Metrics struct {
	lastFetch, data *prometheus.GaugeVec
	fetches, signs  *prometheus.CounterVec
	duration        *prometheus.HistogramVec
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		lastFetch: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_externaljwt_fetch_keys_success_timestamp",
			Help: "[ALPHA] Unix time of the last successful request for the keys of the external signer, in seconds."}, nil),
		data: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_externaljwt_fetch_keys_data_timestamp",
			Help: "[ALPHA] Unix time at which the external signer read its keys, as of the last successful request, in seconds."}, nil),
		fetches: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_externaljwt_fetch_keys_request_total",
			Help: "[ALPHA] Number of requests for the keys of the external signer."}, []string{"code"}),
		signs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_externaljwt_sign_request_total",
			Help: "[ALPHA] Number of tokens that the external signer was asked to sign."}, []string{"code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_externaljwt_request_duration_seconds",
			Help:    "[ALPHA] Duration of requests to the external signer, in seconds.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}}, []string{"method", "code"}),
	}
	for _, c := range []prometheus.Collector{m.lastFetch, m.data, m.fetches, m.signs, m.duration} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) fetched(err error, now time.Time) {
	m.fetches.WithLabelValues(codeOf(err)).Inc()
	if err == nil {
		m.lastFetch.WithLabelValues().Set(float64(now.UnixNano()) / 1e9)
	}
}

func (m *Metrics) dataFrom(at time.Time) { m.data.WithLabelValues().Set(float64(at.Unix())) }

func (m *Metrics) signed(err error) { m.signs.WithLabelValues(codeOf(err)).Inc() }

// observeCall is a grpc.UnaryClientInterceptor.
func (m *Metrics) observeCall(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn,
	call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	start := time.Now()
	err := call(ctx, method, req, reply, conn, opts...)
	m.duration.WithLabelValues(method, codeOf(err)).Observe(time.Since(start).Seconds())
	return err
}

// codeOf returns the value of the label code for an error.
func codeOf(err error) string {
	if err == nil {
		return codes.OK.String()
	}
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return s.GRPCStatus().Code().String()
	}
	return "unknown-non-grpc" // the response was invalid, or there was none
}
