package pod_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const pod = `spec:
  containers: [{name: c, image: 'i:1'}]`

func TestPodRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"containers", "spec.containers[1]: {name: d, image: j}", "spec.containers: []",
			"spec.containers: Required value"},
		{"name of a container twice", "spec.containers[1]: {name: d, image: j}",
			"spec.containers[1]: {name: c, image: j}", `spec.containers[1].name: Duplicate value: "c"`},
		{"name of an init container twice", "spec.initContainers: [{name: d, image: j}]",
			"spec.initContainers: [{name: c, image: j}]", `spec.initContainers[0].name: Duplicate value: "c"`},
		{"restartPolicy", "spec.restartPolicy: OnFailure", "spec.restartPolicy: Sometimes",
			`spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"`},
		{"dnsPolicy", "spec.dnsPolicy: Default", "spec.dnsPolicy: Other",
			`spec.dnsPolicy: Unsupported value: "Other": supported values: "ClusterFirstWithHostNet", ` +
				`"ClusterFirst", "Default", "None"`},
		{"activeDeadlineSeconds", "spec.activeDeadlineSeconds: 1", "spec.activeDeadlineSeconds: 0",
			"spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"},
		{"large activeDeadlineSeconds", "spec.activeDeadlineSeconds: 2147483647",
			"spec.activeDeadlineSeconds: 2147483648",
			"spec.activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and 2147483647, inclusive"},
		{"serviceAccountName", "spec.serviceAccountName: a.b", "spec.serviceAccountName: A",
			`spec.serviceAccountName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"nodeName", "spec.nodeName: a.b", "spec.nodeName: A",
			`spec.nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"hostname", "spec.hostname: a", "spec.hostname: a.b",
			`spec.hostname: Invalid value: "a.b": must not contain dots`},
		{"subdomain", "spec.subdomain: a", "spec.subdomain: a.b",
			`spec.subdomain: Invalid value: "a.b": must not contain dots`},
		{"label of the nodeSelector", "spec.nodeSelector: {a.b/c: d}", `spec.nodeSelector: {a: "b c"}`,
			`spec.nodeSelector: Invalid value: "b c": a valid label must be an empty string or consist ` +
				"of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
				"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"key of the nodeSelector", "spec.nodeSelector: {a.b/c: d}", `spec.nodeSelector: {"a b": c}`,
			`spec.nodeSelector: Invalid value: "a b": name part must consist of alphanumeric characters, ` +
				"'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or " +
				"'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"priorityClassName", "spec.priorityClassName: a.b", "spec.priorityClassName: A",
			`spec.priorityClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"runtimeClassName", "spec.runtimeClassName: a.b", "spec.runtimeClassName: A",
			`spec.runtimeClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"preemptionPolicy", "spec.preemptionPolicy: Never", "spec.preemptionPolicy: Sometimes",
			`spec.preemptionPolicy: Unsupported value: "Sometimes": supported values: ` +
				`"PreemptLowerPriority", "Never"`},
		{"readiness gate", "spec.readinessGates: [{conditionType: a.b/c}]",
			`spec.readinessGates: [{conditionType: "a b"}]`,
			`spec.readinessGates[0].conditionType: Invalid value: "a b": name part must consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"host alias", "spec.hostAliases: [{ip: 10.0.0.1, hostnames: [a.b]}]", "spec.hostAliases: [{ip: a}]",
			`spec.hostAliases[0].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or ` +
				"2001:db8::ffff)"},
		{"name of a host alias", "spec.hostAliases: [{ip: 10.0.0.1, hostnames: [a.b]}]",
			"spec.hostAliases: [{ip: 10.0.0.1, hostnames: [A]}]",
			`spec.hostAliases[0].hostnames[0]: Invalid value: "A": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"overhead", "spec.overhead: {cpu: 1}", "spec.overhead: {disk: 1}",
			`spec.overhead.limits[disk]: Invalid value: "disk": must be a standard resource type or ` +
				`fully qualified; spec.overhead.limits[disk]: Invalid value: "disk": must be a standard ` +
				"resource for containers"},
		{"scheduling gate", "spec.schedulingGates: [{name: a.b/c}]", `spec.schedulingGates: [{name: "a b"}]`,
			`spec.schedulingGates[0]: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"scheduling gate twice", "spec.schedulingGates: [{name: a}, {name: b}]",
			"spec.schedulingGates: [{name: a}, {name: a}]", `spec.schedulingGates[1]: Duplicate value: "a"`},
		{"scheduling gate and node", "spec.schedulingGates: [{name: a}]",
			"spec.schedulingGates: [{name: a}]; spec.nodeName: node",
			"spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"},
		{"resource claim", "spec.resourceClaims: [{name: r, resourceClaimName: c}]",
			"spec.resourceClaims: [{name: r}]",
			"spec.resourceClaims[0]: Invalid value: " +
				`{"Name":"r","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one ` +
				"of: `resourceClaimName`, `resourceClaimTemplateName`"},
		{"two sources of a claim", "spec.resourceClaims: [{name: r, resourceClaimTemplateName: t}]",
			"spec.resourceClaims: [{name: r, resourceClaimName: c, resourceClaimTemplateName: t}]",
			"spec.resourceClaims[0]: Invalid value: " +
				`{"Name":"r","ResourceClaimName":"c","ResourceClaimTemplateName":"t"}: at most one of ` +
				"`resourceClaimName` or `resourceClaimTemplateName` may be specified"},
		{"name of a claim", "spec.resourceClaims: [{name: r, resourceClaimName: c}]",
			"spec.resourceClaims: [{name: R, resourceClaimName: c}]",
			`spec.resourceClaims[0].name: Invalid value: "R": a lowercase RFC 1123 label must consist of ` +
				"lower case alphanumeric characters or '-', and must start and end with an alphanumeric " +
				"character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"claim twice", "spec.resourceClaims: [{name: r, resourceClaimName: c}, {name: s, resourceClaimName: c}]",
			"spec.resourceClaims: [{name: r, resourceClaimName: c}, {name: r, resourceClaimName: c}]",
			`spec.resourceClaims[1].name: Duplicate value: "r"`},
		{"claim of a container",
			"spec.resourceClaims: [{name: r, resourceClaimName: c}]; " +
				"spec.containers[0].resources.claims: [{name: r}]",
			"spec.containers[0].resources.claims: [{name: r}]",
			`spec.containers[0].resources.claims[0]: Not found: "r": must be one of the names in ` +
				"pod.spec.resourceClaims which is empty"},
		{"host ports and networks",
			"spec.hostNetwork: true; spec.containers[0].ports: [{containerPort: 80, hostPort: 80}]",
			"spec.hostNetwork: true; spec.containers[0].ports: [{containerPort: 80, hostPort: 81}]",
			"spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when " +
				"`hostNetwork` is true"},
		{"host port twice",
			"spec.containers[0].ports: [{containerPort: 1, hostPort: 1}, {containerPort: 2, hostPort: 2}]",
			"spec.containers[0].ports: [{containerPort: 1, hostPort: 1}, {containerPort: 2, hostPort: 1}]",
			`spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//1"`},
		{"host users and networks", "spec.hostUsers: false", "spec.hostUsers: false; spec.hostPID: true",
			"spec.HostPID: Forbidden: when `hostUsers` is false"},
		{"topology key",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]",
			"spec.topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]",
			"spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty"},
		{"maxSkew",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]",
			"spec.topologySpreadConstraints: [{maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]",
			"spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"},
		{"whenUnsatisfiable",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: Wait}]",
			`spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Wait": supported ` +
				`values: "DoNotSchedule", "ScheduleAnyway"`},
		{"constraint twice",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"ScheduleAnyway}, {maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"ScheduleAnyway}, {maxSkew: 2, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]",
			`spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{a, ` +
				`ScheduleAnyway}"`},
		{"minDomains",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"DoNotSchedule, minDomains: 1}]",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"DoNotSchedule, minDomains: 0}]",
			"spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero"},
		{"minDomains of a preference",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"DoNotSchedule, minDomains: 2}]",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"ScheduleAnyway, minDomains: 2}]",
			"spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if " +
				"whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"},
		{"nodeAffinityPolicy",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"DoNotSchedule, nodeAffinityPolicy: Ignore}]",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"DoNotSchedule, nodeAffinityPolicy: Obey}]",
			`spec.topologySpreadConstraints[0].nodeAffinityPolicy: Unsupported value: "Obey": supported ` +
				`values: "Honor", "Ignore"`},
		{"nodeTaintsPolicy",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"DoNotSchedule, nodeTaintsPolicy: Honor}]",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"DoNotSchedule, nodeTaintsPolicy: Obey}]",
			`spec.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: "Obey": supported ` +
				`values: "Honor", "Ignore"`},
		{"matchLabelKeys",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"DoNotSchedule, labelSelector: {}, matchLabelKeys: [b]}]",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"DoNotSchedule, matchLabelKeys: [b]}]",
			"spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when " +
				"labelSelector is not set"},
		{"selector of a constraint",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				"DoNotSchedule, labelSelector: {matchLabels: {a: b}}}]",
			"spec.topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: " +
				`DoNotSchedule, labelSelector: {matchLabels: {a: "b c"}}}]`,
			`spec.topologySpreadConstraints[0].labelSelector.matchLabels: Invalid value: "b c": a valid ` +
				"label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " +
				"must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or " +
				"'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"name", "metadata.name: a.b", "metadata.name: a_b",
			`metadata.name: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"annotation", "metadata.annotations: {a.b/c: d}", "metadata.annotations[a b]: c",
			`metadata.annotations: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	})
}

