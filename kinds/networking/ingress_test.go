package networking_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const ingress = `spec:
  rules:
  - host: a.b
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}`

func TestIngressRules(t *testing.T) {
	kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress).Create(kindtest.Rules{
		{"backend or rules", "spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}", "spec: {}",
			"spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"},
		{"host", `spec.rules[0].host: "*.a.b"`, "spec.rules[0].host: A",
			`spec.rules[0].host: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"address as a host", "spec.rules[0].host: a", "spec.rules[0].host: 10.0.0.1",
			`spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`},
		{"wildcard", `spec.rules[0].host: "*.a"`, "spec.rules[0].host: a.*",
			`spec.rules[0].host: Invalid value: "a.*": a wildcard DNS-1123 subdomain must start with ` +
				"'*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric " +
				"characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex " +
				`used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"paths", "spec.rules[0].http: null", "spec.rules[0].http: {paths: []}",
			"spec.rules[0].http.paths: Required value"},
		{"path", "spec.rules[0].http.paths[0].path: /a", "spec.rules[0].http.paths[0].path: a",
			`spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path`},
		{"parts of a path", "spec.rules[0].http.paths[0].path: /a/b", "spec.rules[0].http.paths[0].path: /a/../b",
			`spec.rules[0].http.paths[0].path: Invalid value: "/a/../b": must not contain '/../'`},
		{"empty parts of a path", "spec.rules[0].http.paths[0].path: /a/b/",
			"spec.rules[0].http.paths[0].path: /a//b",
			`spec.rules[0].http.paths[0].path: Invalid value: "/a//b": must not contain '//'`},
		{"encoded slash", "spec.rules[0].http.paths[0].path: /a", "spec.rules[0].http.paths[0].path: /a%2fb",
			`spec.rules[0].http.paths[0].path: Invalid value: "/a%2fb": must not contain '%2f'`},
		{"pathType", "spec.rules[0].http.paths[0].pathType: Exact", "spec.rules[0].http.paths[0].pathType: Other",
			`spec.rules[0].http.paths[0].pathType: Unsupported value: "Other": supported values: ` +
				`"Exact", "ImplementationSpecific", "Prefix"`},
		{"no pathType", "spec.rules[0].http.paths[0].pathType: ImplementationSpecific",
			"spec.rules[0].http.paths[0].pathType: null",
			"spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"},
		{"name of a service", "spec.rules[0].http.paths[0].backend.service.name: a-b",
			"spec.rules[0].http.paths[0].backend.service.name: A",
			`spec.rules[0].http.paths[0].backend.service.name: Invalid value: "A": a lowercase RFC 1123 ` +
				"label must consist of lower case alphanumeric characters or '-', and must start and end " +
				"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"no name of a service", "spec.rules[0].http.paths[0].backend.service.name: a",
			`spec.rules[0].http.paths[0].backend.service.name: ""`,
			"spec.rules[0].http.paths[0].backend.service.name: Required value"},
		{"port of a service", "spec.rules[0].http.paths[0].backend.service.port: {name: http}",
			"spec.rules[0].http.paths[0].backend.service.port: {}",
			"spec.rules[0].http.paths[0].backend: Required value: port name or number is required"},
		{"two ports", "spec.rules[0].http.paths[0].backend.service.port: {number: 1}",
			"spec.rules[0].http.paths[0].backend.service.port: {number: 1, name: http}",
			`spec.rules[0].http.paths[0].backend: Invalid value: "": cannot set both port name & port number`},
		{"number of a port", "spec.rules[0].http.paths[0].backend.service.port: {number: 65535}",
			"spec.rules[0].http.paths[0].backend.service.port: {number: 65536}",
			"spec.rules[0].http.paths[0].backend.service.port.number: Invalid value: 65536: must be " +
				"between 1 and 65535, inclusive"},
		{"name of a port", "spec.rules[0].http.paths[0].backend.service.port: {name: http}",
			"spec.rules[0].http.paths[0].backend.service.port: {name: HTTP}",
			`spec.rules[0].http.paths[0].backend.service.port.name: Invalid value: "HTTP": must contain ` +
				"only alpha-numeric characters (a-z, 0-9), and hyphens (-); " +
				`spec.rules[0].http.paths[0].backend.service.port.name: Invalid value: "HTTP": must contain ` +
				"at least one letter (a-z)"},
		{"resource", "spec.rules[0].http.paths[0].backend: {resource: {apiGroup: a.b, kind: K, name: m}}",
			`spec.rules[0].http.paths[0].backend: {resource: {apiGroup: a.b, kind: "", name: ""}}`,
			"spec.rules[0].http.paths[0].backend.resource.kind: Required value; " +
				"spec.rules[0].http.paths[0].backend.resource.name: Required value"},
		{"service and resource", "spec.rules[0].http.paths[0].backend: {resource: {kind: K, name: m}}",
			"spec.rules[0].http.paths[0].backend.resource: {kind: K, name: m}",
			`spec.rules[0].http.paths[0].backend: Invalid value: "": cannot set both resource and service backends`},
		{"no backend", "spec.defaultBackend: {resource: {kind: K, name: m}}", "spec.defaultBackend: {}",
			`spec.defaultBackend: Invalid value: "": resource or service backend is required`},
		{"host of a certificate", `spec.tls: [{hosts: ["*.a"], secretName: s}]`, "spec.tls: [{hosts: [A]}]",
			`spec.tls[0].hosts[0]: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"secret of a certificate", "spec.tls: [{hosts: [a], secretName: s.t}]",
			"spec.tls: [{hosts: [a], secretName: S}]",
			`spec.tls[0].secretName: Invalid value: "S": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"ingressClassName", "spec.ingressClassName: a.b", "spec.ingressClassName: A",
			`spec.ingressClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"class twice", "metadata.annotations[kubernetes.io/ingress.class]: a",
			"metadata.annotations[kubernetes.io/ingress.class]: a; spec.ingressClassName: b",
			"annotations.kubernetes.io/ingress.class: Invalid value: \"a\": must match `ingressClassName` " +
				"when both are specified"},
		{"absolute path", "spec.rules[0].http.paths[0].path: /a", "spec.rules[0].http.paths[0].path: a",
			`spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path`},
		{"absolute path of any type",
			`spec.rules[0].http.paths[0]: {path: "", pathType: ImplementationSpecific, backend: ` +
				"{service: {name: s, port: {number: 80}}}}",
			"spec.rules[0].http.paths[0]: {path: a, pathType: ImplementationSpecific, backend: {service: " +
				"{name: s, port: {number: 80}}}}",
			`spec.rules[0].http.paths[0].path: Invalid value: "a": must be an absolute path`},
		{"parent at the end", "spec.rules[0].http.paths[0].path: /a/...b", "spec.rules[0].http.paths[0].path: /a/..",
			`spec.rules[0].http.paths[0].path: Invalid value: "/a/..": cannot end with '/..'`},
		{"dot at the end", "spec.rules[0].http.paths[0].path: /.a", "spec.rules[0].http.paths[0].path: /a/.",
			`spec.rules[0].http.paths[0].path: Invalid value: "/a/.": cannot end with '/.'`},
		{"double slash", "spec.rules[0].http.paths[0].path: /a/b", "spec.rules[0].http.paths[0].path: /a//b",
			`spec.rules[0].http.paths[0].path: Invalid value: "/a//b": must not contain '//'`},
		{"dot between slashes", "spec.rules[0].http.paths[0].path: /a.b/", "spec.rules[0].http.paths[0].path: /a/./b",
			`spec.rules[0].http.paths[0].path: Invalid value: "/a/./b": must not contain '/./'`},
		{"parent between slashes", "spec.rules[0].http.paths[0].path: /a..b/",
			"spec.rules[0].http.paths[0].path: /a/../b",
			`spec.rules[0].http.paths[0].path: Invalid value: "/a/../b": must not contain '/../'`},
		{"escaped slash", "spec.rules[0].http.paths[0].path: /a%20b", "spec.rules[0].http.paths[0].path: /a%2fb",
			`spec.rules[0].http.paths[0].path: Invalid value: "/a%2fb": must not contain '%2f'`},
		{"host of a rule", `spec.rules[0].host: ""`, "spec.rules[0].host: 10.0.0.1",
			`spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`},
		{"wildcard", `spec.rules[0].host: "*.a.b"`, `spec.rules[0].host: "a.*.b"`,
			`spec.rules[0].host: Invalid value: "a.*.b": a wildcard DNS-1123 subdomain must start with ` +
				"'*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric " +
				"characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex " +
				`used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"form of the host", "spec.rules[0].host: a.b.c", "spec.rules[0].host: A.b",
			`spec.rules[0].host: Invalid value: "A.b": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"service that begins with a digit", "spec.rules[0].http.paths[0].backend.service.name: a1",
			"spec.rules[0].http.paths[0].backend.service.name: A1",
			`spec.rules[0].http.paths[0].backend.service.name: Invalid value: "A1": a lowercase RFC 1123 ` +
				"label must consist of lower case alphanumeric characters or '-', and must start and end " +
				"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"kind of a resource", "spec.defaultBackend: {resource: {kind: A, name: b}}",
			`spec.defaultBackend: {resource: {kind: "", name: b}}`,
			"spec.defaultBackend.resource.kind: Required value"},
		{"name of a resource", "spec.defaultBackend: {resource: {kind: A, name: b}}",
			"spec.defaultBackend: {resource: {kind: A, name: a/b}}",
			`spec.defaultBackend.resource.name: Invalid value: "a/b": may not contain '/'`},
		{"group of a resource", "spec.defaultBackend: {resource: {apiGroup: a.b, kind: A, name: b}}",
			"spec.defaultBackend: {resource: {apiGroup: A, kind: A, name: b}}",
			`spec.defaultBackend.resource.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain ` +
				"must consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"secret of TLS", "spec.tls: [{secretName: a}]", "spec.tls: [{secretName: A}]",
			`spec.tls[0].secretName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"host of TLS", `spec.tls: [{hosts: ["*.a.b"]}]`, `spec.tls: [{hosts: ["a b"]}]`,
			`spec.tls[0].hosts[0]: Invalid value: "a b": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"class", "spec.ingressClassName: a.b", "spec.ingressClassName: A",
			`spec.ingressClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

func TestIngressUpdateRules(t *testing.T) {
	kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress).Update(kindtest.Rules{
		{"host", "spec.rules[0].host: c.d", "spec.rules[0].host: C",
			`spec.rules[0].host: Invalid value: "C": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"class", "spec.ingressClassName: a", "spec.ingressClassName: A",
			`spec.ingressClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

func TestIngressStatusRules(t *testing.T) {
	kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress).UpdateStatus(kindtest.Rules{
		{"address", "status.loadBalancer.ingress: [{ip: 1.2.3.4}]", "status.loadBalancer.ingress: [{ip: a}]",
			`status.loadBalancer.ingress[0].ip: Invalid value: "a": must be a valid IP address, (e.g. ` +
				"10.9.8.7 or 2001:db8::ffff)"},
		{"hostname", "status.loadBalancer.ingress: [{hostname: a.b}]", "status.loadBalancer.ingress: [{hostname: A}]",
			`status.loadBalancer.ingress[0].hostname: Invalid value: "A": a lowercase RFC 1123 subdomain ` +
				"must consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
				"an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"address as a hostname", "status.loadBalancer.ingress: [{hostname: a}]",
			"status.loadBalancer.ingress: [{hostname: 1.2.3.4}]",
			`status.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not ` +
				"an IP address"},
	})
}

func TestIngressCreated(t *testing.T) {
	kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress).Created(kindtest.Cases{
		{"status", "status.loadBalancer.ingress: [{ip: 1.2.3.4}]", "status.loadBalancer: {}; metadata.generation: 1"},
	})
}

func TestIngressStatusUpdated(t *testing.T) {
	kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress).StatusUpdated(kindtest.Cases{
		{"spec", "spec.ingressClassName: a; status.loadBalancer.ingress: [{ip: 1.2.3.4}]",
			"spec.ingressClassName: null; status.loadBalancer.ingress[0].ip: 1.2.3.4"},
	})
}

func TestIngressGenerations(t *testing.T) {
	kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"spec", "spec.ingressClassName: a", "2"},
		{"labels", "metadata.labels: {a: b}", "1"},
	})
}

func TestIngressWarnings(t *testing.T) {
	kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"annotation", "metadata.annotations[kubernetes.io/ingress.class]: a",
			`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`},
		{"annotation and class", "metadata.annotations: {kubernetes.io/ingress.class: a}",
			`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`},
	})
}

