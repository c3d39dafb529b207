package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

// connected is a pod on a node with a kubelet, to which the subresources connect.
const connected = `spec:
  nodeName: node
  initContainers: [{name: init, image: 'i:1'}]
  containers: [{name: c, image: 'i:1', ports: [{containerPort: 8080}]}]
  ephemeralContainers: [{name: debug, image: 'i:1'}]
status: {podIP: 10.1.0.1, podIPs: [{ip: 10.1.0.1}]}`

// node returns the node of connected pods.
func node() []string {
	const status = `{addresses: [{type: InternalIP, address: 10.0.0.1}]}`
	return []string{`{kind: nodes.v1, metadata: {name: node}, status: ` + status + `}`}
}

func TestPodLog(t *testing.T) {
	kindtest.New(t, "pods.v1", connected).Connect("log", node(), kindtest.Connections{
		{"only container", "", "x", "https://10.0.0.1:10250/containerLogs/ns/x/c Kubelet"},
		{"init container", "", "x?container=init", "https://10.0.0.1:10250/containerLogs/ns/x/init Kubelet"},
		{"ephemeral container", "", "x?container=debug", "https://10.0.0.1:10250/containerLogs/ns/x/debug Kubelet"},
		{"unknown container", "", "x?container=d", "container d is not valid for pod x"},
		{"one of several containers", "spec.containers[1]: {name: d, image: i}", "x",
			"a container name must be specified for pod x, choose one of: [init c d debug]"},
		{"options", "", "x?follow=true&previous=true&timestamps=true&tailLines=3&limitBytes=4&sinceSeconds=5",
			"https://10.0.0.1:10250/containerLogs/ns/x/c?follow=true&limitBytes=4&previous=true&sinceSeconds=5&" +
				"tailLines=3&timestamps=true Kubelet Follow"},
		{"time", "", "x?sinceTime=2026-05-04T11:00:00Z",
			"https://10.0.0.1:10250/containerLogs/ns/x/c?sinceTime=2026-05-04T11%3A00%3A00Z Kubelet"},
		{"certificate that is not verified", "", "x?insecureSkipTLSVerifyBackend=true",
			"https://10.0.0.1:10250/containerLogs/ns/x/c Kubelet Unverified"},
		{"pod without a node", "spec.nodeName: null", "x", "none"},
		{"unknown node", "spec.nodeName: other", "x", `nodes "other" not found`},
		{"unknown pod", "", "z", `pods "z" not found`},
	})
}

func TestPodLogOptions(t *testing.T) {
	const invalid = `PodLogOptions "x" is invalid: `
	kindtest.New(t, "pods.v1", connected).Connect("log", node(), kindtest.Connections{
		{"negative number of lines", "", "x?tailLines=-1",
			invalid + "tailLines: Invalid value: -1: must be greater than or equal to 0"},
		{"no bytes", "", "x?limitBytes=0", invalid + "limitBytes: Invalid value: 0: must be greater than 0"},
		{"no seconds", "", "x?sinceSeconds=0", invalid + "sinceSeconds: Invalid value: 0: must be greater than 0"},
		{"two times", "", "x?sinceSeconds=1&sinceTime=2026-05-04T11:00:00Z",
			invalid + "[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"},
		{"several faults", "", "x?tailLines=-1&limitBytes=0",
			invalid + "[tailLines: Invalid value: -1: must be greater than or equal to 0, " +
				"limitBytes: Invalid value: 0: must be greater than 0]"},
	})
}

// TestPodLogStreams checks that clients choose one of the streams of a container.
func TestPodLogStreams(t *testing.T) {
	const invalid = `PodLogOptions "x" is invalid: `
	kindtest.New(t, "pods.v1", connected, "PodLogsQuerySplitStreams").Connect("log", node(), kindtest.Connections{
		{"all streams", "", "x", "https://10.0.0.1:10250/containerLogs/ns/x/c?stream=All Kubelet"},
		{"one stream", "", "x?stream=Stderr", "https://10.0.0.1:10250/containerLogs/ns/x/c?stream=Stderr Kubelet"},
		{"unknown stream", "", "x?stream=Other",
			invalid + `stream: Unsupported value: "Other": supported values: "All", "Stderr", "Stdout"`},
		{"lines of one stream", "", "x?stream=Stdout&tailLines=1",
			invalid + "[]: Forbidden: `tailLines` and specific `stream` are mutually exclusive for now"},
	})
	kindtest.New(t, "pods.v1", connected, "-PodLogsQuerySplitStreams").Connect("log", node(), kindtest.Connections{
		{"stream without the gate", "", "x?stream=Stderr", invalid + "stream: Forbidden: may not be specified"},
	})
}

