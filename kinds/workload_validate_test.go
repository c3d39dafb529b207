package kinds

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

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
		pod.Pod(features.Default(), time.Now): plainPod, core.PodTemplate(features.Default()): `{` + plainTemplate + `}`,
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
	got := changeFaults(t, pod.Pod(features.Default(), time.Now), plainPod, with(plainPod, `"spec":{`, `"spec":{"nodeName":"n",`))
	for _, part := range []string{"spec: Forbidden: pod updates may not change fields other than", "\n- \"NodeName\": \"\",\n+ \"NodeName\": \"n\",\n", `"HostNetwork": false`} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in %s", part, got)
		}
	}
	if got := changeFaults(t, pod.Pod(features.Default(), time.Now), plainPod, with(plainPod, `"spec":{`, `"spec":{"nodeName":"n","initContainers":[],`)); strings.Contains(got, `+ "InitContainers"`) {
		t.Errorf("an empty list differs from none in %s", got)
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
	r := pod.Pod(features.Default(), time.Now)
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
