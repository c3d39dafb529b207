package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestPodUpdateRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Update(kindtest.Rules{
		{"image", `spec.containers[0].image: "j"`, `spec.containers[0].image: ""`,
			"spec.containers[0].image: Required value"},
		{"containers", "spec.containers[0].image: j", "spec.containers: []",
			"spec.containers: Required value; spec.containers: Forbidden: pod updates may not add or " +
				"remove containers"},
		{"another container", "spec.containers[0].image: j", "spec.containers[1]: {name: d, image: j}",
			"spec.containers: Forbidden: pod updates may not add or remove containers"},
		{"nodeName", "spec.activeDeadlineSeconds: 5", "spec.nodeName: node",
			"spec: Forbidden: pod updates may not change fields other than " +
				"`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec" +
				".tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` " +
				"(allow it to be set to 1 if it was previously negative)\n@@ -43,7 +43,7 @@\n  " +
				"\"ServiceAccountName\": \"\",\n  \"DeprecatedServiceAccount\": \"\",\n  " +
				"\"AutomountServiceAccountToken\": null,\n- \"NodeName\": \"\",\n+ \"NodeName\": \"node\",\n  " +
				"\"HostNetwork\": false,\n  \"HostPID\": false,\n  \"HostIPC\": false,\n"},
		{"activeDeadlineSeconds", "spec.activeDeadlineSeconds: 5", "spec.activeDeadlineSeconds: -5",
			"spec.activeDeadlineSeconds: Invalid value: -5: must be between 1 and 2147483647, inclusive; " +
				"spec.activeDeadlineSeconds: Invalid value: -5: must be between 0 and 2147483647, inclusive"},
		{"toleration", "spec.tolerations: [{operator: Exists}]", `spec.tolerations: [{key: "a b", operator: Exists}]`,
			`spec.tolerations[0].key: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"command", "spec.containers[0].image: j", "spec.containers[0].command: [a]",
			"spec: Forbidden: pod updates may not change fields other than " +
				"`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec" +
				".tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` " +
				"(allow it to be set to 1 if it was previously negative)\n@@ -5,7 +5,9 @@\n   {\n    \"Name\": " +
				"\"c\",\n    \"Image\": \"i:1\",\n-   \"Command\": null,\n+   \"Command\": [\n+    \"a\"\n+   ],\n    " +
				"\"Args\": null,\n    \"WorkingDir\": \"\",\n    \"Ports\": null,\n"},
		{"resources", "metadata.labels: {a: b}", "spec.containers[0].resources.requests: {cpu: 1}",
			"spec: Forbidden: pod updates may not change fields other than " +
				"`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec" +
				".tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` " +
				"(allow it to be set to 1 if it was previously negative)\n@@ -13,7 +13,9 @@\n    \"Env\": null,\n " +
				"   \"Resources\": {\n     \"Limits\": null,\n-    \"Requests\": null,\n+    \"Requests\": {\n+     " +
				"\"cpu\": \"1\"\n+    },\n     \"Claims\": null\n    },\n    \"ResizePolicy\": null,\n"},
		{"scheduling gate", "metadata.labels: {a: b}", "spec.schedulingGates: [{name: a}]",
			"spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a'"},
		{"grace period", "metadata.labels: {a: b}", "spec.terminationGracePeriodSeconds: 5",
			"spec: Forbidden: pod updates may not change fields other than " +
				"`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec" +
				".tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` " +
				"(allow it to be set to 1 if it was previously negative)\n@@ -36,7 +36,7 @@\n  ],\n  " +
				"\"EphemeralContainers\": null,\n  \"RestartPolicy\": \"Always\",\n- " +
				"\"TerminationGracePeriodSeconds\": 30,\n+ \"TerminationGracePeriodSeconds\": 5,\n  " +
				"\"ActiveDeadlineSeconds\": null,\n  \"DNSPolicy\": \"ClusterFirst\",\n  \"NodeSelector\": null,\n"},
	})
}