func TestIngressColumns(t *testing.T) {
	k := kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress)
	k.Columns("Name|Class|Hosts|Address|Ports|Age", kindtest.Cases{
		{"new", "", "x|<none>|a.b||80|60m"},
		{"addresses",
			"spec.ingressClassName: c; spec.tls: [{hosts: [a]}]; spec.rules[1]: {host: d.e}; " +
				"status.loadBalancer.ingress: [{ip: 1.2.3.4}, {hostname: h}]", "x|c|a.b,d.e|1.2.3.4,h|80, 443|60m"},
		{"any host", "spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}", "x|<none>|*||80|60m"},
		{"more than three hosts", "spec.rules: [{host: a.a}, {host: b.b}, {host: c.c}, {host: d.d}, {host: e.e}]",
			"x|<none>|a.a,b.b,c.c + 2 more...||80|60m"},
		{"any host", `spec.rules[0].host: ""`, "x|<none>|*||80|60m"},
		{"several addresses", "status.loadBalancer.ingress: [{ip: 1.2.3.4}, {hostname: a.b}]",
			"x|<none>|a.b|1.2.3.4,a.b|80|60m"},
		{"TLS and class", "spec.tls: [{hosts: [a.b]}]; spec.ingressClassName: c", "x|c|a.b||80, 443|60m"},
	})
}

