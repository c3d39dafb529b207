package pod

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

func TestPodGracePeriod(t *testing.T) {
	for name, c := range map[string]struct {
		node  string
		phase corev1.PodPhase
		own   *int64
		asked *int64
		want  int64
	}{
		"own":           {node: "n", own: new(int64(30)), want: 30},
		"none":          {node: "n"},
		"asked":         {node: "n", own: new(int64(30)), asked: new(int64(5)), want: 5},
		"at once":       {node: "n", own: new(int64(30)), asked: new(int64(0))},
		"negative":      {node: "n", asked: new(int64(-1)), want: 1},
		"not scheduled": {own: new(int64(30))},
		"failed":        {node: "n", phase: corev1.PodFailed, own: new(int64(30))},
		"succeeded":     {node: "n", phase: corev1.PodSucceeded, asked: new(int64(5))},
	} {
		p := &corev1.Pod{}
		p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds, p.Status.Phase = c.node, c.own, c.phase
		if got := podGracePeriod(p, c.asked); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestPodQOS(t *testing.T) {
	for spec, want := range map[string]corev1.PodQOSClass{
		`{"containers":[{}]}`: corev1.PodQOSBestEffort,
		`{"containers":[{"resources":{"requests":{"ephemeral-storage":"1Gi"}}}]}`:                                                                                                                      corev1.PodQOSBestEffort,
		`{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}`:                                                                                                                                      corev1.PodQOSBurstable,
		`{"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}}]}`:                                                                                   corev1.PodQOSGuaranteed,
		`{"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m","memory":"1Gi"}}}]}`:                                                                                corev1.PodQOSBurstable,
		`{"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}},{}]}`:                                                                                corev1.PodQOSBurstable,
		`{"containers":[{}],"initContainers":[{"resources":{"requests":{"cpu":"1"}}}]}`:                                                                                                                corev1.PodQOSBurstable,
		`{"containers":[{}],"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}}`:                                                                                  corev1.PodQOSGuaranteed,
		`{"containers":[{"resources":{"requests":{"cpu":"1"}}}],"resources":{"limits":{},"requests":{}}}`:                                                                                              corev1.PodQOSBurstable,
		`{"containers":[{"resources":{"requests":{"cpu":"0"}}}]}`:                                                                                                                                      corev1.PodQOSBestEffort,
		`{"containers":[{"resources":{"limits":{"cpu":"1"},"requests":{"cpu":"1"}}}]}`:                                                                                                                 corev1.PodQOSBurstable,
		`{"containers":[{"resources":{"limits":{"cpu":"1","memory":"1"},"requests":{"cpu":"2","memory":"1"}}},{"resources":{"limits":{"cpu":"2","memory":"1"},"requests":{"cpu":"1","memory":"1"}}}]}`: corev1.PodQOSBurstable,
	} {
		var s corev1.PodSpec
		if err := json.Unmarshal([]byte(spec), &s); err != nil {
			t.Fatal(err)
		}
		if got := podLevelOf(features.Default()).class(&s); got != want {
			t.Errorf("%s: got %s, want %s", spec, got, want)
		}
	}
	empty := corev1.PodSpec{Resources: &corev1.ResourceRequirements{}, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}}
	if got := (podLevel{emptyCounts: true}).class(&empty); got != corev1.PodQOSBestEffort {
		t.Errorf("empty resources at pod level: got %s", got)
	}
}

func TestPodCreate(t *testing.T) {
	r := Pod(nil, time.Now)
	p := &corev1.Pod{Spec: corev1.PodSpec{
		Containers:      []corev1.Container{{Image: "app"}, {Image: "registry.example:5000/app:1"}},
		SchedulingGates: []corev1.PodSchedulingGate{{Name: "a"}},
	}}
	r.Default(p)
	r.Prepare(r.NewWrite(api.Attempt{}, p, nil))
	if p.Status.Phase != corev1.PodPending || p.Status.QOSClass != corev1.PodQOSBestEffort {
		t.Errorf("status %+v", p.Status)
	}
	if c := p.Status.Conditions; len(c) != 1 || c[0].Reason != "SchedulingGated" {
		t.Errorf("conditions %+v", c)
	}
	if p.Spec.Containers[0].ImagePullPolicy != corev1.PullAlways || p.Spec.Containers[1].ImagePullPolicy != corev1.PullIfNotPresent {
		t.Errorf("containers %+v", p.Spec.Containers)
	}
	if f := r.Selectable(p); f["spec.restartPolicy"] != "Always" || f["spec.schedulerName"] != "default-scheduler" || f["spec.hostNetwork"] != "false" {
		t.Errorf("fields %v", f)
	}
}

func TestPodStatusUpdate(t *testing.T) {
	old, obj := &corev1.Pod{}, &corev1.Pod{}
	old.OwnerReferences = []metav1.OwnerReference{{Name: "o"}}
	old.Status = corev1.PodStatus{QOSClass: corev1.PodQOSBurstable, ObservedGeneration: 3,
		Conditions: []corev1.PodCondition{{Type: "A", ObservedGeneration: 1}, {Type: "A", ObservedGeneration: 2}}}
	obj.Status.Conditions = []corev1.PodCondition{{Type: "A"}, {Type: "A"}, {Type: "A"}, {Type: "B"}}
	r := Pod(nil, time.Now)
	r.Status.Prepare(r.NewWrite(api.Attempt{Status: true}, obj, old))
	if len(obj.OwnerReferences) != 1 || obj.Status.QOSClass != corev1.PodQOSBurstable || obj.Status.ObservedGeneration != 3 {
		t.Errorf("got %+v", obj)
	}
	for i, want := range []int64{1, 2, 0, 0} {
		if got := obj.Status.Conditions[i].ObservedGeneration; got != want {
			t.Errorf("condition %d: got %d, want %d", i, got, want)
		}
	}
}

// TestInitContainerNames checks that an init container without a name does not hide that a
// later one has the name of the eighth container.
func TestInitContainerNames(t *testing.T) {
	p := &corev1.Pod{}
	for i := range 8 {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "c" + strconv.Itoa(i)})
	}
	p.Spec.InitContainers = []corev1.Container{{}, {}, {Name: "c7"}}
	var duplicates []string
	for _, err := range validation.Check(func(at *validation.Path) { newPodRules(at, p) }) {
		if err.Type == field.ErrorTypeDuplicate {
			duplicates = append(duplicates, err.Field)
		}
	}
	if want := []string{"spec.initContainers[2].name"}; !slices.Equal(duplicates, want) {
		t.Errorf("duplicates %v, want %v", duplicates, want)
	}
}

