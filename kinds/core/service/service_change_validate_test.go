package service_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

// TestServiceTypeChanges checks that a change of the type clears the fields that the new type does not have.
func TestServiceTypeChanges(t *testing.T) {
	k := kindtest.New(t, "services.v1", service).With(
		"spec.type: LoadBalancer; spec.loadBalancerClass: a; spec.externalTrafficPolicy: Local; " +
			"spec.healthCheckNodePort: 30078; spec.ports: [{port: 80, nodePort: 30077}]")
	k.Updated(kindtest.Cases{
		{"cluster", "spec.type: ClusterIP",
			"spec.ports[0].nodePort: null; spec.loadBalancerClass: null; " +
				"spec.allocateLoadBalancerNodePorts: null; spec.healthCheckNodePort: null; " +
				"spec.externalTrafficPolicy: null; spec.clusterIP: 10.96.0.77"},
		{"node ports", "spec.type: NodePort",
			"spec.ports[0].nodePort: 30077; spec.loadBalancerClass: null; " +
				"spec.allocateLoadBalancerNodePorts: null; spec.healthCheckNodePort: null; " +
				"spec.externalTrafficPolicy: Local"},
		{"name", "spec.type: ExternalName; spec.externalName: a.b",
			"spec.clusterIP: null; spec.clusterIPs: null; spec.ipFamilies: null; spec.ipFamilyPolicy: " +
				"null; spec.internalTrafficPolicy: null; spec.externalTrafficPolicy: null"},
		{"policy of the cluster", "spec.externalTrafficPolicy: Cluster",
			"spec.externalTrafficPolicy: Cluster; spec.healthCheckNodePort: null"},
	})
}

// TestServiceKeepsAddresses checks that an update without addresses keeps them.
func TestServiceKeepsAddresses(t *testing.T) {
	kindtest.New(t, "services.v1", service).Updated(kindtest.Cases{
		{"no addresses", "spec.clusterIP: null; spec.clusterIPs: null",
			`spec.clusterIP: 10.96.0.77; spec.clusterIPs: ["10.96.0.77"]`},
		{"headless is another service", "spec.selector: {a: b}",
			`spec.clusterIP: 10.96.0.77; spec.selector: {"a":"b"}`},
	})
}

// TestServiceKeepsNodePorts checks which ports of nodes an update keeps.
func TestServiceKeepsNodePorts(t *testing.T) {
	k := kindtest.New(t, "services.v1", service).With(
		"spec.type: NodePort; spec.ports: [{port: 80, nodePort: 30077}]")
	k.Updated(kindtest.Cases{
		{"no node port", "spec.ports[0].nodePort: null", "spec.ports[0].nodePort: 30077"},
		{"other port", "spec.ports[0]: {port: 81}",
			`spec.ports: [{"nodePort":30077,"port":81,"protocol":"TCP","targetPort":81}]`},
	})
}

// TestServiceKeepsHealthPort checks that an update keeps the port of health checks.
func TestServiceKeepsHealthPort(t *testing.T) {
	k := kindtest.New(t, "services.v1", service).With(
		"spec.type: LoadBalancer; spec.externalTrafficPolicy: Local; spec.healthCheckNodePort: 30078; " +
			"spec.ports: [{port: 80, nodePort: 30077}]")
	k.Updated(kindtest.Cases{
		{"no port", "spec.healthCheckNodePort: null", "spec.healthCheckNodePort: 30078"},
	})
}

// TestServiceAddressChanges checks that addresses and families stay.
func TestServiceAddressChanges(t *testing.T) {
	k := kindtest.New(t, "services.v1", service).With(
		"spec.ipFamilyPolicy: PreferDualStack; spec.ipFamilies: [IPv4, IPv6]; spec.clusterIPs: " +
			`[10.96.0.77, "fd00:96::77"]`)
	k.Update(kindtest.Rules{
		{"first address", "spec.selector: {a: b}",
			`spec.clusterIP: 10.96.0.78; spec.clusterIPs: [10.96.0.78, "fd00:96::77"]`,
			`spec.clusterIPs[0]: Invalid value: ["10.96.0.78","fd00:96::77"]: may not change once set`},
		{"second address", "spec.selector: {a: b}", `spec.clusterIPs: [10.96.0.77, "fd00:96::78"]`,
			`spec.clusterIPs[1]: Invalid value: ["10.96.0.77","fd00:96::78"]: may not change once set`},
		{"other first address alone",
			"spec.ipFamilyPolicy: SingleStack; spec.ipFamilies: [IPv4]; spec.clusterIPs: [10.96.0.77]",
			"spec.ipFamilyPolicy: SingleStack; spec.ipFamilies: [IPv4]; spec.clusterIP: 10.96.0.78; " +
				"spec.clusterIPs: [10.96.0.78]",
			`spec.clusterIPs[0]: Invalid value: ["10.96.0.78"]: may not change once set`},
	})
}

// TestServiceHealthPort checks that the port of health checks stays.
func TestServiceHealthPort(t *testing.T) {
	k := kindtest.New(t, "services.v1", service).With(
		"spec.type: LoadBalancer; spec.externalTrafficPolicy: Local; spec.healthCheckNodePort: 30078; " +
			"spec.ports: [{port: 80, nodePort: 30077}]")
	k.Update(kindtest.Rules{
		{"port", "spec.selector: {a: b}", "spec.healthCheckNodePort: 30079",
			"spec.healthCheckNodePort: Forbidden: field is immutable"},
	})
}

// TestServiceStatus checks the addresses of the load balancer.
func TestServiceStatus(t *testing.T) {
	k := kindtest.New(t, "services.v1", service).With(
		"spec.type: LoadBalancer; spec.ports: [{port: 80, nodePort: 30077}]")
	k.UpdateStatus(kindtest.Rules{
		{"two addresses", `status.loadBalancer.ingress: [{ip: 1.2.3.4}, {ip: "fd00::1"}]`,
			"status.loadBalancer.ingress: [{ip: 1.2.3.4}, {ip: 1.2.3}]",
			`status.loadBalancer.ingress[1].ip: Invalid value: "1.2.3": must be a valid IP address, ` +
				"(e.g. 10.9.8.7 or 2001:db8::ffff)"},
		{"mode", "status.loadBalancer.ingress: [{ip: 1.2.3.4, ipMode: VIP}]",
			`status.loadBalancer.ingress: [{ip: 1.2.3.4, ipMode: ""}]`,
			`status.loadBalancer.ingress[0].ipMode: Unsupported value: "": supported values: "Proxy", "VIP"`},
	})
}

// TestServiceStatusOfCluster checks that services of another type have no load balancer.
func TestServiceStatusOfCluster(t *testing.T) {
	kindtest.New(t, "services.v1", service).UpdateStatus(kindtest.Rules{
		{"address", "metadata.labels: {a: b}", "status.loadBalancer.ingress: [{ip: 1.2.3.4}]",
			"status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"},
	})
}

// TestServiceUpdateWarnings checks the warnings about updates.
func TestServiceUpdateWarnings(t *testing.T) {
	kindtest.New(t, "services.v1", service).UpdateWarnings(kindtest.Cases{
		{"none", "spec.selector: {a: b}", ""},
		{"external addresses", "spec.externalIPs: [1.2.3.4]",
			"spec.externalIPs is deprecated and may no longer be implemented in some clusters"},
		{"deprecated annotation", "metadata.annotations[service.kubernetes.io/topology-aware-hints]: Auto",
			"annotation service.kubernetes.io/topology-aware-hints is deprecated, please use " +
				"service.kubernetes.io/topology-mode instead"},
	})
}