func TestPodDeadlineRules(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.activeDeadlineSeconds: 10; spec.tolerations: [{key: a, operator: Exists, effect: " +
			"NoExecute, tolerationSeconds: 5}]")
	k.Update(kindtest.Rules{
		{"longer", "spec.activeDeadlineSeconds: 9", "spec.activeDeadlineSeconds: 11",
			"spec.activeDeadlineSeconds: Invalid value: 11: must be less than or equal to previous value"},
		{"none", "spec.activeDeadlineSeconds: 1", "spec.activeDeadlineSeconds: null",
			"spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"},
		{"toleration", "spec.tolerations[0].tolerationSeconds: 6", "spec.tolerations[0].key: b",
			"spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"},
		{"no toleration", "spec.tolerations[1]: {key: b, operator: Exists}", "spec.tolerations: null",
			"spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"},
	})
}

func TestGatedPodRules(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.schedulingGates: [{name: a}, {name: b}]; spec.nodeSelector: {a: b}")
	k.Update(kindtest.Rules{
		{"gates", "spec.schedulingGates: [{name: b}]", "spec.schedulingGates: [{name: a}, {name: c}]",
			"spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c'"},
		{"nodeSelector", "spec.nodeSelector: {a: b, c: d}", "spec.nodeSelector: {a: c}",
			`spec.nodeSelector: Invalid value: {"a":"c"}: only additions to spec.nodeSelector are ` +
				"allowed (no mutations or deletions)"},
		{"node affinity",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchExpressions: [{key: a, operator: Exists}]}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}]",
			"spec: Forbidden: pod updates may not change fields other than `spec.co...t-scheduler\",\n  " +
				"\"Tolerations\": null,\n  \"HostAliases\": null,\n"},
	})
}

func TestEphemeralContainerRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).UpdatePart("ephemeralcontainers", kindtest.Rules{
		{"new", "spec.ephemeralContainers: [{name: d, image: j}]", "spec.ephemeralContainers: [{name: c, image: j}]",
			`spec.ephemeralContainers[0].name: Duplicate value: "c"`},
		{"name", "spec.ephemeralContainers: [{name: d, image: j}]", "spec.ephemeralContainers: [{name: D, image: j}]",
			`spec.ephemeralContainers[0].name: Invalid value: "D": a lowercase RFC 1123 label must ` +
				"consist of lower case alphanumeric characters or '-', and must start and end with an " +
				"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"target", "spec.ephemeralContainers: [{name: d, image: j, targetContainerName: c}]",
			"spec.ephemeralContainers: [{name: d, image: j, targetContainerName: e}]",
			`spec.ephemeralContainers[0].targetContainerName: Not found: "e"`},
		{"ports", "spec.ephemeralContainers: [{name: d, image: j, command: [a]}]",
			"spec.ephemeralContainers: [{name: d, image: j, ports: [{containerPort: 1}]}]",
			"spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container"},
		{"probes", "spec.ephemeralContainers: [{name: d, image: j, tty: true}]",
			"spec.ephemeralContainers: [{name: d, image: j, livenessProbe: {exec: {command: [a]}}}]",
			"spec.ephemeralContainers[0].livenessProbe: Forbidden: cannot be set for an Ephemeral Container"},
		{"lifecycle", "spec.ephemeralContainers: [{name: d, image: j, stdin: true}]",
			"spec.ephemeralContainers: [{name: d, image: j, lifecycle: {preStop: {exec: {command: [a]}}}}]",
			"spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container"},
		{"resources", "spec.ephemeralContainers: [{name: d, image: j}]",
			"spec.ephemeralContainers: [{name: d, image: j, resources: {limits: {cpu: 1}}}]",
			"spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container"},
	})
}

func TestEphemeralContainersChange(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).PartUpdated("ephemeralcontainers", kindtest.Cases{
		{"only these", `spec.ephemeralContainers: [{name: d, image: "j:1"}]; spec.containers[0].image: j`,
			"spec.ephemeralContainers[0].imagePullPolicy: IfNotPresent; spec.containers[0].image: i:1"},
	})
}

func TestResizeRules(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.containers[0].resources: {requests: {cpu: 1}, limits: {cpu: 2}}")
	k.UpdatePart("resize", kindtest.Rules{
		{"requests", "spec.containers[0].resources.requests.cpu: 2", "spec.containers[0].resources.requests.cpu: 3",
			`spec.containers[0].resources.requests: Invalid value: "3": must be less than or equal to ` +
				"cpu limit of 2"},
		{"class of service", "spec.containers[0].resources.limits.cpu: 3",
			"spec.containers[0].resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}",
			`spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing`},
		{"removal", "spec.containers[0].resources.limits.memory: 1Gi", "spec.containers[0].resources.limits: null",
			"spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed"},
		{"resource", "spec.containers[0].resources.requests.memory: 1Gi",
			"spec.containers[0].resources.limits[example.com/a]: 1",
			"spec: Forbidden: only cpu and memory resources are mutable"},
	})
}

