package handlers

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/internal/metricset"
)

// streamMetrics count the WebSockets to the streams and ports of pods, with kube-apiserver's names.
type streamMetrics struct {
	translated, tunnelled *prometheus.CounterVec // by code
	requests              *prometheus.CounterVec // by subresource and proxy_type
}

func newStreamMetrics(set *metricset.Set) *streamMetrics {
	return &streamMetrics{
		translated: set.CounterVec("apiserver_stream_translator_requests_total",
			"[ALPHA] Total number of requests that were handled by the StreamTranslatorProxy, "+
				"which processes streaming RemoteCommand/V5", "code"),
		tunnelled: set.CounterVec("apiserver_stream_tunnel_requests_total",
			"[ALPHA] Total number of requests that were handled by the StreamTunnelProxy, "+
				"which processes streaming PortForward/V2", "code"),
		requests: set.CounterVec("apiserver_websocket_streaming_requests_total",
			"[ALPHA] Total number of WebSocket streaming requests (exec/attach/portforward) routed by the API server, "+
				"labeled by subresource and proxy_type. proxy_type is proxied_to_kubelet when the kubelet handles the "+
				"request directly; otherwise translated_at_apiserver.", "subresource", "proxy_type"),
	}
}

// requested counts a request for streams. Like kube-apiserver, it counts SPDY as well, and only
// the kubelet determines the label.
func (m *streamMetrics) requested(subresource string, kubeletServesWebSockets bool) {
	proxyType := "translated_at_apiserver"
	if kubeletServesWebSockets {
		proxyType = "proxied_to_kubelet"
	}
	m.requests.WithLabelValues(subresource, proxyType).Inc()
}

// countCode returns a function that counts a request by its code.
func countCode(by *prometheus.CounterVec) func(int) {
	return func(code int) { by.WithLabelValues(strconv.Itoa(code)).Inc() }
}
