package service_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const service = `spec:
  clusterIP: 10.96.0.77
  clusterIPs: [10.96.0.77]
  ipFamilies: [IPv4]
  ipFamilyPolicy: SingleStack
  ports: [{port: 80}]`

func TestServiceRules(t *testing.T) {
	kindtest.New(t, "services.v1", service).Create(kindtest.Rules{
		{"name", "metadata.name: a-b", "metadata.name: a.b",
			`metadata.name: Invalid value: "a.b": must not contain dots`},
		{"type", "spec.type: ClusterIP", "spec.type: Other",
			`spec.type: Unsupported value: "Other": supported values: "ClusterIP", "ExternalName", ` +
				`"LoadBalancer", "NodePort"`},
		{"ports", "spec.ports: [{port: 65535}]", "spec.ports: []", "spec.ports: Required value"},
		{"headless without ports", "spec.clusterIP: None; spec.clusterIPs: [None]; spec.ports: []", "spec.ports: []",
			"spec.ports: Required value"},
		{"port", "spec.ports[0].port: 1", "spec.ports[0].port: 65536",
			"spec.ports[0].port: Invalid value: 65536: must be between 1 and 65535, inclusive; " +
				"spec.ports[0].targetPort: Invalid value: 65536: must be between 1 and 65535, inclusive"},
		{"protocol", "spec.ports[0].protocol: UDP", "spec.ports[0].protocol: HTTP",
			`spec.ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"`},
		{"names of ports", "spec.ports: [{name: a, port: 80}, {name: b, port: 81}]",
			"spec.ports: [{port: 80}, {port: 81}]",
			"spec.ports[0].name: Required value; spec.ports[1].name: Required value"},
		{"name of a port", "spec.ports[0].name: a", "spec.ports[0].name: A",
			`spec.ports[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist of lower ` +
				"case alphanumeric characters or '-', and must start and end with an alphanumeric character " +
				"(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"name twice", "spec.ports: [{name: a, port: 80}, {name: b, port: 81}]",
			"spec.ports: [{name: a, port: 80}, {name: a, port: 81}]", `spec.ports[1].name: Duplicate value: "a"`},
		{"port twice", "spec.ports: [{name: a, port: 80}, {name: b, port: 80, protocol: UDP}]",
			"spec.ports: [{name: a, port: 80}, {name: b, port: 80}]",
			"spec.ports[1]: Duplicate value: " +
				`{"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}`},
		{"targetPort", "spec.ports[0].targetPort: 65535", "spec.ports[0].targetPort: 65536",
			"spec.ports[0].targetPort: Invalid value: 65536: must be between 1 and 65535, inclusive"},
		{"name of a targetPort", "spec.ports[0].targetPort: http", "spec.ports[0].targetPort: HTTP",
			`spec.ports[0].targetPort: Invalid value: "HTTP": must contain only alpha-numeric characters ` +
				`(a-z, 0-9), and hyphens (-); spec.ports[0].targetPort: Invalid value: "HTTP": must contain ` +
				"at least one letter (a-z)"},
		{"appProtocol", "spec.ports[0].appProtocol: example.com/a", `spec.ports[0].appProtocol: "a b"`,
			`spec.ports[0].appProtocol: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"nodePort of a ClusterIP", "spec.type: NodePort; spec.ports[0].nodePort: 30077",
			"spec.ports[0].nodePort: 30077",
			"spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
		{"selector", "spec.selector: {a: b}", `spec.selector: {a: "b c"}`,
			`spec.selector: Invalid value: "b c": a valid label must be an empty string or consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
				"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"sessionAffinity", "spec.sessionAffinity: ClientIP", "spec.sessionAffinity: Other",
			`spec.sessionAffinity: Unsupported value: "Other": supported values: "ClientIP", "None"`},
		{"timeout", "spec.sessionAffinity: ClientIP; spec.sessionAffinityConfig.clientIP.timeoutSeconds: 86400",
			"spec.sessionAffinity: ClientIP; spec.sessionAffinityConfig.clientIP.timeoutSeconds: 86401",
			"spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater " +
				"than 0 and less than 86400"},
		{"no timeout", "spec.sessionAffinity: ClientIP; spec.sessionAffinityConfig.clientIP.timeoutSeconds: 1",
			"spec.sessionAffinity: ClientIP; spec.sessionAffinityConfig.clientIP.timeoutSeconds: 0",
			"spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than " +
				"0 and less than 86400"},
		{"externalIPs", "spec.externalIPs: [1.2.3.4]", "spec.externalIPs: [a]",
			`spec.externalIPs[0]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{"unspecified externalIP", "spec.externalIPs: [1.2.3.4]", "spec.externalIPs: [0.0.0.0]",
			`spec.externalIPs[0]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)`},
		{"clusterIP", "spec.selector: {a: b}", "spec.clusterIP: a; spec.clusterIPs: [a]",
			`spec.clusterIPs[0]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{"first of clusterIPs", "spec.selector: {a: b}", "spec.clusterIPs: [10.96.0.78]",
			"spec.clusterIPs: Invalid value: [\"10.96.0.78\"]: first value must match `clusterIP`"},
		{"headless NodePort", "spec.clusterIP: None; spec.clusterIPs: [None]",
			"spec.clusterIP: None; spec.clusterIPs: [None]; spec.type: NodePort",
			`spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services`},
		{"headless of two", "spec.clusterIP: None; spec.clusterIPs: [None]",
			"spec.clusterIP: None; spec.clusterIPs: [None, None]",
			`spec.clusterIPs: Invalid value: ["None","None"]: 'None' must be the first and only value; ` +
				`spec.clusterIPs[1]: Invalid value: "None": must be a valid IP address, (e.g. 10.9.8.7 or ` +
				"2001:db8::ffff)"},
		{"two of a family", "spec.selector: {a: b}",
			"spec.ipFamilyPolicy: PreferDualStack; spec.ipFamilies: [IPv4, IPv4]",
			`spec.ipFamilies[1]: Duplicate value: "IPv4"`},
		{"ipFamilyPolicy", "spec.ipFamilyPolicy: SingleStack", "spec.ipFamilyPolicy: Other",
			`spec.ipFamilyPolicy: Unsupported value: "Other": supported values: "PreferDualStack", ` +
				`"RequireDualStack", "SingleStack"`},
		{"ipFamily", "spec.ipFamilies: [IPv4]", "spec.ipFamilies: [IPv5]",
			`spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"`},
		{"externalName", "spec: {type: ExternalName, externalName: a.b}", "spec: {type: ExternalName}",
			"spec.externalName: Required value"},
		{"form of an externalName", "spec: {type: ExternalName, externalName: a.b.}",
			"spec: {type: ExternalName, externalName: A_b}",
			`spec.externalName: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"address of an ExternalName", "spec: {type: ExternalName, externalName: a}",
			"spec: {type: ExternalName, externalName: a, clusterIP: 10.96.0.77}",
			"spec.clusterIPs: Forbidden: may not be set for ExternalName services"},
		{"sources of a load balancer", "spec.type: LoadBalancer; spec.loadBalancerSourceRanges: [10.0.0.0/8]",
			"spec.type: LoadBalancer; spec.loadBalancerSourceRanges: [10.0.0.0]",
			`spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.0": must be a valid CIDR value, ` +
				"(e.g. 10.9.8.0/24 or 2001:db8::/64)"},
		{"sources without a load balancer", "spec.type: LoadBalancer; spec.loadBalancerSourceRanges: [10.0.0.0/8]",
			"spec.loadBalancerSourceRanges: [10.0.0.0/8]",
			"spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'"},
		{"externalTrafficPolicy", "spec.type: NodePort; spec.externalTrafficPolicy: Local",
			"spec.type: NodePort; spec.externalTrafficPolicy: Other",
			`spec.externalTrafficPolicy: Unsupported value: "Other": supported values: "Cluster", "Local"`},
		{"policy without an external address", "spec.type: NodePort; spec.externalTrafficPolicy: Cluster",
			"spec.externalTrafficPolicy: Local",
			`spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services`},
		{"internalTrafficPolicy", "spec.internalTrafficPolicy: Local", "spec.internalTrafficPolicy: Other",
			`spec.internalTrafficPolicy: Unsupported value: "Other": supported values: "Cluster", "Local"`},
		{"healthCheckNodePort",
			"spec.type: LoadBalancer; spec.externalTrafficPolicy: Local; spec.healthCheckNodePort: 30078",
			"spec.type: LoadBalancer; spec.externalTrafficPolicy: Local; spec.healthCheckNodePort: -1",
			"spec.healthCheckNodePort: Invalid value: -1: must be between 1 and 65535, inclusive"},
		{"health check of the cluster", "spec.type: LoadBalancer",
			"spec.type: LoadBalancer; spec.healthCheckNodePort: 30078",
			"spec.healthCheckNodePort: Invalid value: 30078: may only be set when `type` is " +
				"'LoadBalancer' and `externalTrafficPolicy` is 'Local'"},
		{"allocateLoadBalancerNodePorts", "spec.type: LoadBalancer; spec.allocateLoadBalancerNodePorts: false",
			"spec.allocateLoadBalancerNodePorts: true",
			"spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'"},
		{"loadBalancerClass", "spec.type: LoadBalancer; spec.loadBalancerClass: example.com/a",
			`spec.type: LoadBalancer; spec.loadBalancerClass: "a b"`,
			`spec.loadBalancerClass: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"class without a load balancer", "spec.type: LoadBalancer; spec.loadBalancerClass: a",
			"spec.loadBalancerClass: a",
			"spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"},
		{"trafficDistribution", "spec.trafficDistribution: PreferClose", "spec.trafficDistribution: Other",
			`spec.trafficDistribution: Unsupported value: "Other": supported values: "PreferClose", ` +
				`"PreferSameZone", "PreferSameNode"`},
	})
}

func TestServiceUpdate(t *testing.T) {
	kindtest.New(t, "services.v1", service).Update(kindtest.Rules{
		{"clusterIP", "spec.selector: {a: b}", "spec.clusterIP: 10.96.0.78; spec.clusterIPs: [10.96.0.78]",
			`spec.clusterIPs[0]: Invalid value: ["10.96.0.78"]: may not change once set`},
		{"port", "spec.ports[0].port: 81", "spec.ports[0].port: 0",
			"spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"},
		{"type", "spec.type: NodePort", "spec.type: Other",
			`spec.type: Unsupported value: "Other": supported values: "ClusterIP", "ExternalName", ` +
				`"LoadBalancer", "NodePort"`},
	})
}

func TestLoadBalancerUpdate(t *testing.T) {
	k := kindtest.New(t, "services.v1", service).With(
		"spec.type: LoadBalancer; spec.loadBalancerClass: a; spec.ports: [{port: 80, nodePort: 30077}]")
	k.Update(kindtest.Rules{
		{"class", "spec.loadBalancerSourceRanges: [10.0.0.0/8]", "spec.loadBalancerClass: b",
			`spec.loadBalancerClass: Invalid value: "b": may not change once set`},
		{"no class", "spec.type: ClusterIP; spec.loadBalancerClass: null; spec.allocateLoadBalancerNodePorts: null",
			"spec.loadBalancerClass: null", "spec.loadBalancerClass: Invalid value: null: may not change once set"},
	})
}

func TestServiceStatusRules(t *testing.T) {
	k := kindtest.New(t, "services.v1", service).With(
		"spec.type: LoadBalancer; spec.ports: [{port: 80, nodePort: 30077}]")
	k.UpdateStatus(kindtest.Rules{
		{"address", "status.loadBalancer.ingress: [{ip: 1.2.3.4}]", "status.loadBalancer.ingress: [{ip: a}]",
			`status.loadBalancer.ingress[0].ip: Invalid value: "a": must be a valid IP address, (e.g. ` +
				"10.9.8.7 or 2001:db8::ffff)"},
		{"mode", "status.loadBalancer.ingress: [{ip: 1.2.3.4, ipMode: Proxy}]",
			"status.loadBalancer.ingress: [{ip: 1.2.3.4, ipMode: Other}]",
			`status.loadBalancer.ingress[0].ipMode: Unsupported value: "Other": supported values: "Proxy", "VIP"`},
		{"mode without an address", "status.loadBalancer.ingress: [{hostname: a}]",
			"status.loadBalancer.ingress: [{hostname: a, ipMode: VIP}]",
			"status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set"},
		{"hostname", "status.loadBalancer.ingress: [{hostname: a.b}]",
			"status.loadBalancer.ingress: [{hostname: A_b}]",
			`status.loadBalancer.ingress[0].hostname: Invalid value: "A_b": a lowercase RFC 1123 ` +
				"subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start " +
				"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"address as a hostname", "status.loadBalancer.ingress: [{hostname: a}]",
			"status.loadBalancer.ingress: [{hostname: 1.2.3.4}]",
			`status.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not ` +
				"an IP address"},
	})
}

func TestServiceCreated(t *testing.T) {
	kindtest.New(t, "services.v1", service).Created(kindtest.Cases{
		{"defaults", "",
			"spec.type: ClusterIP; spec.sessionAffinity: None; spec.internalTrafficPolicy: Cluster; " +
				"spec.ports[0].protocol: TCP; spec.ports[0].targetPort: 80"},
		{"affinity", "spec.sessionAffinity: ClientIP", "spec.sessionAffinityConfig.clientIP.timeoutSeconds: 10800"},
		{"external", "spec.type: LoadBalancer",
			"spec.externalTrafficPolicy: Cluster; spec.allocateLoadBalancerNodePorts: true"},
		{"no affinity", "spec.sessionAffinity: None", "spec.sessionAffinityConfig: null"},
		{"status", "status.loadBalancer.ingress: [{ip: 1.2.3.4}]", "status.loadBalancer: {}"},
	})
}

func TestServiceStatusUpdated(t *testing.T) {
	k := kindtest.New(t, "services.v1", service).With(
		"spec.type: LoadBalancer; spec.ports: [{port: 80, nodePort: 30077}]")
	k.StatusUpdated(kindtest.Cases{
		{"spec", "spec.selector: {a: b}; status.loadBalancer.ingress: [{ip: 1.2.3.4}]",
			"spec.selector: null; status.loadBalancer.ingress[0].ip: 1.2.3.4; " +
				"status.loadBalancer.ingress[0].ipMode: VIP"},
	})
}

func TestServiceWarnings(t *testing.T) {
	kindtest.New(t, "services.v1", service).Warnings(kindtest.Cases{
		{"none", "", ""},
		{"form of an address", `spec.externalIPs: ["fd00::0:1"]`,
			`spec.externalIPs[0]: IPv6 address "fd00::0:1" should be in RFC 5952 canonical format ` +
				`("fd00::1"); spec.externalIPs is deprecated and may no longer be implemented in some clusters`},
		{"session affinity of a headless service",
			"spec.clusterIP: None; spec.clusterIPs: [None]; spec.sessionAffinity: ClientIP",
			"spec.SessionAffinity is ignored for headless services"},
		{"loadBalancerIP", `spec.type: LoadBalancer; spec.loadBalancerIP: "fd00::0:1"`,
			`spec.loadBalancerIP: IPv6 address "fd00::0:1" should be in RFC 5952 canonical format ("fd00::1")`},
		{"topology", "metadata.annotations[service.kubernetes.io/topology-mode]: Auto", ""},
	})
}

func TestServiceColumns(t *testing.T) {
	k := kindtest.New(t, "services.v1", service)
	k.Columns("Name|Type|Cluster-IP|External-IP|Port(s)|Age|(Selector)", kindtest.Cases{
		{"clusterIP", "", "x|ClusterIP|10.96.0.77|<none>|80/TCP|60m|<none>"},
		{"load balancer",
			"spec.type: LoadBalancer; spec.ports: [{port: 80, nodePort: 30077}]; spec.selector: {a: b}; " +
				"status: {loadBalancer: {ingress: [{ip: 1.2.3.4}, {hostname: h}]}}",
			"x|LoadBalancer|10.96.0.77|1.2.3.4,h|80:30077/TCP|60m|a=b"},
		{"pending", "spec.type: LoadBalancer; spec.ports: [{port: 80, nodePort: 30077}]",
			"x|LoadBalancer|10.96.0.77|<pending>|80:30077/TCP|60m|<none>"},
		{"external",
			"spec.externalIPs: [1.2.3.4]; spec.ports: [{name: a, port: 80}, {name: b, port: 53, protocol: UDP}]",
			"x|ClusterIP|10.96.0.77|1.2.3.4|80/TCP,53/UDP|60m|<none>"},
		{"name", "spec: {type: ExternalName, externalName: a.b}", "x|ExternalName|<none>|a.b|<none>|60m|<none>"},
		{"headless", "spec.clusterIP: None; spec.clusterIPs: [None]; spec.ports: []",
			"x|ClusterIP|None|<none>|<none>|60m|<none>"},
	})
}

func TestServiceSelectableFields(t *testing.T) {
	kindtest.New(t, "services.v1", service).Selectable(kindtest.Cases{
		{"service", "", "spec.clusterIP=10.96.0.77,spec.type=ClusterIP"},
	})
}

// TestServiceFamilies checks the addresses of services and their families.
func TestServiceFamilies(t *testing.T) {
	k := kindtest.New(t, "services.v1", service).With(
		"spec.ipFamilyPolicy: RequireDualStack; spec.ipFamilies: [IPv4, IPv6]; spec.clusterIPs: " +
			`[10.96.0.77, "fd00:96::77"]`)
	k.Create(kindtest.Rules{
		{"order of families",
			`spec.ipFamilies: [IPv6, IPv4]; spec.clusterIP: "fd00:96::77"; spec.clusterIPs: ` +
				`["fd00:96::77", 10.96.0.77]`, "spec.ipFamilies: [IPv6, IPv4]",
			`spec.clusterIPs[0]: Invalid value: "10.96.0.77": expected an IPv6 value as indicated by ` +
				"`ipFamilies[0]`; spec.clusterIPs[1]: Invalid value: \"fd00:96::77\": expected an IPv4 value " +
				"as indicated by `ipFamilies[1]`"},
		{"two addresses of a family", "spec.ports[0].port: 81", "spec.clusterIPs: [10.96.0.77, 10.96.0.78]",
			`spec.clusterIPs: Invalid value: ["10.96.0.77","10.96.0.78"]: may specify no more than one ` +
				`IP for each IP family; spec.clusterIPs[1]: Invalid value: "10.96.0.78": expected an IPv6 ` +
				"value as indicated by `ipFamilies[1]`"},
		{"three addresses", "spec.ports[0].port: 81", `spec.clusterIPs: [10.96.0.77, "fd00:96::77", 10.96.0.78]`,
			`spec.clusterIPs: Invalid value: ["10.96.0.77","fd00:96::77","10.96.0.78"]: may only hold up ` +
				"to 2 values"},
		{"addresses without the first", "spec.clusterIP: 10.96.0.77", "spec.clusterIP: null",
			`spec.clusterIPs: Invalid value: ["10.96.0.77","fd00:96::77"]: must be empty when ` +
				"`clusterIP` is not specified"},
		{"None beside an address", `spec.clusterIPs: [10.96.0.77, "fd00:96::77"]`,
			`spec.clusterIP: None; spec.clusterIPs: [None, "fd00:96::77"]`,
			`spec.clusterIPs: Invalid value: ["None","fd00:96::77"]: 'None' must be the first and only value`},
		{"malformed second address", `spec.clusterIPs: [10.96.0.77, "fd00:96::77"]`,
			"spec.clusterIPs: [10.96.0.77, a]",
			`spec.clusterIPs[1]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{"unknown family", "spec.ipFamilies: [IPv4, IPv6]", "spec.ipFamilies: [IPv4, IPv7]",
			`spec.ipFamilies[1]: Unsupported value: "IPv7": supported values: "IPv4", "IPv6"`},
		{"family twice", "spec.ipFamilies: [IPv4, IPv6]", "spec.ipFamilies: [IPv4, IPv4]",
			`spec.ipFamilies[1]: Duplicate value: "IPv4"; spec.clusterIPs[1]: Invalid value: ` +
				"\"fd00:96::77\": expected an IPv4 value as indicated by `ipFamilies[1]`"},
	})
}

// TestExternalNames checks services that are an alias of another name.
func TestExternalNames(t *testing.T) {
	k := kindtest.New(t, "services.v1", service).With(
		"spec: {type: ExternalName, externalName: a.b}")
	k.Create(kindtest.Rules{
		{"name", "spec.externalName: c.d", `spec.externalName: ""`, "spec.externalName: Required value"},
		{"upper case", "spec.externalName: a.b.", "spec.externalName: A",
			`spec.externalName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"address", "spec.ports: [{port: 80}]", "spec.clusterIP: 10.96.0.77",
			"spec.clusterIPs: Forbidden: may not be set for ExternalName services"},
		{"addresses", "spec.ports: [{port: 80}]", "spec.clusterIPs: [10.96.0.77]",
			"spec.clusterIPs: Forbidden: may not be set for ExternalName services"},
		{"families", "spec.ports: [{port: 80}]", "spec.ipFamilies: [IPv4]",
			"spec.ipFamilies: Forbidden: may not be set for ExternalName services"},
		{"policy of families", "spec.ports: [{port: 80}]", "spec.ipFamilyPolicy: SingleStack",
			"spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services"},
		{"internal traffic", "spec.internalTrafficPolicy: Cluster", "spec.internalTrafficPolicy: Other",
			`spec.internalTrafficPolicy: Unsupported value: "Other": supported values: "Cluster", "Local"`},
		{"external traffic", "spec.ports: [{port: 80}]", "spec.externalTrafficPolicy: Local",
			`spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services`},
		{"node port", "spec.ports: [{port: 80}]", "spec.allocateLoadBalancerNodePorts: true",
			"spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'"},
	})
}

// TestNodePorts checks the ports of nodes.
func TestNodePorts(t *testing.T) {
	k := kindtest.New(t, "services.v1", service).With(
		"spec.type: NodePort; spec.ports: [{name: a, port: 80, nodePort: 30077}]")
	k.Create(kindtest.Rules{
		{"two protocols", "spec.ports[1]: {name: b, port: 80, nodePort: 30077, protocol: UDP}",
			"spec.ports[1]: {name: b, port: 80, nodePort: 30077, protocol: TCP}",
			"spec.ports[1].nodePort: Duplicate value: 30077; spec.ports[1]: Duplicate value: " +
				`{"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}`},
		{"headless", "spec.externalTrafficPolicy: Local", "spec.clusterIP: None; spec.clusterIPs: [None]",
			`spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services`},
	})
}

// TestSessionAffinity checks how long a client stays with an endpoint.
func TestSessionAffinity(t *testing.T) {
	kindtest.New(t, "services.v1", service).With("spec.sessionAffinity: ClientIP").Create(kindtest.Rules{
		{"one day", "spec.sessionAffinityConfig: {clientIP: {timeoutSeconds: 86400}}",
			"spec.sessionAffinityConfig: {clientIP: {timeoutSeconds: 86401}}",
			"spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater " +
				"than 0 and less than 86400"},
		{"no time", "spec.sessionAffinityConfig: {clientIP: {timeoutSeconds: 1}}",
			"spec.sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}",
			"spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than " +
				"0 and less than 86400"},
	})
}

// TestSourceRanges checks the clients of a load balancer.
func TestSourceRanges(t *testing.T) {
	kindtest.New(t, "services.v1", service).With("spec.type: LoadBalancer").Create(kindtest.Rules{
		{"annotation",
			`metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: "10.0.0.0/8, 11.0.0.0/8"`,
			`metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: "10.0.0.0/8, a"`,
			"metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: Invalid " +
				`value: "a": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`},
		{"field before the annotation",
			`spec.loadBalancerSourceRanges: [" 10.0.0.0/8 "]; ` +
				"metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: a",
			"spec.loadBalancerSourceRanges: [a]",
			`spec.LoadBalancerSourceRanges[0]: Invalid value: "a": must be a valid CIDR value, (e.g. ` +
				"10.9.8.0/24 or 2001:db8::/64)"},
		{"annotation of another type",
			`metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: ""`,
			"spec.type: ClusterIP; " +
				"metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: 10.0.0.0/8",
			"metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: Forbidden: " +
				"may only be used when `type` is 'LoadBalancer'"},
		{"range of another type", "spec.loadBalancerSourceRanges: [10.0.0.0/8]",
			"spec.type: NodePort; spec.loadBalancerSourceRanges: [10.0.0.0/8]",
			"spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'"},
	})
}

// TestServiceAddresses checks addresses at which other machines reach a service.
func TestServiceAddresses(t *testing.T) {
	kindtest.New(t, "services.v1", service).Create(kindtest.Rules{
		{"loopback", `spec.externalIPs: ["fd01::1"]`, "spec.externalIPs: [127.0.0.1]",
			`spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range ` +
				"(127.0.0.0/8, ::1/128)"},
		{"link-local", "spec.externalIPs: [10.0.0.1]", "spec.externalIPs: [169.254.0.1]",
			`spec.externalIPs[0]: Invalid value: "169.254.0.1": may not be in the link-local range ` +
				"(169.254.0.0/16, fe80::/10)"},
		{"link-local multicast", "spec.externalIPs: [10.0.0.1]", "spec.externalIPs: [224.0.0.1]",
			`spec.externalIPs[0]: Invalid value: "224.0.0.1": may not be in the link-local multicast ` +
				"range (224.0.0.0/24, ff02::/10)"},
		{"unspecified address of version 6", `spec.externalIPs: ["fd01::1"]`, `spec.externalIPs: ["::"]`,
			`spec.externalIPs[0]: Invalid value: "::": may not be unspecified (::)`},
		{"topology hints",
			"metadata.annotations: {service.kubernetes.io/topology-aware-hints: Auto, " +
				"service.kubernetes.io/topology-mode: Auto}",
			"metadata.annotations: {service.kubernetes.io/topology-aware-hints: Auto, " +
				"service.kubernetes.io/topology-mode: Disabled}",
			`metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "Disabled": must ` +
				"match annotations[service.kubernetes.io/topology-aware-hints] when both are specified"},
		{"nearest endpoints", "spec.trafficDistribution: PreferSameNode", "spec.trafficDistribution: PreferOtherZone",
			`spec.trafficDistribution: Unsupported value: "PreferOtherZone": supported values: ` +
				`"PreferClose", "PreferSameZone", "PreferSameNode"`},
		{"empty distribution", "spec.trafficDistribution: PreferSameZone", `spec.trafficDistribution: ""`,
			`spec.trafficDistribution: Unsupported value: "": supported values: "PreferClose", ` +
				`"PreferSameZone", "PreferSameNode"`},
	})
}

// TestTrafficDistributionWithoutGate checks the distributions without the gate.
func TestTrafficDistributionWithoutGate(t *testing.T) {
	kindtest.New(t, "services.v1", service, "1.34", "-PreferSameTrafficDistribution").Create(kindtest.Rules{
		{"distribution", "spec.trafficDistribution: PreferClose", "spec.trafficDistribution: PreferSameNode",
			`spec.trafficDistribution: Unsupported value: "PreferSameNode": supported values: "PreferClose"`},
	})
}

// TestFieldsWithoutEffect checks fields that have no effect.
func TestFieldsWithoutEffect(t *testing.T) {
	kindtest.New(t, "services.v1", service).Warnings(kindtest.Cases{
		{"deprecated annotation", "metadata.annotations[service.kubernetes.io/topology-aware-hints]: Auto",
			"annotation service.kubernetes.io/topology-aware-hints is deprecated, please use " +
				"service.kubernetes.io/topology-mode instead"},
		{"external addresses", "spec.externalIPs: [1.2.3.4]",
			"spec.externalIPs is deprecated and may no longer be implemented in some clusters"},
		{"external addresses of a headless service",
			"spec.clusterIP: None; spec.clusterIPs: [None]; spec.externalIPs: [1.2.3.4]",
			"spec.externalIPs is ignored for headless services"},
		{"external name of another type", "spec.externalName: a",
			`spec.externalName is ignored when spec.type is not "ExternalName"`},
		{"older distribution", "spec.trafficDistribution: PreferClose",
			`spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`},
		{"address of the load balancer of a headless service",
			`spec.clusterIP: None; spec.clusterIPs: [None]; spec.externalTrafficPolicy: ""`, ""},
	})
}

// TestServiceAddressColumns checks the addresses in the columns.
func TestServiceAddressColumns(t *testing.T) {
	k := kindtest.New(t, "services.v1", service).With(
		"spec.type: LoadBalancer; spec.ports: [{port: 80, nodePort: 30077}]")
	k.Columns("Name|Type|Cluster-IP|External-IP|Port(s)|Age|(Selector)", kindtest.Cases{
		{"balancer and other addresses",
			"spec.externalIPs: [1.2.3.5]; status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}",
			"x|LoadBalancer|10.96.0.77|1.2.3.4,1.2.3.5|80:30077/TCP|60m|<none>"},
		{"name of the balancer", "status: {loadBalancer: {ingress: [{hostname: a.b}]}}",
			"x|LoadBalancer|10.96.0.77|a.b|80:30077/TCP|60m|<none>"},
		{"two protocols",
			"spec.ports: [{name: a, port: 80, nodePort: 30077}, {name: b, port: 53, protocol: UDP, " +
				"nodePort: 30078}]", "x|LoadBalancer|10.96.0.77|<pending>|80:30077/TCP,53:30078/UDP|60m|<none>"},
	})
}

// TestServicePolicyDefaults checks more defaults of services.
func TestServicePolicyDefaults(t *testing.T) {
	kindtest.New(t, "services.v1", service).Created(kindtest.Cases{
		{"policy of the load balancer",
			"spec.type: LoadBalancer; spec.externalTrafficPolicy: Local; spec.healthCheckNodePort: " +
				"30078; spec.ports[0].nodePort: 30077",
			"spec.externalTrafficPolicy: Local; spec.internalTrafficPolicy: Cluster"},
		{"name of a port", "spec.ports[0].targetPort: http", "spec.ports[0].targetPort: http"},
		{"affinity that is off",
			"spec.sessionAffinity: None; spec.sessionAffinityConfig: {clientIP: {timeoutSeconds: 5}}",
			"spec.sessionAffinityConfig: null"},
		{"external name", "spec: {type: ExternalName, externalName: a.b}",
			"spec.internalTrafficPolicy: null; spec.sessionAffinity: None; spec.clusterIP: null"},
	})
}

// TestServiceCells checks what tables show of services.
func TestServiceCells(t *testing.T) {
	k := kindtest.New(t, "services.v1", service)
	k.Columns("Name|Type|Cluster-IP|External-IP|Port(s)|Age|(Selector)", kindtest.Cases{
		{"headless",
			"spec.clusterIP: None; spec.clusterIPs: [None]; spec.ports: [{name: a, port: 80}, {name: b, " +
				"port: 53, protocol: UDP}]; spec.selector: {b: c, a: b}",
			"x|ClusterIP|None|<none>|80/TCP,53/UDP|60m|a=b,b=c"},
		{"external addresses",
			"spec.type: NodePort; spec.externalIPs: [1.2.3.4, 5.6.7.8]; spec.ports: [{port: 80, nodePort: 30080}]",
			"x|NodePort|10.96.0.77|1.2.3.4,5.6.7.8|80:30080/TCP|60m|<none>"},
		{"external while pending",
			"spec.type: LoadBalancer; spec.externalIPs: [1.2.3.4]; spec.ports: [{port: 80, nodePort: 30080}]",
			"x|LoadBalancer|10.96.0.77|1.2.3.4|80:30080/TCP|60m|<none>"},
		{"several addresses of the balancer",
			"spec.type: LoadBalancer; spec.ports: [{port: 80, nodePort: 30080}]; status: {loadBalancer: " +
				"{ingress: [{hostname: lb.example.com}, {ip: 192.0.2.1, hostname: x}, {ip: 192.0.2.1}]}}",
			"x|LoadBalancer|10.96.0.77|192.0.2.1,lb.example.com|80:30080/TCP|60m|<none>"},
	})
}