func TestPodGenerations(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"image", "spec.containers[0].image: j", "2"},
		{"labels", "metadata.labels: {a: b}", "1"},
		{"status", "status.phase: Running", "1"},
	})
}

func TestPodDefaults(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Created(kindtest.Cases{
		{"spec", "",
			"spec.restartPolicy: Always; spec.dnsPolicy: ClusterFirst; " +
				"spec.terminationGracePeriodSeconds: 30; spec.schedulerName: default-scheduler; " +
				"spec.enableServiceLinks: true; spec.securityContext: {}"},
		{"container", "",
			"spec.containers[0].imagePullPolicy: IfNotPresent; " +
				"spec.containers[0].terminationMessagePath: /dev/termination-log; " +
				"spec.containers[0].terminationMessagePolicy: File"},
		{"latest", "spec.containers[0].image: i", "spec.containers[0].imagePullPolicy: Always"},
		{"digest",
			"spec.containers[0].image: i@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
			"spec.containers[0].imagePullPolicy: IfNotPresent"},
		{"status", "status.phase: Running", "status.phase: Pending; metadata.generation: 1"},
		{"port", "spec.containers[0].ports: [{containerPort: 1}]", "spec.containers[0].ports[0].protocol: TCP"},
		{"host port", "spec.hostNetwork: true; spec.containers[0].ports: [{containerPort: 1}]",
			"spec.containers[0].ports[0].hostPort: 1"},
		{"account", "spec.serviceAccount: a", "spec.serviceAccountName: a; spec.serviceAccount: a"},
		{"request", "spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]",
			"spec.containers[0].env[0].valueFrom.fieldRef.apiVersion: v1"},
	})
}

func TestPodUpdated(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Updated(kindtest.Cases{
		{"status", "status.phase: Running; spec.containers[0].image: j",
			"status.phase: Pending; spec.containers[0].image: j; metadata.generation: 2"},
	})
}

func TestPodStatusUpdated(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).StatusUpdated(kindtest.Cases{
		{"spec", "spec.containers[0].image: j; status.phase: Running",
			"status.phase: Running; spec.containers[0].image: i:1"},
		{"deletion", "metadata.labels: {a: b}; status.message: hello", "status.message: hello; metadata.labels.a: b"},
	})
}

func TestPodStatusRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).UpdateStatus(kindtest.Rules{
		{"nominatedNodeName", "status.nominatedNodeName: a.b", "status.nominatedNodeName: A",
			`status.nominatedNodeName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist ` +
				"of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"address", "status.podIPs: [{ip: 10.0.0.1}, {ip: fd00::1}]", "status.podIPs: [{ip: a}]",
			`status.podIPs[0]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{"two of a family", "status.podIPs: [{ip: 10.0.0.1}, {ip: fd00::1}]",
			"status.podIPs: [{ip: 10.0.0.1}, {ip: 10.0.0.2}]",
			`status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more ` +
				"than one IP for each IP family"},
		{"three addresses", "status.podIPs: [{ip: 10.0.0.1}]",
			"status.podIPs: [{ip: 10.0.0.1}, {ip: fd00::1}, {ip: 10.0.0.2}]",
			`status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"fd00::1"},{"IP":"10.0.0.2"}]: may ` +
				"specify no more than one IP for each IP family"},
		{"address of the host", "status.hostIP: 10.0.0.1; status.hostIPs: [{ip: 10.0.0.1}, {ip: fd00::1}]",
			"status.hostIP: 10.0.0.1; status.hostIPs: [{ip: 10.0.0.1}, {ip: 10.0.0.2}]",
			`status.hostIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more ` +
				"than one IP for each IP family"},
		{"class of service", "status.qosClass: BestEffort", "status.qosClass: Guaranteed",
			`status.qosClass: Invalid value: "Guaranteed": field is immutable`},
		{"claim", "metadata.labels: {a: b}", "status.resourceClaimStatuses: [{name: r, resourceClaimName: c}]",
			`status.resourceClaimStatuses[0].name: Invalid value: "r": must match the name of an entry ` +
				"in `spec.resourceClaims`"},
		{"condition", `status.conditions: [{type: Ready, status: "True", observedGeneration: 1}]`,
			`status.conditions: [{type: Ready, status: "True", observedGeneration: -1}]`,
			"status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer"},
		{"container", "status.containerStatuses: [{name: c, image: i, imageID: j, state: {running: {}}}]",
			"status.containerStatuses: [{name: c, image: i, imageID: j, user: {linux: {uid: -1, gid: 0}}}]",
			"status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and " +
				"4294967295, inclusive"},
	})
}

func TestEndedContainerRules(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.restartPolicy: Never; status: {phase: Running, containerStatuses: [{name: c, image: i, " +
			"imageID: j, state: {terminated: {exitCode: 1}}}]}")
	k.UpdateStatus(kindtest.Rules{
		{"state", "status.phase: Failed", "status.containerStatuses[0].state: {running: {}}",
			"status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"},
	})
}

// TestPodContainersUpdate checks that images are the only part of containers that changes.
func TestPodContainersUpdate(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.initContainers: [{name: init, image: 'i:1'}]").Update(kindtest.Rules{
		{"image", "spec.containers[0].image: j", `spec.containers[0].image: ""`,
			"spec.containers[0].image: Required value"},
		{"spaces of an image", "spec.containers[0].image: j", `spec.containers[0].image: " j"`,
			`spec.containers[0].image: Invalid value: " j": must not have leading or trailing whitespace`},
		{"image of an init container", "spec.initContainers[0].image: j", `spec.initContainers[0].image: ""`,
			"spec.initContainers[0].image: Required value"},
		{"added container", "spec.containers[0].image: j", "spec.containers[1]: {name: d, image: i}",
			"spec.containers: Forbidden: pod updates may not add or remove containers"},
		{"no containers", "spec.containers[0].image: j", "spec.containers: []",
			"spec.containers: Required value; spec.containers: Forbidden: pod updates may not add or " +
				"remove containers"},
		{"removed init container", "spec.initContainers[0].image: j", "spec.initContainers: []",
			"spec.initContainers: Forbidden: pod updates may not add or remove containers"},
	})
}

// TestPodNodeUpdate checks that the difference that the error shows has the fields of the internal form.
func TestPodNodeUpdate(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Update(kindtest.Rules{
		{"node", "metadata.labels: {a: b}", "spec.nodeName: other",
			"spec: Forbidden: pod updates may not change fields other than " +
				"`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec" +
				".tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` " +
				"(allow it to be set to 1 if it was previously negative)\n@@ -43,7 +43,7 @@\n  " +
				"\"ServiceAccountName\": \"\",\n  \"DeprecatedServiceAccount\": \"\",\n  " +
				"\"AutomountServiceAccountToken\": null,\n- \"NodeName\": \"\",\n+ \"NodeName\": \"other\",\n  " +
				"\"HostNetwork\": false,\n  \"HostPID\": false,\n  \"HostIPC\": false,\n"},
	})
}

// TestNegativeGracePeriod checks that the grace period of a pod stays.
func TestNegativeGracePeriod(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.terminationGracePeriodSeconds: 30").Update(kindtest.Rules{
		{"grace period", "metadata.labels: {a: b}", "spec.terminationGracePeriodSeconds: 1",
			"spec: Forbidden: pod updates may not change fields other than " +
				"`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec" +
				".tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` " +
				"(allow it to be set to 1 if it was previously negative)\n@@ -36,7 +36,7 @@\n  ],\n  " +
				"\"EphemeralContainers\": null,\n  \"RestartPolicy\": \"Always\",\n- " +
				"\"TerminationGracePeriodSeconds\": 30,\n+ \"TerminationGracePeriodSeconds\": 1,\n  " +
				"\"ActiveDeadlineSeconds\": null,\n  \"DNSPolicy\": \"ClusterFirst\",\n  \"NodeSelector\": null,\n"},
	})
}

