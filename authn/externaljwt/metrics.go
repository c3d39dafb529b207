package externaljwt

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// Metrics have kube-apiserver's names and labels.
type Metrics struct {
	lastFetch, data *prometheus.GaugeVec
	fetches, signs  *prometheus.CounterVec
	duration        *prometheus.HistogramVec
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	var set metricset.Set
	return &Metrics{
		lastFetch: set.GaugeVec("apiserver_externaljwt_fetch_keys_success_timestamp",
			"[ALPHA] Unix time of the last successful request for the keys of the external signer, in seconds."),
		data: set.GaugeVec("apiserver_externaljwt_fetch_keys_data_timestamp",
			"[ALPHA] Unix time at which the external signer read its keys, as of the last successful request, in seconds."),
		fetches: set.CounterVec("apiserver_externaljwt_fetch_keys_request_total",
			"[ALPHA] Number of requests for the keys of the external signer.", "code"),
		signs: set.CounterVec("apiserver_externaljwt_sign_request_total",
			"[ALPHA] Number of tokens that the external signer was asked to sign.", "code"),
		duration: set.HistogramVec("apiserver_externaljwt_request_duration_seconds",
			"[ALPHA] Duration of requests to the external signer, in seconds.",
			[]float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "method", "code"),
	}, set.Register(reg)
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
