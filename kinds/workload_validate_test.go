package kinds

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/apps"
	"github.com/miniapiserver/miniapiserver/kinds/autoscaling"
	"github.com/miniapiserver/miniapiserver/kinds/batch"
	"github.com/miniapiserver/miniapiserver/kinds/core"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/kinds/core/service"
	"github.com/miniapiserver/miniapiserver/kinds/discovery"
	"github.com/miniapiserver/miniapiserver/kinds/networking"
	"github.com/miniapiserver/miniapiserver/kinds/policy"
)

// fixture returns an object of a kind, decoded from JSON, with valid metadata and its
// defaults.
func fixture(t testing.TB, r *api.Resource, body string) api.Object {
	t.Helper()
	obj := r.New()
	if err := json.Unmarshal([]byte(body), obj); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	obj.SetName("x")
	obj.SetUID("u")
	if r.Namespaced {
		obj.SetNamespace("ns")
	}
	obj.SetCreationTimestamp(metav1.Unix(1, 0))
	if r.Default != nil {
		r.Default(obj)
	}
	return obj
}

// newFaults returns the errors of a new object.
func newFaults(t testing.TB, r *api.Resource, body string) string {
	t.Helper()
	obj := fixture(t, r, body)
	if r.Prepare != nil {
		prepare(r, obj, nil)
	}
	return joined(r.CheckCreate(nil, obj))
}

// changeFaults returns the errors of an update.
func changeFaults(t testing.TB, r *api.Resource, before, after string) string {
	t.Helper()
	old, obj := fixture(t, r, before), fixture(t, r, after)
	for _, o := range []api.Object{old, obj} {
		o.SetResourceVersion("1")
		if r.Prepare != nil && o == old {
			prepare(r, o, nil)
		}
	}
	if r.Prepare != nil {
		prepare(r, obj, old)
	}
	return joined(checkUpdate(r, nil, obj, old))
}

func joined[E error](errs []E) string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return strings.Join(out, "; ")
}

// with returns body with each first text of pairs replaced by the second one.
func with(body string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(body) }

const (
	plainPod      = `{"spec":{"containers":[{"name":"c","image":"i:1"}]}}`
	plainTemplate = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}`
	jobTemplate   = `"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i:1"}]}}`
	selectsAll    = `"selector":{"matchLabels":{"a":"b"}}`
	plainService  = `{"spec":{"ports":[{"port":80}]}}`
)

// plain returns the smallest valid objects of kinds that run and connect pods.
func plain() map[*api.Resource]string {
	workload := `{"spec":{` + selectsAll + `,` + plainTemplate + `}}`
	return map[*api.Resource]string{
		pod.Pod(features.Default()): plainPod, core.PodTemplate(features.Default()): `{` + plainTemplate + `}`,
		apps.Deployment(features.Default()): workload, apps.ReplicaSet(features.Default()): workload, apps.StatefulSet(features.Default()): workload, apps.DaemonSet(features.Default()): workload,
		core.ReplicationController(features.Default()):          `{"spec":{` + plainTemplate + `}}`,
		apps.ControllerRevision():                               `{"data":{"a":1}}`,
		batch.Job(features.Default()):                           `{"spec":{` + jobTemplate + `}}`,
		batch.CronJob(features.Default()):                       `{"spec":{"schedule":"*/5 1-3,7 * jan mon","jobTemplate":{"spec":{` + jobTemplate + `}}}}`,
		service.Service(features.Default()):                     plainService,
		core.Endpoints(features.Default()):                      `{"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":1}]}]}`,
		discovery.EndpointSlice(features.Default()):             `{"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}],"ports":[{"port":1}]}`,
		networking.Ingress(features.Default()):                  `{"spec":{"rules":[{"host":"a.b","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"s","port":{"number":80}}}}]}}]}}`,
		networking.IngressClass():                               `{"spec":{"controller":"a.b/c"}}`,
		networking.NetworkPolicy(features.Default()):            `{"spec":{"podSelector":{},"ingress":[{"from":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}}]}]}}`,
		policy.PodDisruptionBudget():                            `{"spec":{"minAvailable":"50%"}}`,
		autoscaling.HorizontalPodAutoscaler(features.Default()): `{"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}}`,
	}
}