// TestPodWideFields checks fields of the pod as a whole.
func TestPodWideFields(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"account of a token",
			"spec.serviceAccountName: a; spec.volumes: [{name: v, projected: {sources: " +
				"[{serviceAccountToken: {path: p}}]}}]",
			"spec.volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: p}}]}}]",
			"spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified " +
				"when serviceAccountName is not set"},
		{"responders of a group", "spec.evictionResponders: []", "spec.activeDeadlineSeconds: 0",
			"spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"},
		{"host ports of the host network",
			"spec.hostNetwork: true; spec.containers[0].ports: [{containerPort: 80, hostPort: 80}]",
			"spec.hostNetwork: true; spec.containers[0].ports: [{containerPort: 80, hostPort: 81}]",
			"spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when " +
				"`hostNetwork` is true"},
		{"same port of two addresses",
			"spec.containers[0].ports: [{containerPort: 1, hostPort: 1, hostIP: 10.0.0.1}, " +
				"{containerPort: 2, hostPort: 1, hostIP: 10.0.0.2}]",
			"spec.containers[0].ports: [{containerPort: 1, hostPort: 1, hostIP: 10.0.0.1}, " +
				"{containerPort: 2, hostPort: 1, hostIP: 10.0.0.1}]",
			`spec.containers[0].ports[1].hostPort: Duplicate value: "TCP/10.0.0.1/1"`},
		{"same port of two protocols",
			"spec.containers[0].ports: [{containerPort: 1, hostPort: 1}, {containerPort: 1, hostPort: 1, " +
				"protocol: UDP}]",
			"spec.containers[0].ports: [{containerPort: 1, hostPort: 1, protocol: UDP}, {containerPort: " +
				"1, hostPort: 1, protocol: UDP}]", `spec.containers[0].ports[1].hostPort: Duplicate value: "UDP//1"`},
		{"PID and sharing", "spec.shareProcessNamespace: true",
			"spec.shareProcessNamespace: true; spec.hostPID: true",
			"spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot " +
				"both be enabled"},
		{"user namespace and IPC", "spec.hostUsers: false", "spec.hostUsers: false; spec.hostIPC: true",
			"spec.HostIPC: Forbidden: when `hostUsers` is false"},
	})
}