// TestIngressWithInvalidSecret checks that an update may not introduce an invalid secret.
func TestIngressWithInvalidSecret(t *testing.T) {
	k := kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress).With(
		"spec.tls: [{secretName: a}]")
	k.Update(kindtest.Rules{
		{"secret", "spec.tls: [{secretName: b}]", "spec.tls: [{secretName: B}]",
			`spec.tls[0].secretName: Invalid value: "B": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

// TestIngressWithoutHost checks updates of a rule for all hosts.
func TestIngressWithoutHost(t *testing.T) {
	kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress).With(`spec.rules[0].host: ""`).Update(kindtest.Rules{
		{"host", "spec.rules[0].host: c.d", "spec.rules[0].host: 10.0.0.1",
			`spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`},
	})
}

// TestWildcardIngress checks updates of a rule with a wildcard.
func TestWildcardIngress(t *testing.T) {
	k := kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress).With(
		`spec.rules[0].host: "*.a.b"`)
	k.Update(kindtest.Rules{
		{"path", "spec.rules[0].http.paths[0].path: /b", "spec.rules[0].http.paths[0].path: b",
			`spec.rules[0].http.paths[0].path: Invalid value: "b": must be an absolute path`},
		{"port", "spec.rules[0].http.paths[0].backend.service.port: {name: http}",
			"spec.rules[0].http.paths[0].backend.service.port: {name: HTTP_}",
			`spec.rules[0].http.paths[0].backend.service.port.name: Invalid value: "HTTP_": must contain ` +
				"only alpha-numeric characters (a-z, 0-9), and hyphens (-); " +
				`spec.rules[0].http.paths[0].backend.service.port.name: Invalid value: "HTTP_": must contain ` +
				"at least one letter (a-z)"},
	})
}

// TestIngressStatus checks the addresses of the load balancer.
func TestIngressStatus(t *testing.T) {
	k := kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress).With(
		"status.loadBalancer.ingress: [{ip: 1.2.3.4}]")
	k.UpdateStatus(kindtest.Rules{
		{"address", `status.loadBalancer.ingress: [{ip: "fd00::1"}]`, "status.loadBalancer.ingress: [{ip: 1.2.3}]",
			`status.loadBalancer.ingress[0].ip: Invalid value: "1.2.3": must be a valid IP address, ` +
				"(e.g. 10.9.8.7 or 2001:db8::ffff)"},
		{"hostname", "status.loadBalancer.ingress: [{hostname: a.b}]",
			"status.loadBalancer.ingress: [{hostname: A_b}]",
			`status.loadBalancer.ingress[0].hostname: Invalid value: "A_b": a lowercase RFC 1123 ` +
				"subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start " +
				"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"hostname that is an address", "status.loadBalancer.ingress: [{hostname: a}]",
			"status.loadBalancer.ingress: [{hostname: 1.2.3.4}]",
			`status.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not ` +
				"an IP address"},
	})
}

// TestIngressConverted shows what clients of v1beta1 read: the names of the service and of the port are fields
// of the backend.
func TestIngressConverted(t *testing.T) {
	kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress).Converted("v1beta1", kindtest.Cases{
		{"number of a port", "",
			`spec.rules[0].http.paths[0].backend: {"serviceName":"s","servicePort":80}; ` +
				"spec.rules[0].http.paths[0].pathType: Prefix"},
		{"name of a port", "spec.rules[0].http.paths[0].backend.service.port: {name: http}",
			`spec.rules[0].http.paths[0].backend: {"serviceName":"s","servicePort":"http"}`},
		{"default backend", "spec.defaultBackend: {service: {name: s, port: {number: 1}}}",
			`spec.backend: {"serviceName":"s","servicePort":1}; spec.defaultBackend: null`},
		{"resource", "spec.defaultBackend: {resource: {kind: A, name: b}}",
			`spec.backend: {"resource":{"apiGroup":null,"kind":"A","name":"b"},"servicePort":0}`},
	})
}

const oldIngress = `spec:
  backend: {serviceName: s, servicePort: 80}
  rules:
  - host: a.b
    http: {paths: [{path: /, backend: {serviceName: t, servicePort: http}}]}`

// TestOldIngressConverted shows what v1 has for an object of v1beta1.
func TestOldIngressConverted(t *testing.T) {
	kindtest.New(t, "ingresses.v1beta1.networking.k8s.io", oldIngress).Converted("v1", kindtest.Cases{
		{"default backend", "",
			`spec.defaultBackend: {"service":{"name":"s","port":{"number":80}}}; spec.backend: null`},
		{"path without a type", "",
			"spec.rules[0].http.paths[0].pathType: ImplementationSpecific; " +
				`spec.rules[0].http.paths[0].backend: {"service":{"name":"t","port":{"name":"http"}}}`},
		{"type of a path", "spec.rules[0].http.paths[0].pathType: Prefix",
			"spec.rules[0].http.paths[0].pathType: Prefix"},
		{"resource", "spec.backend: {resource: {kind: A, name: b}}",
			`spec.defaultBackend: {"resource":{"apiGroup":null,"kind":"A","name":"b"}}`},
	})
}

// TestIngressCells checks what tables show of ingresses.
func TestIngressCells(t *testing.T) {
	k := kindtest.New(t, "ingresses.v1.networking.k8s.io", ingress)
	k.Columns("Name|Class|Hosts|Address|Ports|Age", kindtest.Cases{
		{"addresses in order",
			"status.loadBalancer.ingress: [{ip: 192.0.2.2}, {hostname: lb.example.com}, {ip: 192.0.2.1}]",
			"x|<none>|a.b|192.0.2.1,192.0.2.2,lb.example.com|80|60m"},
		{"rule for any host among others",
			"spec: {tls: [{hosts: [x]}], rules: [{host: x}, {http: {paths: [{path: /, pathType: Prefix, " +
				"backend: {service: {name: s, port: {number: 80}}}}]}}, {host: z}]}", "x|<none>|x,z||80, 443|60m"},
	})
}