// TestPlainObjectsAreValid checks that plain objects are valid when they are created and when
// they are updated without a change, and that setting defaults twice changes nothing.
func TestPlainObjectsAreValid(t *testing.T) {
	for r, body := range plain() {
		if got := newFaults(t, r, body); got != "" {
			t.Errorf("%s: %s", r.Name, got)
		}
		if got := changeFaults(t, r, body, body); got != "" && r.Name != "jobs" {
			t.Errorf("%s: unchanged: %s", r.Name, got)
		}
		obj := fixture(t, r, body)
		once, _ := json.Marshal(obj)
		if r.Default != nil {
			r.Default(obj)
		}
		sameJSON(t, r.Name+" twice", obj, once)
	}
}

func TestWorkloadFaults(t *testing.T) {
	for _, c := range []struct {
		r          *api.Resource
		body, want string
	}{
		{apps.Deployment(features.Default()), `{"spec":{"replicas":-1,` + selectsAll + `,` + plainTemplate + `}}`, `spec.replicas: Invalid value: -1: must be greater than or equal to 0`},
		{apps.Deployment(features.Default()), `{"spec":{"selector":{"matchLabels":{"a":"c"}},` + plainTemplate + `}}`,
			"spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"},
		{apps.Deployment(features.Default()), `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":"0%"}},` + selectsAll + `,` + plainTemplate + `}}`,
			"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0"},
		{apps.StatefulSet(features.Default()), `{"spec":{"updateStrategy":{"type":"Recreate"},` + selectsAll + `,` + plainTemplate + `}}`,
			`spec.updateStrategy: Invalid value: {"Type":"Recreate","RollingUpdate":null}: must be 'RollingUpdate' or 'OnDelete'`},
		{apps.DaemonSet(features.Default()), `{"spec":{"updateStrategy":{"rollingUpdate":{"maxSurge":1}},` + selectsAll + `,` + plainTemplate + `}}`,
			`spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero`},
		{batch.Job(features.Default()), `{"spec":{` + with(jobTemplate, "Never", "Always") + `}}`,
			`spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`},
		{batch.Job(features.Default()), `{"spec":{"completionMode":"Indexed","parallelism":1,` + jobTemplate + `}}`,
			`spec.completions: Required value: when completion mode is Indexed`},
		{batch.CronJob(features.Default()), `{"spec":{"schedule":"60 * * * *","jobTemplate":{"spec":{` + jobTemplate + `}}}}`,
			`spec.schedule: Invalid value: "60 * * * *": end of range (60) above maximum (59): 60`},
		{batch.CronJob(features.Default()), `{"spec":{"schedule":"@daily","timeZone":"Mars/Base","jobTemplate":{"spec":{` + jobTemplate + `}}}}`,
			`spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base`},
		{core.ReplicationController(features.Default()), `{"spec":{}}`, `spec.selector: Required value; spec.template: Required value`},
		{apps.ControllerRevision(), `{"data":[1],"revision":-1}`,
			`revision: Invalid value: -1: must be greater than or equal to 0; data: Required value: data must be a valid JSON object`},
		{policy.PodDisruptionBudget(), `{"spec":{"minAvailable":"101%"}}`, `spec.minAvailable: Invalid value: "101%": must not be greater than 100%`},
		{autoscaling.HorizontalPodAutoscaler(features.Default()), `{"spec":{"maxReplicas":1,"minReplicas":2,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},"metrics":[{"type":"Pods"}]}}`,
			"spec.maxReplicas: Invalid value: 1: must be greater than or equal to `minReplicas`; spec.metrics[0].pods: Required value: must populate information for the given metric source"},
	} {
		if got := newFaults(t, c.r, c.body); got != c.want {
			t.Errorf("%s %s\n got %s\nwant %s", c.r.Name, c.body, got, c.want)
		}
	}
}

