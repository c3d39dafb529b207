package outbound

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// TestMetrics checks what is measured of a request with a response, and of one without.
func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := NewMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, strings.Repeat("x", 300))
	}))
	transport := Transport(Config{})
	defer transport.CloseIdleConnections()
	client := Client(m.InstrumentTransport(transport))
	w, err := client.Post(s.URL, "text/plain", strings.NewReader("a body"))
	if err != nil {
		t.Fatal(err)
	}
	if n := observations(t, reg)["rest_client_request_duration_seconds POST"]; n != 0 {
		t.Errorf("%v durations before the body was read", n)
	}
	if _, err := io.ReadAll(w.Body); err != nil {
		t.Fatal(err)
	}
	_ = w.Body.Close()
	s.Close()
	if _, err := client.Get(s.URL); err == nil {
		t.Fatal("a closed server answers")
	}
	got := observations(t, reg)
	for name, want := range map[string]float64{
		"rest_client_requests_total 418 POST":       1,
		"rest_client_requests_total <error> GET":    1,
		"rest_client_request_duration_seconds POST": 1,
		"rest_client_request_duration_seconds GET":  1,
		"rest_client_request_size_bytes POST":       1,
		"rest_client_request_size_bytes POST sum":   6,
		"rest_client_response_size_bytes POST":      1,
		"rest_client_response_size_bytes POST sum":  300,
		"rest_client_response_size_bytes GET":       0,
	} {
		if got[name] != want {
			t.Errorf("%s %v, want %v", name, got[name], want)
		}
	}
	if none := (*Metrics)(nil); none.InstrumentTransport(transport) != http.RoundTripper(transport) {
		t.Error("no metrics change the transport")
	}
}

// TestTransportMetrics checks how transports are counted, and that the resolution of a name is timed but not that of an address.
func TestTransportMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := NewMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	transport := Transport(Config{})
	defer transport.CloseIdleConnections()
	client := Client(m.InstrumentCachedTransport(transport))
	_ = m.InstrumentCachedTransport(transport)
	_ = m.InstrumentTransport(transport)
	m.ReuseTransport()
	m.ForgetTransport()
	get := func(url string) {
		t.Helper()
		w, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Body.Close()
	}
	get(s.URL)
	if n := observations(t, reg)["rest_client_dns_resolution_duration_seconds"]; n != 0 {
		t.Errorf("%v resolutions of an address", n)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	get("http://localhost:" + port)
	got := observations(t, reg)
	for name, want := range map[string]float64{
		"rest_client_transport_create_calls_total miss":        2,
		"rest_client_transport_create_calls_total hit":         1,
		"rest_client_transport_create_calls_total uncacheable": 1,
		"rest_client_transport_cache_entries":                  1,
		"rest_client_dns_resolution_duration_seconds":          1,
	} {
		if got[name] != want {
			t.Errorf("%s %v, want %v", name, got[name], want)
		}
	}
}

// observations returns the values of counters, and the counts and sums of histograms, by name and
// labels except the host.
func observations(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				if l.GetName() != "host" {
					name += " " + l.GetValue()
				}
			}
			out[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			if m.Histogram != nil {
				out[name+" sum"] = m.Histogram.GetSampleSum()
			}
		}
	}
	return out
}

// answers is a transport that answers every request at once.
type answers struct{}

func (answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// TestMetricsOfManyHosts checks that new hosts end the series of hosts that are no longer used.
func TestMetricsOfManyHosts(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := NewMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	transport := m.InstrumentTransport(answers{})
	get := func(host string) {
		w, err := transport.RoundTrip(httptest.NewRequest(http.MethodGet, "https://"+host+"/", nil))
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Body.Close()
	}
	const rounds = 3 * maxHosts
	for i := range rounds {
		get("busy.example")
		get(fmt.Sprintf("h%d.example", i))
	}
	families, err := reg.Gather()
	families = slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return strings.HasPrefix(f.GetName(), "rest_client_transport_") }) // of no host
	if err != nil || len(families) != 4 {
		t.Fatal(len(families), err)
	}
	for _, f := range families {
		if n := len(f.Metric); n != maxHosts {
			t.Errorf("%s: series of %d hosts, want %d", f.GetName(), n, maxHosts)
		}
		busy := 0.0
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if l.GetValue() == "busy.example" {
					busy = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
				}
			}
		}
		if busy != rounds {
			t.Errorf("%s: %v requests to the busy host, want %d", f.GetName(), busy, rounds)
		}
	}
}