// TestHostnameOverride checks the host name that replaces the name of the pod.
func TestHostnameOverride(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.hostnameOverride: a.b").Create(kindtest.Rules{
		{"form", "spec.hostnameOverride: c", "spec.hostnameOverride: A",
			`spec.hostnameOverride: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"length", "spec.hostnameOverride: " + strings.Repeat("a", 63),
			"spec.hostnameOverride: " + strings.Repeat("a", 65),
			"spec.hostnameOverride: Too long: may not be more than 64 bytes"},
		{"host network", "spec.hostNetwork: false", "spec.hostNetwork: true",
			"spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true"},
		{"domain", "spec.setHostnameAsFQDN: false", "spec.setHostnameAsFQDN: true",
			"spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true"},
	})
}

// TestPodLevelResources checks the resources of the pod as a whole.
func TestPodLevelResources(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.resources: {requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 4, memory: 2Gi}}")
	k.Create(kindtest.Rules{
		{"resource", "spec.resources.requests[hugepages-2Mi]: 2Mi; spec.resources.limits[hugepages-2Mi]: 2Mi",
			"spec.resources.requests.ephemeral-storage: 1Gi",
			`spec.resources.requests[ephemeral-storage]: Unsupported value: "ephemeral-storage": ` +
				`supported values: "cpu", "hugepages-", "memory"`},
		{"request above the limit", "spec.resources.requests.cpu: 4", "spec.resources.requests.cpu: 5",
			`spec.resources.requests: Invalid value: "5": must be less than or equal to cpu limit of 4`},
		{"request of a container", "spec.containers[0].resources.requests: {cpu: 2}",
			"spec.containers[0].resources.requests: {cpu: 3}",
			`spec.resources.requests[cpu]: Invalid value: "2": must be greater than or equal to ` +
				"aggregate container requests of 3"},
		{"limit of a container", "spec.containers[0].resources: {limits: {cpu: 4}, requests: {cpu: 1}}",
			"spec.containers[0].resources: {limits: {cpu: 5}, requests: {cpu: 1}}",
			`spec.resources.containers[0][cpu].limits: Invalid value: "5": must be less than or equal to ` +
				"pod limits of 4"},
		{"huge pages of a container",
			"spec.resources.limits[hugepages-2Mi]: 4Mi; spec.containers[0].resources.limits: {cpu: 1, " +
				"hugepages-2Mi: 4Mi}",
			"spec.resources.limits[hugepages-2Mi]: 2Mi; spec.containers[0].resources.limits: {cpu: 1, " +
				"hugepages-2Mi: 4Mi}",
			`spec.resources.requests[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal ` +
				"to aggregate container requests of 4Mi; spec.resources.limits[hugepages-2Mi]: Invalid " +
				`value: "2Mi": must be greater than or equal to aggregate container limits of 4Mi; ` +
				`spec.resources.containers[0][hugepages-2Mi].limits: Invalid value: "4Mi": must be less than ` +
				"or equal to pod limits of 2Mi"},
		{"claims", "spec.resources.requests.cpu: 1", "spec.resources.claims: [{name: a}]",
			"spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level; " +
				`spec.resources.claims[0]: Not found: "a": must be one of the names in ` +
				"pod.spec.resourceClaims which is empty"},
		{"Windows", "spec.resources: {}", "spec.os.name: windows",
			"spec.resources: Forbidden: may not be set for a windows pod"},
		{"negative request", "spec.resources.requests.cpu: 0", `spec.resources.requests.cpu: "-1"`,
			`spec.resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0`},
	})
}

// TestPodLevelDefaults checks the default requests of the pod as a whole.
func TestPodLevelDefaults(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).With("spec.resources: {limits: {cpu: 4, memory: 2Gi}}").Created(kindtest.Cases{
		{"limits alone", "",
			`spec.resources: {"limits":{"cpu":"4","memory":"2Gi"},"requests":{"cpu":"4","memory":"2Gi"}}`},
		{"requests of containers", "spec.containers[0].resources.requests: {cpu: 1}",
			`spec.resources: {"limits":{"cpu":"4","memory":"2Gi"},"requests":{"cpu":"1","memory":"2Gi"}}`},
		{"class of service", "spec.resources.requests: {cpu: 4, memory: 2Gi}", "status.qosClass: Guaranteed"},
		{"other class of service", "spec.resources.requests: {cpu: 1}", "status.qosClass: Burstable"},
	})
}

// TestClassesOfService checks the class that the server computes from the resources.
func TestClassesOfService(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Created(kindtest.Cases{
		{"no resources", "", "status.qosClass: BestEffort"},
		{"requests", "spec.containers[0].resources.requests: {cpu: 1}", "status.qosClass: Burstable"},
		{"limits of CPU alone", "spec.containers[0].resources.limits: {cpu: 1}", "status.qosClass: Burstable"},
		{"limits of both", "spec.containers[0].resources.limits: {cpu: 1, memory: 1Gi}",
			"status.qosClass: Guaranteed"},
		{"other container without limits",
			"spec.containers[0].resources.limits: {cpu: 1, memory: 1Gi}; spec.containers[1]: {name: d, image: i}",
			"status.qosClass: Burstable"},
		{"init container without limits",
			"spec.containers[0].resources.limits: {cpu: 1, memory: 1Gi}; spec.initContainers: [{name: d, image: i}]",
			"status.qosClass: Burstable"},
	})
}
