package handlers

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/miniapiserver/miniapiserver/handlers/proxy"
)

// TestLogMetrics checks the counts of requests for logs by whether the kubelet's certificate is
// verified, and of failed verifications.
func TestLogMetrics(t *testing.T) {
	kubelet := httptest.NewTLSServer(http.HandlerFunc(echo))
	defer kubelet.Close()
	p := proxy.New(proxy.Config{
		Roots: func() (*x509.CertPool, int) { return x509.NewCertPool(), 1 },
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, kubelet.Listener.Addr().String())
		},
	})
	defer p.Close()
	h, _ := newCluster(t, echo, func(c *Config) { c.Proxy = p })
	for path, code := range map[string]int{
		"/api/v1/namespaces/ns/pods/p/log":                                   http.StatusInternalServerError,
		"/api/v1/namespaces/ns/pods/p/log?insecureSkipTLSVerifyBackend=true": http.StatusOK,
		"/api/v1/namespaces/ns/pods/none/log":                                http.StatusNotFound,
	} {
		if w := sendText(t, h, http.MethodGet, path, ""); w.Code != code {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	count := func(c prometheus.Counter) float64 {
		var m dto.Metric
		if err := c.Write(&m); err != nil {
			t.Fatal(err)
		}
		return m.GetCounter().GetValue()
	}
	m := h.metrics.logs
	if v, u, f := count(m.verified), count(m.unverified), count(m.failures); v != 1 || u != 1 || f != 1 {
		t.Errorf("%v verified, %v unverified, %v failures", v, u, f)
	}
}