func TestPodProcesses(t *testing.T) {
	k := kindtest.New(t, "pods.v1", connected)
	k.Connect("exec", node(), kindtest.Connections{
		{"command", "", "x?command=ls&command=-l&stdout=true&stderr=1",
			"https://10.0.0.1:10250/exec/ns/x/c?command=ls&command=-l&error=1&output=1 Kubelet Stdout Stderr"},
		{"terminal", "", "x?command=sh&stdin=true&stdout=true&tty=true",
			"https://10.0.0.1:10250/exec/ns/x/c?command=sh&input=1&output=1&tty=1 Kubelet Stdin Stdout TTY"},
		{"container", "", "x?container=debug&command=ls",
			"https://10.0.0.1:10250/exec/ns/x/debug?command=ls Kubelet"},
		{"unknown container", "", "x?container=d", "container d is not valid for pod x"},
		{"pod without a node", "spec.nodeName: null", "x", "pod x does not have a host assigned"},
		{"unknown pod", "", "z", `pods "z" not found`},
		{"no containers", "spec.containers: []; spec.initContainers: []", "x",
			"a container name must be specified for pod x"},
	})
	k.Connect("attach", node(), kindtest.Connections{
		{"output", "", "x?stdout=true", "https://10.0.0.1:10250/attach/ns/x/c?output=1 Kubelet Stdout"},
		{"input of a container", "", "x?container=debug&stdin=true",
			"https://10.0.0.1:10250/attach/ns/x/debug?input=1 Kubelet Stdin"},
		{"unknown node", "spec.nodeName: other", "x", `nodes "other" not found`},
	})
}

func TestPodPortForward(t *testing.T) {
	kindtest.New(t, "pods.v1", connected).Connect("portforward", node(), kindtest.Connections{
		{"ports in the stream", "", "x", "https://10.0.0.1:10250/portForward/ns/x Kubelet"},
		{"ports in the query", "", "x?ports=80&ports=443", "https://10.0.0.1:10250/portForward/ns/x?port=80%2C443 Kubelet"},
		{"pod without a node", "spec.nodeName: null", "x", "pod x does not have a host assigned"},
		{"unknown pod", "", "z", `pods "z" not found`},
	})
}

func TestPodProxy(t *testing.T) {
	kindtest.New(t, "pods.v1", connected).Connect("proxy", node(), kindtest.Connections{
		{"first port of a container", "", "x", "//10.1.0.1:8080"},
		{"path", "", "x/a/b/", "//10.1.0.1:8080/a/b/"},
		{"port", "", "x:443/a", "//10.1.0.1:443/a"},
		{"scheme", "", "https:x:443/a", "https://10.1.0.1:443/a"},
		{"unknown scheme", "", "ftp:x:21", `invalid pod request "ftp:x:21"`},
		{"no ports", "spec.containers[0].ports: []", "x", "//10.1.0.1"},
		{"address of version 6", "status.podIPs: [{ip: 'fd00::1'}]; spec.containers[0].ports: []", "x", "//[fd00::1]"},
		{"port of version 6", "status.podIPs: [{ip: 'fd00::1'}]", "x:80", "//[fd00::1]:80"},
		{"older address", "status.podIPs: []", "x", "//10.1.0.1:8080"},
		{"no address", "status: {}", "x", "address not allowed"},
		{"address of the server", "status.podIPs: [{ip: 127.0.0.1}]", "x", "address not allowed"},
		{"link-local address", "status.podIPs: [{ip: 169.254.0.1}]", "x", "address not allowed"},
		{"unknown pod", "", "z", `pods "z" not found`},
	})
}