func TestNetworkFaults(t *testing.T) {
	for _, c := range []struct {
		r          *api.Resource
		body, want string
	}{
		{service.Service(features.Default()), `{"spec":{"type":"ExternalName"}}`, `spec.externalName: Required value`},
		{service.Service(features.Default()), `{"spec":{"ports":[{"port":80},{"port":81}]}}`, `spec.ports[0].name: Required value; spec.ports[1].name: Required value`},
		{service.Service(features.Default()), `{"spec":{"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":90000}},"ports":[{"port":80}]}}`,
			`spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 90000: must be greater than 0 and less than 86400`},
		{service.Service(features.Default()), `{"spec":{"clusterIP":"None","type":"NodePort","ports":[{"port":80}]}}`,
			`spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services`},
		{discovery.EndpointSlice(features.Default()), `{"addressType":"IPv4","endpoints":[{"addresses":["fd00::1"]}]}`,
			`endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address`},
		{core.Endpoints(features.Default()), `{"subsets":[{"addresses":[{"ip":"127.0.0.1"}]}]}`,
			`subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`},
		{networking.Ingress(features.Default()), `{}`, "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"},
		{networking.Ingress(features.Default()), `{"spec":{"defaultBackend":{"service":{"name":"s","port":{}}}}}`, `spec.defaultBackend: Required value: port name or number is required`},
		{networking.IngressClass(), `{"spec":{"controller":"c"}}`, `spec.controller: Invalid value: "c": must be a domain-prefixed path (such as "acme.io/foo")`},
		{networking.NetworkPolicy(features.Default()), `{"spec":{"egress":[{"to":[{}]}]}}`, `spec.egress[0].to[0]: Required value: must specify a peer`},
	} {
		if got := newFaults(t, c.r, c.body); got != c.want {
			t.Errorf("%s %s\n got %s\nwant %s", c.r.Name, c.body, got, c.want)
		}
	}
}

func TestChangeFaults(t *testing.T) {
	set := `{"spec":{` + selectsAll + `,` + plainTemplate + `,"serviceName":"s"}}`
	strategy := func(name string) string {
		return with(set, `"serviceName"`, `"updateStrategy":{"type":"`+name+`"},"serviceName"`)
	}
	for _, c := range []struct {
		r                   *api.Resource
		before, after, want string
	}{
		{apps.Deployment(features.Default()), set, with(set, `"a":"b"`, `"a":"c"`), `spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`},
		{apps.StatefulSet(features.Default()), set, with(set, `"s"`, `"t"`), `spec.serviceName: Invalid value: "t": field is immutable`},
		// AllowStatefulSetRecreateStrategy: the strategy of a disabled feature stays valid.
		{apps.StatefulSet(features.Default()), strategy("Recreate"), strategy("Recreate"), ""},
		{apps.StatefulSet(features.Default()), strategy("Recreate"), strategy("Other"),
			`spec.updateStrategy: Invalid value: {"Type":"Other","RollingUpdate":null}: must be 'RollingUpdate', 'OnDelete', or 'Recreate'`},
		{apps.StatefulSet(features.Default()), strategy("OnDelete"), strategy("Recreate"),
			`spec.updateStrategy: Invalid value: {"Type":"Recreate","RollingUpdate":null}: must be 'RollingUpdate' or 'OnDelete'`},
		{apps.StatefulSet(features.Gates{features.StatefulSetRecreateStrategy: true}), strategy("OnDelete"), strategy("Recreate"), ""},
		{service.Service(features.Default()), `{"spec":{"clusterIP":"10.0.0.1","ports":[{"port":80}]}}`, `{"spec":{"clusterIP":"10.0.0.2","ports":[{"port":80}]}}`,
			`spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set`},
		{service.Service(features.Default()), `{"spec":{"clusterIP":"10.0.0.1","type":"NodePort","ports":[{"port":80,"nodePort":30000}]}}`,
			`{"spec":{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"type":"ClusterIP","externalTrafficPolicy":"Cluster","ports":[{"port":80,"nodePort":30000}]}}`, ""},
		{networking.IngressClass(), `{"spec":{"controller":"a.b/c"}}`, `{"spec":{"controller":"a.b/d"}}`, `spec.controller: Invalid value: "a.b/d": field is immutable`},
		{apps.ControllerRevision(), `{"data":{}}`, `{"data":{},"revision":2}`, ""},
		// A revision that was stored without data can be changed.
		{apps.ControllerRevision(), `{"revision":1}`, `{"revision":2}`, ""},
		{pod.Pod(features.Default()), plainPod, with(plainPod, `i:1`, `i:2`), ""},
		{pod.Pod(features.Default()), plainPod, `{"spec":{"containers":[]}}`,
			`spec.containers: Required value; spec.containers: Forbidden: pod updates may not add or remove containers`},
	} {
		if got := changeFaults(t, c.r, c.before, c.after); got != c.want {
			t.Errorf("%s %s\n got %s\nwant %s", c.r.Name, c.after, got, c.want)
		}
	}
}