// TestAnnotatedAppArmor checks that the profile in an annotation becomes a field of the container
// unless the pod has the same profile, and which annotations have a warning.
func TestAnnotatedAppArmor(t *testing.T) {
	const key = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "c"
	unconfined := &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	for _, c := range []struct {
		value       string
		ofPod, want *corev1.AppArmorProfile
		warns       bool
	}{
		{"unconfined", nil, unconfined, true},
		{"unconfined", unconfined, nil, false},
		{"runtime/default", unconfined, &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}, true},
		{"localhost/p", nil, &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: new("p")}, true},
		{"localhost/ p", nil, nil, true},
		{"other", nil, nil, true},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}, {Name: "d"}}, SecurityContext: &corev1.PodSecurityContext{AppArmorProfile: c.ofPod}}}
		p.Annotations = map[string]string{key: c.value}
		warnings := appArmorWarnings(p)
		r := Pod(features.Default(), time.Now)
		r.Prepare(r.NewWrite(api.Attempt{}, p, nil))
		var got *corev1.AppArmorProfile
		if s := p.Spec.Containers[0].SecurityContext; s != nil {
			got = s.AppArmorProfile
		}
		if !equality.Semantic.DeepEqual(got, c.want) || (len(warnings) == 1) != c.warns || p.Spec.Containers[1].SecurityContext != nil {
			t.Errorf("%s: got %v and warnings %q, want %v", c.value, got, warnings, c.want)
		}
	}
}

// TestPodResourcesFromContainers checks the defaults of resources at pod level.
func TestPodResourcesFromContainers(t *testing.T) {
	list := func(amounts ...string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for i := 0; i < len(amounts); i += 2 {
			out[corev1.ResourceName(amounts[i])] = resource.MustParse(amounts[i+1])
		}
		return out
	}
	of := func(requests, limits corev1.ResourceList) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: requests, Limits: limits}
	}
	for name, c := range map[string]struct {
		pod, a, b, want corev1.ResourceRequirements
		before          corev1.ResourceRequirements // with the defaults of Kubernetes 1.36
	}{
		"nothing at pod level":       {a: of(list("cpu", "1"), list("cpu", "1"))},
		"requests of containers":     {of(nil, list("cpu", "4")), of(list("cpu", "1"), nil), of(list("cpu", "1", "memory", "1Gi"), nil), of(list("cpu", "2", "memory", "1Gi"), list("cpu", "4")), of(list("cpu", "2", "memory", "1Gi"), list("cpu", "4"))},
		"requests from limits":       {of(nil, list("cpu", "4")), of(nil, nil), of(nil, nil), of(list("cpu", "4"), list("cpu", "4")), of(list("cpu", "4"), list("cpu", "4"))},
		"limits of all containers":   {of(list("cpu", "1"), nil), of(nil, list("cpu", "1")), of(nil, list("cpu", "2")), of(list("cpu", "1"), list("cpu", "3")), of(list("cpu", "1"), nil)},
		"no limits of one container": {of(list("cpu", "1"), nil), of(nil, list("cpu", "1")), of(nil, nil), of(list("cpu", "1"), nil), of(list("cpu", "1"), nil)},
		"not below the request":      {of(list("cpu", "5"), nil), of(nil, list("cpu", "1")), of(nil, list("cpu", "2")), of(list("cpu", "5"), list("cpu", "5")), of(list("cpu", "5"), nil)},
		"huge pages":                 {of(nil, list("cpu", "1")), of(nil, list("hugepages-2Mi", "2Mi")), of(nil, nil), of(list("cpu", "1", "hugepages-2Mi", "2Mi"), list("cpu", "1", "hugepages-2Mi", "2Mi")), of(list("cpu", "1", "hugepages-2Mi", "2Mi"), list("cpu", "1", "hugepages-2Mi", "2Mi"))},
	} {
		for _, test := range []struct {
			level podLevel
			want  corev1.ResourceRequirements
		}{{podLevelOf(features.Default()), c.want}, {podLevel{}, c.before}} {
			s := &corev1.PodSpec{Resources: c.pod.DeepCopy(), Containers: []corev1.Container{{Resources: c.a}, {Resources: c.b}}}
			test.level.setDefaults(s)
			test.level.complete(s)
			if !equality.Semantic.DeepEqual(*s.Resources, test.want) {
				t.Errorf("%s, %+v: got %v, want %v", name, test.level, s.Resources, test.want)
			}
		}
	}
}

