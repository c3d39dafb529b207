package service_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

// endpoint is a pod of the service x with an address, and slice the slice that lists it.
const (
	endpoint = `{kind: pods.v1, metadata: {name: a, namespace: ns}, status: {podIPs: [{ip: 10.1.0.1}]}}`
	slice    = `{kind: endpointslices.v1.discovery.k8s.io, addressType: IPv4,
		metadata: {name: s, namespace: ns, labels: {kubernetes.io/service-name: x}},
		endpoints: [{addresses: [10.1.0.1], targetRef: {kind: Pod, namespace: ns, name: a}}],
		ports: [{name: http, port: 8080}, {name: metrics, port: 9090}]}`
)

// TestServiceProxy checks that requests go to an endpoint that is ready, and is a pod of the namespace.
func TestServiceProxy(t *testing.T) {
	const none = `no endpoints available for service "x"`
	const service = "spec: {ports: [{name: http, port: 80}, {name: metrics, port: 90}]}"
	k := kindtest.New(t, "services.v1", service)
	k.Connect("proxy", []string{endpoint, slice}, kindtest.Connections{
		{"name of a port", "", "x:http/a", "//10.1.0.1:8080/a"},
		{"number of a port", "", "x:90", "//10.1.0.1:9090"},
		{"scheme", "", "https:x:http/a/", "https://10.1.0.1:8080/a/"},
		{"unknown number", "", "x:91", `no service port 91 found for service "x"`},
		{"unknown name", "", "x:other", none},
		{"no port", "", "x", none},
		{"unknown scheme", "", "ftp:x:http", `invalid service request "ftp:x:http"`},
		{"unknown service", "", "z:80", `services "z" not found`},
		{"unknown service with the name of a port", "", "z:http", `no endpoints available for service "z"`},
	})
	for name, others := range map[string][]string{
		"no slices": {endpoint},
		"not ready": {endpoint, `{kind: endpointslices.v1.discovery.k8s.io, addressType: IPv4,
			metadata: {name: s, namespace: ns, labels: {kubernetes.io/service-name: x}}, ports: [{name: http, port: 8080}],
			endpoints: [{addresses: [10.1.0.1], conditions: {ready: false}, targetRef: {kind: Pod, namespace: ns, name: a}}]}`},
		"no pod": {endpoint, `{kind: endpointslices.v1.discovery.k8s.io, addressType: IPv4,
			metadata: {name: s, namespace: ns, labels: {kubernetes.io/service-name: x}}, ports: [{name: http, port: 8080}],
			endpoints: [{addresses: [10.1.0.1]}]}`},
		"pod of another namespace": {endpoint, `{kind: endpointslices.v1.discovery.k8s.io, addressType: IPv4,
			metadata: {name: s, namespace: ns, labels: {kubernetes.io/service-name: x}}, ports: [{name: http, port: 8080}],
			endpoints: [{addresses: [10.1.0.1], targetRef: {kind: Pod, namespace: other, name: a}}]}`},
		"pod that is gone": {slice},
		"address of no pod": {endpoint, `{kind: endpointslices.v1.discovery.k8s.io, addressType: IPv4,
			metadata: {name: s, namespace: ns, labels: {kubernetes.io/service-name: x}}, ports: [{name: http, port: 8080}],
			endpoints: [{addresses: [10.1.0.2], targetRef: {kind: Pod, namespace: ns, name: a}}]}`},
	} {
		k.Connect("proxy", others, kindtest.Connections{{name, "", "x:http", none}})
	}
}