// TestStoredTemplateGeneration checks that an update keeps the stored template generation, which must not be
// negative.
func TestStoredTemplateGeneration(t *testing.T) {
	set := func(generation string) string {
		return `{"metadata":{"annotations":{"deprecated.daemonset.template.generation":"` + generation + `"}},"spec":{` + selectsAll + `,` + plainTemplate + `}}`
	}
	testRules(t, apps.DaemonSet(features.Default()), []ruleTest{
		{"negative", set("-5"), set("3"), `spec.templateGeneration: Invalid value: -5: must be greater than or equal to 0`},
		{"positive", set("5"), set("-3"), ""},
	})
}

// TestPodChangeShowsDifference checks that the error of a refused change of a pod contains the
// difference in the internal form.
func TestPodChangeShowsDifference(t *testing.T) {
	got := changeFaults(t, pod.Pod(features.Default()), plainPod, with(plainPod, `"spec":{`, `"spec":{"nodeName":"n",`))
	for _, part := range []string{"spec: Forbidden: pod updates may not change fields other than", "\n- \"NodeName\": \"\",\n+ \"NodeName\": \"n\",\n", `"HostNetwork": false`} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in %s", part, got)
		}
	}
	if got := changeFaults(t, pod.Pod(features.Default()), plainPod, with(plainPod, `"spec":{`, `"spec":{"nodeName":"n","initContainers":[],`)); strings.Contains(got, `+ "InitContainers"`) {
		t.Errorf("an empty list differs from none in %s", got)
	}
}