// TestOldClients checks that a client which does not send fields that it does not know removes none
// of them.
func TestOldClients(t *testing.T) {
	old := &corev1.Pod{
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c"}},
			Resources:  &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}},
		},
		Status: corev1.PodStatus{
			ResourceClaimStatuses:       []corev1.PodResourceClaimStatus{{Name: "a"}},
			ExtendedResourceClaimStatus: &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "a"},
		},
	}
	for name, prepare := range map[string]func(p, old *corev1.Pod){"update": podLevelOf(features.Default()).keep, "resize": keepButResources(podLevelOf(features.Default()), features.Default())} {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
		if prepare(p, old); p.Spec.Resources == nil || p.Spec.Resources.Limits.Cpu().IsZero() {
			t.Errorf("%s: resources %v", name, p.Spec.Resources)
		}
	}
	p := &corev1.Pod{}
	// Values of features stay in new ephemeral containers.
	p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{}}
	p.Spec.EphemeralContainers[0].SecurityContext = &corev1.SecurityContext{ProcMount: new(corev1.UnmaskedProcMount)}
	if keepButEphemeralContainers(p, old); *p.Spec.EphemeralContainers[0].SecurityContext.ProcMount != corev1.UnmaskedProcMount {
		t.Errorf("ephemeral container %+v", p.Spec.EphemeralContainers[0].SecurityContext)
	}
	p = &corev1.Pod{}
	preparePodStatus(p, old)
	if p.Status.ExtendedResourceClaimStatus == nil || len(p.Status.ResourceClaimStatuses) != 1 {
		t.Errorf("status %+v", p.Status)
	}
	p = &corev1.Pod{Status: corev1.PodStatus{ResourceClaimStatuses: []corev1.PodResourceClaimStatus{}}}
	if preparePodStatus(p, old); len(p.Status.ResourceClaimStatuses) != 0 {
		t.Errorf("an empty list does not remove statuses: %+v", p.Status)
	}
}

// TestLogStreams checks the option stream of logs, which needs a gate.
func TestLogStreams(t *testing.T) {
	const mutuallyExclusive = "[]: Forbidden: `tailLines` and specific `stream` are mutually exclusive for now"
	for _, c := range []struct {
		query   url.Values
		on, off string
	}{
		{url.Values{}, "", ""},
		{url.Values{"tailLines": {"3"}}, "", ""},
		{url.Values{"stream": {"Stdout"}}, "", "stream: Forbidden: may not be specified"},
		{url.Values{"stream": {"All"}, "tailLines": {"3"}}, "", "stream: Forbidden: may not be specified"},
		{url.Values{"stream": {"Stderr"}, "tailLines": {"3"}}, mutuallyExclusive, "stream: Forbidden: may not be specified"},
		{url.Values{"stream": {"stdout"}}, `stream: Unsupported value: "stdout": supported values: "All", "Stderr", "Stdout"`, "stream: Forbidden: may not be specified"},
	} {
		for enabled, want := range map[bool]string{true: c.on, false: c.off} {
			o, err := logOptions(c.query, "")
			if err != nil {
				t.Fatal(err)
			}
			defaultStream(o, enabled)
			got := ""
			if err := validateLogOptions(o, enabled).ToAggregate(); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%v, enabled %t: got %q, want %q", c.query, enabled, got, want)
			}
			if stream := logQuery(o).Get("stream"); enabled && c.query.Get("stream") == "" && stream != "All" || !enabled && stream != c.query.Get("stream") {
				t.Errorf("%v, enabled %t: the kubelet gets the stream %q", c.query, enabled, stream)
			}
		}
	}
}