// TestGatedPodAffinity checks that the affinity of a pod with scheduling gates only becomes narrower.
func TestGatedPodAffinity(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.schedulingGates: [{name: a}]; " +
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: " +
			"[{matchExpressions: [{key: a, operator: Exists}]}]")
	k.Update(kindtest.Rules{
		{"more requirements",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				"0].matchExpressions[1]: {key: b, operator: Exists}",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				"0].matchExpressions[0].key: b",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				`0]: Invalid value: {"MatchExpressions":[{"Key":"b","Operator":"Exists","Values":null}],"Matc` +
				`hFields":null}: only additions are allowed (no mutations or deletions)`},
		{"more terms",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				"0].matchFields: [{key: metadata.name, operator: In, values: [node]}]",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				"1]: {matchExpressions: [{key: b, operator: Exists}]}",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				` Invalid value: [{"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":null}],"MatchF` +
				`ields":null},{"MatchExpressions":[{"Key":"b","Operator":"Exists","Values":null}],"MatchField` +
				`s":null}]: no additions/deletions to non-empty NodeSelectorTerms list are allowed`},
		{"no affinity", "spec.schedulingGates: []", "spec.affinity: null",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed"},
		{"fewer requirements", "spec.schedulingGates: []",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				"0]: {matchFields: [{key: metadata.name, operator: In, values: [node]}]}",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[" +
				`0]: Invalid value: {"MatchExpressions":null,"MatchFields":[{"Key":"metadata.name","Operator"` +
				`:"In","Values":["node"]}]}: only additions are allowed (no mutations or deletions)`},
	})
}

// TestGatedPodWithoutAffinity checks that a pod with scheduling gates may get an affinity to nodes, but none to
// pods.
func TestGatedPodWithoutAffinity(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.schedulingGates: [{name: a}]").Update(kindtest.Rules{
		{"affinity",
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms:" +
				" [{matchExpressions: [{key: a, operator: Exists}]}]",
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, " +
				"labelSelector: {matchLabels: {a: b}}}]",
			"spec: Forbidden: pod updates may not change fields other than `spec.co...t-scheduler\",\n  " +
				"\"Tolerations\": null,\n  \"HostAliases\": null,\n"},
		{"node selector", "spec.nodeSelector: {a: b}", `spec.nodeSelector: {a: "b c"}`,
			`spec.nodeSelector: Invalid value: "b c": a valid label must be an empty string or consist ` +
				"of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
				"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"new gate", "spec.schedulingGates: []", "spec.schedulingGates: [{name: a}, {name: b}]",
			"spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'b'"},
	})
}

// TestPodAnnotationsUpdate checks the annotations that stay as they were.
func TestPodAnnotationsUpdate(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"metadata.annotations: {kubernetes.io/config.mirror: a, " +
			"container.apparmor.security.beta.kubernetes.io/c: unconfined}; spec.nodeName: node")
	k.Update(kindtest.Rules{
		{"mirror pod", "metadata.annotations[a]: b", "metadata.annotations[kubernetes.io/config.mirror]: b",
			"metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update " +
				"mirror pod annotation"},
		{"no mirror pod", "metadata.annotations[a]: b", "metadata.annotations[kubernetes.io/config.mirror]: null",
			"metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update " +
				"mirror pod annotation"},
		{"AppArmor", "metadata.annotations[a]: b",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: runtime/default",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Forbidden: may not " +
				"remove or update AppArmor annotations"},
	})
}

// TestPodNewAnnotations checks the annotations that an update may not add.
func TestPodNewAnnotations(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Update(kindtest.Rules{
		{"mirror pod", "metadata.annotations: {a: b}", "metadata.annotations[kubernetes.io/config.mirror]: b",
			`metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "b": must set ` +
				"spec.nodeName if mirror pod annotation is set; " +
				"metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation"},
		{"AppArmor", "metadata.annotations: {a: b}",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: unconfined",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Forbidden: may not " +
				"add AppArmor annotations"},
	})
}

// TestEphemeralContainersOfStaticPod checks that static pods have no ephemeral containers.
func TestEphemeralContainersOfStaticPod(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"metadata.annotations[kubernetes.io/config.mirror]: a; spec.nodeName: node")
	k.UpdatePart("ephemeralcontainers", kindtest.Rules{
		{"static pod", "-", "spec.ephemeralContainers: [{name: e, image: i}]",
			"[]: Forbidden: static pods do not support ephemeral containers"},
	})
}

// TestTolerationSeconds checks the tolerations of an updated pod.
func TestTolerationSeconds(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]")
	k.Updated(kindtest.Cases{
		{"seconds", "spec.tolerations[0].tolerationSeconds: 6",
			`spec.tolerations: [{"effect":"NoExecute","key":"a","operator":"Exists","tolerationSeconds":6}]`},
		{"another", "spec.tolerations[1]: {key: b, operator: Exists}",
			`spec.tolerations: [{"effect":"NoExecute","key":"a","operator":"Exists","tolerationSeconds":5` +
				`},{"key":"b","operator":"Exists"}]`},
	})
}