func TestPodFaults(t *testing.T) {
	container := func(more string) string { return `{"spec":{"containers":[{"name":"c","image":"i:1",` + more + `}]}}` }
	spec := func(more string) string { return `{"spec":{` + more + `,"containers":[{"name":"c","image":"i:1"}]}}` }
	for body, want := range map[string]string{
		`{"spec":{}}`: `spec.containers: Required value`,
		container(`"ports":[{"containerPort":1,"hostPort":1},{"containerPort":2,"hostPort":1}]`): `spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//1"`,
		container(`"env":[{"name":"a","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels"}}}]`): `spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: ` +
			`"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`,
		container(`"livenessProbe":{"exec":{"command":["x"]},"httpGet":{"port":"0"}}`): `spec.containers[0].livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type`,
		container(`"resources":{"limits":{"cpu":"1"},"requests":{"cpu":"2"}}`):         `spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`,
		container(`"resources":{"requests":{"hugepages-2Mi":"1Mi","cpu":"1"}}`): `spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources; ` +
			`spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi`,
		spec(`"securityContext":{"seLinuxChangePolicy":"MountOption"}`): ``,
		spec(`"securityContext":{"seLinuxChangePolicy":""}`):            `spec.securityContext.seLinuxChangePolicy: Unsupported value: "": supported values: "MountOption", "Recursive"`,
		spec(`"volumes":[{"name":"v","projected":{"sources":[{"podCertificate":{"signerName":"a.b/c","keyType":"ED25519","keyPath":"k","userAnnotations":{"A":"b"}}}]}}]`): `spec.volumes[0].projected.sources[0].podCertificate.userAnnotations: Invalid value: "a": must be a domain-prefixed key (such as "acme.io/foo")`,
		container(`"resources":{"limits":{"hugepages-2Mi":"3Mi","cpu":"1"}}`): `spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi; ` +
			`spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
		spec(`"hostNetwork":true,"securityContext":{"sysctls":[{"name":"net.a","value":"1"}]}`): `spec.securityContext.sysctls[0].name: Invalid value: "net.a": may not be specified when 'hostNetwork' is true`,
		spec(`"tolerations":[{"operator":"Equal"}]`):                                            `spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when ` + "`key`" + ` is empty, which means "match all values and all keys"`,
		spec(`"topologySpreadConstraints":[{"maxSkew":0,"topologyKey":"","whenUnsatisfiable":"Never"}]`): `spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero; ` +
			`spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty; ` +
			`spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"`,
		spec(`"volumes":[{"name":"v","projected":{"sources":[{"configMap":{"name":"m"},"secret":{"name":"s"}}]}}]`):     `spec.volumes[0].projected.sources[0]: Forbidden: may not specify more than 1 volume type per source`,
		spec(`"os":{"name":"windows"},"hostIPC":true,"securityContext":{"sysctls":[{"name":"a","value":"b"}]}`):         `spec.securityContext.sysctls: Forbidden: cannot be set for a windows pod; spec.hostIPC: Forbidden: cannot be set for a windows pod`,
		spec(`"os":{"name":"windows"},"hostPID":true`):                                                                  `spec.hostPID: Forbidden: cannot be set for a windows pod`,
		spec(`"initContainers":[{"name":"c","image":"i"}]`):                                                             `spec.initContainers[0].name: Duplicate value: "c"`,
		spec(`"ephemeralContainers":[{"name":"e","image":"i"}]`):                                                        `spec.ephemeralContainers: Forbidden: cannot be set on create`,
		spec(`"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}}`): `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term`,
	} {
		if got := newFaults(t, pod.Pod(features.Default()), body); got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
}

// FuzzValidate checks that defaults and validation of any decoded object do not panic.
func FuzzValidate(f *testing.F) {
	kinds := plain()
	names := map[string]*api.Resource{}
	for r, body := range kinds {
		names[r.Name] = r
		f.Add(r.Name, body, body)
	}
	f.Add("pods", `{"spec":{"containers":[{"securityContext":{"windowsOptions":{}},"lifecycle":{"preStop":{"sleep":{}}}}],"volumes":[{"csi":{}}]}}`, `{}`)
	f.Fuzz(func(t *testing.T, name, body, before string) {
		r := names[name]
		if r == nil {
			return
		}
		obj, old := r.New(), r.New()
		if json.Unmarshal([]byte(body), obj) != nil || json.Unmarshal([]byte(before), old) != nil {
			return
		}
		for _, o := range []api.Object{obj, old} {
			if r.Default != nil {
				r.Default(o)
			}
			if r.Prepare != nil {
				prepare(r, o, nil)
			}
			joined(r.CheckCreate(nil, o))
		}
		if r.Prepare != nil {
			prepare(r, obj, old)
		}
		joined(checkUpdate(r, nil, obj, old))
		if r.Status != nil {
			joined(checkStatus(r, nil, obj, old))
		}
		for _, s := range r.Subresources {
			if f, ok := s.(*api.Field); ok {
				prepareField(r, f.Name, obj, old)
				joined(checkField(r, f.Name, obj, old))
			}
		}
	})
}

func BenchmarkCheckCreatePod(b *testing.B) {
	r := pod.Pod(features.Default())
	obj := fixture(b, r, `{"metadata":{"labels":{"app":"x","tier":"y"}},"spec":{"volumes":[{"name":"v","configMap":{"name":"m"}}],"nodeSelector":{"a":"b"},
		"containers":[{"name":"c","image":"i:1","ports":[{"name":"http","containerPort":80}],"env":[{"name":"A","value":"b"}],
		"resources":{"limits":{"cpu":"1","memory":"1Gi"}},"livenessProbe":{"httpGet":{"port":80}},"volumeMounts":[{"name":"v","mountPath":"/v"}]}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if errs := r.CheckCreate(nil, obj); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
