package kinds

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/batch"
	"github.com/miniapiserver/miniapiserver/kinds/core/claim"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"

	corev1 "k8s.io/api/core/v1"
)

// TestFieldsOfPods checks fields of pods that Kubernetes 1.37 has introduced. Gates do not remove them here.
func TestFieldsOfPods(t *testing.T) {
	volume := func(source string) string {
		return `{"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v",` + source + `}]}}`
	}
	container := func(fields string) string {
		return `{"spec":{"containers":[{"name":"c","image":"i",` + fields + `}],"volumes":[{"name":"v","emptyDir":{}},{"name":"i","image":{"reference":"r"}}]}}`
	}
	probe := func(action string) string { return container(`"livenessProbe":{` + action + `}`) }
	const user = "Invalid value: -1: must be between 0 and 2147483647, inclusive"
	testRules(t, pod.Pod(features.Default()), []ruleTest{
		{"mode", "", volume(`"emptyDir":{"mode":511}`), ""},
		{"large mode", "", volume(`"emptyDir":{"mode":1024}`), "spec.volumes[0].emptyDir.mode: Invalid value: 1024: must be a number between 0 and 01777 (octal), both inclusive"},
		{"user of a secret", "", volume(`"secret":{"secretName":"s","defaultUser":-1}`), "spec.volumes[0].secret.defaultUser: " + user},
		{"user of a config map", "", volume(`"configMap":{"name":"s","items":[{"key":"k","path":"p","user":-1}]}`), "spec.volumes[0].configMap.items[0].user: " + user},
		{"user of projections", "", volume(`"projected":{"defaultUser":-1,"sources":[{"serviceAccountToken":{"path":"p","user":-1}}]}`),
			"spec.volumes[0].projected.defaultUser: " + user + ", spec.volumes[0].projected.sources[0].serviceAccountToken.user: " + user},
		{"mount options", "", container(`"volumeMounts":[{"name":"v","mountPath":"/a","bindMountOptions":["noexec","nodev","nosuid"]}]`), ""},
		{"bad mount options", "", container(`"volumeMounts":[{"name":"i","mountPath":"/a","bindMountOptions":["sync","sync"]}]`),
			`spec.containers[0].volumeMounts[0].bindMountOptions[0]: Unsupported value: "sync": supported values: "nodev", "noexec", "nosuid", ` +
				`spec.containers[0].volumeMounts[0].bindMountOptions[1]: Unsupported value: "sync": supported values: "nodev", "noexec", "nosuid", ` +
				`spec.containers[0].volumeMounts[0].bindMountOptions[1]: Duplicate value: "sync", ` +
				`spec.containers[0].volumeMounts[0].bindMountOptions: Invalid value: ["sync","sync"]: bindMountOptions may not be used with image volumes`},
		{"HTTP/2", "", probe(`"httpGet":{"port":1,"protocol":"HTTP2"}`), ""},
		{"protocol", "", probe(`"httpGet":{"port":1,"protocol":"h3"}`), `spec.containers[0].livenessProbe.httpGet.protocol: Unsupported value: "h3": supported values: "HTTP1", "HTTP2"`},
		{"HTTP/2 with TLS", "", probe(`"httpGet":{"port":1,"scheme":"HTTPS","protocol":"HTTP2"}`), `spec.containers[0].livenessProbe.httpGet.protocol: Invalid value: "HTTP2": is only supported with HTTP (H2C)`},
		{"HTTP/2 of a host", "", probe(`"httpGet":{"port":1,"host":"h","protocol":"HTTP2"}`), "spec.containers[0].livenessProbe.httpGet.host: Invalid value: \"h\": must be empty when `protocol` is \"HTTP2\""},
		{"gRPC", "", probe(`"grpc":{"port":1,"mode":"x"}`), `spec.containers[0].livenessProbe.grpc.mode: Unsupported value: "x": supported values: "Plaintext", "TLS"`},
		{"responders of a group", "", `{"spec":{"containers":[{"name":"c","image":"i"}],"schedulingGroup":{"podGroupName":"g"},"evictionResponders":[{"name":"a.b/c","priority":1}]}}`,
			"spec.schedulingGroup: Forbidden: may not be set when evictionResponders is set"},
	})
	const old = `{"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","emptyDir":{}}]}}`
	withStatus := func(status string) string { return old[:len(old)-1] + `,"status":{` + status + `}}` }
	testStatusRules(t, pod.Pod(features.Default()), []ruleTest{
		{"health", old, withStatus(`"volumeHealth":[{"name":"v","healthConditions":[{"status":"Degraded","reason":"Slow"}]}]`), ""},
		{"health of no volume", old, withStatus(`"volumeHealth":[{"name":"w","healthConditions":[{"status":"Degraded","reason":"not so"}]}]`),
			`status.volumeHealth[0].name: Not found: "w", status.volumeHealth[0].healthConditions[0].reason: Invalid value: "not so": a condition reason must start`},
	})
	const bound = `{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`
	testStatusRules(t, claim.PersistentVolumeClaim(features.Default()), []ruleTest{
		{"health", bound, bound[:len(bound)-1] + `,"status":{"healthStatus":{"healthConditions":[{"status":"Degraded","reason":"9"}]}}}`,
			`status.healthStatus.healthConditions[0].reason: Invalid value: "9": a condition reason must start`},
	})
}

// TestProtocolOfProbes checks the default protocol, which needs a gate.
func TestProtocolOfProbes(t *testing.T) {
	for _, gates := range []features.Gates{nil, {features.H2CContainerProbe: true}} {
		var obj api.Object = ruleObject(t, pod.Pod(gates), `{"spec":{"containers":[{"name":"c","image":"i","livenessProbe":{"httpGet":{"port":1}}}]}}`)
		got := obj.(*corev1.Pod).Spec.Containers[0].LivenessProbe.HTTPGet.Protocol
		if isSet := got != nil && *got == corev1.HTTPProtocolHTTP1; isSet != gates.Enabled(features.H2CContainerProbe) {
			t.Errorf("gates %v: %v", gates, got)
		}
	}
}

// TestSchedulingOfJobs checks the rules of spec.scheduling that no marker states, and that a selector is
// immutable.
func TestSchedulingOfJobs(t *testing.T) {
	job := func(fields string) string {
		return `{"metadata":{"name":"x","uid":"u"},"spec":{"manualSelector":true,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` +
			`"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}},` + fields + `}}`
	}
	gang := job(`"parallelism":3,"scheduling":{"schedulingPolicy":{"gang":{"minCount":3}},"disruptionMode":{"all":{}}}`)
	testRules(t, batch.Job(features.Default()), []ruleTest{
		{"gang", "", gang, ""},
		{"large gang", "", job(`"scheduling":{"schedulingPolicy":{"gang":{"minCount":2}}}`),
			"spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 2: must not be greater than parallelism (1)"},
		{"disruption", "", job(`"scheduling":{"disruptionMode":{"all":{}}}`),
			"spec.scheduling.disruptionMode: Invalid value: \"\": the disruptionMode `all` is not supported with the Basic scheduling policy"},
		{"another policy", gang, job(`"parallelism":3,"scheduling":{"schedulingPolicy":{"basic":{}}}`),
			"spec.scheduling.schedulingPolicy: Invalid value: null: the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount may be updated"},
		{"selector", job(`"parallelism":1`), job(`"parallelism":1,"manualSelector":false,"selector":{"matchLabels":{"c":"d"}}`),
			"[spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`, spec.selector: Invalid value"},
	})
}
