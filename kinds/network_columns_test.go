package kinds

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
	"github.com/miniapiserver/miniapiserver/kinds/discovery"
	"github.com/miniapiserver/miniapiserver/kinds/networking"
)

func TestServiceCells(t *testing.T) {
	testCells(t, service.Service(features.Default()), []cellsTest{
		{"headless", testMeta + "spec: {type: ClusterIP, clusterIPs: [None], ports: [{port: 80, protocol: TCP}, {port: 53, protocol: UDP}], selector: {b: c, a: b}}",
			"a|ClusterIP|None|<none>|80/TCP,53/UDP|60m|a=b,b=c"},
		{"external addresses", testMeta + "spec: {type: NodePort, clusterIPs: [10.0.0.1, 'fd00::1'], externalIPs: [1.2.3.4, 5.6.7.8], ports: [{port: 80, nodePort: 30080, protocol: TCP}]}",
			"a|NodePort|10.0.0.1|1.2.3.4,5.6.7.8|80:30080/TCP|60m|<none>"},
		{"no node port yet", testMeta + "spec: {type: NodePort, ports: [{port: 80, protocol: TCP}]}", "a|NodePort|<none>|<none>|80/TCP|60m|<none>"},
		{"external name", testMeta + "spec: {type: ExternalName, externalName: x.example.com}", "a|ExternalName|<none>|x.example.com|<none>|60m|<none>"},
		{"pending", testMeta + "spec: {type: LoadBalancer, clusterIPs: [10.0.0.1]}", "a|LoadBalancer|10.0.0.1|<pending>|<none>|60m|<none>"},
		{"balanced", testMeta + "spec: {type: LoadBalancer}\nstatus: {loadBalancer: {ingress: [{hostname: lb.example.com}, {ip: 192.0.2.1, hostname: x}, {ip: 192.0.2.1}, {}]}}",
			"a|LoadBalancer|<none>|192.0.2.1,lb.example.com|<none>|60m|<none>"},
		{"balanced and external", testMeta + "spec: {type: LoadBalancer, externalIPs: [1.2.3.4]}\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}",
			"a|LoadBalancer|<none>|192.0.2.1,1.2.3.4|<none>|60m|<none>"},
		{"external while pending", testMeta + "spec: {type: LoadBalancer, externalIPs: [1.2.3.4]}", "a|LoadBalancer|<none>|1.2.3.4|<none>|60m|<none>"},
		{"bookmark", "{}", "||<none>|<unknown>|<none>|<unknown>|<none>"},
	})
}

func TestEndpointsCells(t *testing.T) {
	testCells(t, core.Endpoints(features.Default()), []cellsTest{
		{"none", testMeta, "a|<none>|60m"},
		{"none ready", testMeta + "subsets: [{notReadyAddresses: [{ip: 10.0.0.1}], ports: [{port: 80}]}]", "a||60m"},
		{"ports", testMeta + "subsets: [{addresses: [{ip: 10.0.0.1}, {ip: 'fd00::1'}], ports: [{port: 80}]}]", "a|10.0.0.1:80,[fd00::1]:80|60m"},
		{"more", testMeta + "subsets: [{addresses: [{ip: 10.0.0.1}, {ip: 10.0.0.2}], ports: [{port: 80}, {port: 81}]}, {addresses: [{ip: 10.0.0.3}]}]",
			"a|10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 2 more...|60m"},
		{"without ports", testMeta + "subsets: [{addresses: [{ip: 10.0.0.1}]}]", "a|10.0.0.1|60m"},
	})
	testCells(t, discovery.EndpointSlice(features.Default()), []cellsTest{
		{"none", testMeta + "addressType: IPv4\nendpoints: []", "a|IPv4|<unset>|<unset>|60m"},
		{"some", testMeta + "addressType: IPv4\nendpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}]\nports: [{port: 80}, {name: web}, {}]",
			"a|IPv4|80,web,*|10.0.0.1,10.0.0.2|60m"},
		{"more", testMeta + "addressType: IPv4\nendpoints: [{addresses: ['1', '2', '3', '4', '5']}]\nports: [{port: 1}, {port: 2}, {port: 3}, {port: 4}]",
			"a|IPv4|1,2,3 + 1 more...|1,2,3 + 2 more...|60m"},
	})
}

func TestIngressCells(t *testing.T) {
	testCells(t, networking.Ingress(features.Default()), []cellsTest{
		{"plain", testMeta, "a|<none>|*||80|60m"},
		{"full", testMeta + "spec: {ingressClassName: nginx, tls: [{hosts: [x]}], rules: [{host: x}, {}, {host: 'y'}]}\n" +
			"status: {loadBalancer: {ingress: [{ip: 192.0.2.2}, {hostname: lb.example.com}, {ip: 192.0.2.1}]}}",
			"a|nginx|x,y|192.0.2.1,192.0.2.2,lb.example.com|80, 443|60m"},
		{"more", testMeta + "spec: {rules: [{host: a}, {host: b}, {host: c}, {}, {host: e}]}", "a|<none>|a,b,c + 2 more...||80|60m"},
	})
	testCells(t, networking.IngressClass(), []cellsTest{
		{"plain", testMeta + "spec: {controller: example.com/c}", "a|example.com/c|<none>|60m"},
		{"group", testMeta + "spec: {controller: c, parameters: {apiGroup: example.com, kind: Params, name: p}}", "a|c|Params.example.com/p|60m"},
		{"core", testMeta + "spec: {controller: c, parameters: {kind: ConfigMap, name: p}}", "a|c|ConfigMap/p|60m"},
	})
	testCells(t, networking.NetworkPolicy(features.Default()), []cellsTest{
		{"all", testMeta, "a|<none>|60m"},
		{"some", testMeta + "spec: {podSelector: {matchLabels: {a: b}}}", "a|a=b|60m"},
	})
}

func TestAddressCells(t *testing.T) {
	testCells(t, networking.IPAddress(), []cellsTest{
		{"none", testMeta, "a|<none>|60m"},
		{"service", testMeta + "spec: {parentRef: {resource: services, namespace: ns, name: s}}", "a|services/ns/s|60m"},
		{"cluster", testMeta + "spec: {parentRef: {group: example.com, resource: Things, name: t}}", "a|things.example.com/t|60m"},
	})
	testCells(t, networking.ServiceCIDR(features.Default()), []cellsTest{
		{"two", testMeta + "spec: {cidrs: [10.0.0.0/16, 'fd00::/112']}", "a|10.0.0.0/16,fd00::/112|60m"},
	})
}
