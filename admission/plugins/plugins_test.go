package plugins

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/admissiontest"
	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// TestPodLimits checks that a limit range for pods counts CPU and memory at pod level, but not huge pages, and
// neither overhead nor what the node has allocated.
func TestPodLimits(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	for name, test := range map[string]struct {
		name, most string
		change     func(*corev1.Pod)
		want       string
	}{
		"sum":        {"cpu", "1", func(*corev1.Pod) {}, ""},
		"pod level":  {"cpu", "3", func(p *corev1.Pod) { p.Spec.Resources.Limits["cpu"] = resource.MustParse("4") }, "maximum cpu usage per Pod is 3, but limit is 4"},
		"huge pages": {"hugepages-2Mi", "2Mi", func(p *corev1.Pod) { p.Spec.Resources.Limits["hugepages-2Mi"] = resource.MustParse("4Mi") }, ""},
		"overhead":   {"cpu", "1", func(p *corev1.Pod) { p.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("1")} }, ""},
		"sidecar":    {"cpu", "1", func(p *corev1.Pod) { p.Spec.InitContainers[0].RestartPolicy = &always }, "maximum cpu usage per Pod is 1, but limit is 2"},
		"after a resize": {"cpu", "1", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", AllocatedResources: corev1.ResourceList{"cpu": resource.MustParse("4")}}}
		}, ""},
	} {
		one := corev1.ResourceList{"cpu": resource.MustParse("1"), "hugepages-2Mi": resource.MustParse("2Mi")}
		pod := admissiontest.Pod(func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{}}
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: p.Spec.Containers[0].Resources}}
		})
		test.change(pod)
		got := checkLimits(&corev1.LimitRange{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypePod, Max: corev1.ResourceList{corev1.ResourceName(test.name): resource.MustParse(test.most)},
		}}}}, pod, quota.Exclusions{})
		if got == nil && test.want != "" || got != nil && got.Error() != test.want {
			t.Errorf("%s: %v, want %q", name, got, test.want)
		}
	}
}

// TestPlugins compares decisions of single plugins with the responses of kube-apiserver.
func TestPlugins(t *testing.T) {
	list := func(amounts ...string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for i := 0; i < len(amounts); i += 2 {
			out[corev1.ResourceName(amounts[i])] = resource.MustParse(amounts[i+1])
		}
		return out
	}
	objects := admissiontest.Objects(t,
		admissiontest.Namespace(nodeSelectorAnnotation, "env=test", tolerationsListAnnotation, `[{"key":"a","operator":"Exists"},{"key":"node.kubernetes.io/memory-pressure","operator":"Exists"}]`),
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100},
		&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "heavy"}, Handler: "h", Overhead: &nodev1.Overhead{PodFixed: list("cpu", "1")}},
		&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "limits", Namespace: "ns"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Default: list("cpu", "500m"), DefaultRequest: list("cpu", "100m"), Max: list("cpu", "2"),
		}}}},
	)
	config := Config{Objects: objects, NotReadySeconds: 300, UnreachableSeconds: 300}
	for _, tt := range []struct {
		plugin, verb, resource string
		object, old            api.Object
		user                   string
		want                   string // end of the error message; empty if the request is admitted
		check                  func(*corev1.Pod) bool
	}{
		{plugin: "Priority", verb: "create", resource: "pods", object: admissiontest.Pod(nil), check: func(p *corev1.Pod) bool { return *p.Spec.Priority == 0 }},
		{plugin: "Priority", verb: "create", resource: "pods", object: admissiontest.Pod(func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" }),
			check: func(p *corev1.Pod) bool { return *p.Spec.Priority == 100 }},
		{plugin: "Priority", verb: "create", resource: "pods", object: admissiontest.Pod(func(p *corev1.Pod) { p.Spec.PriorityClassName = "none" }),
			want: "no PriorityClass with name none was found"},
		{plugin: "DefaultTolerationSeconds", verb: "create", resource: "pods", object: admissiontest.Pod(nil), check: func(p *corev1.Pod) bool { return len(p.Spec.Tolerations) == 2 }},
		{plugin: "DefaultTolerationSeconds", verb: "create", resource: "pods",
			object: admissiontest.Pod(func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }),
			check:  func(p *corev1.Pod) bool { return len(p.Spec.Tolerations) == 1 }},
		{plugin: "RuntimeClass", verb: "create", resource: "pods", object: admissiontest.Pod(func(p *corev1.Pod) { name := "heavy"; p.Spec.RuntimeClassName = &name }),
			check: func(p *corev1.Pod) bool { return p.Spec.Overhead.Cpu().String() == "1" }},
		{plugin: "RuntimeClass", verb: "create", resource: "pods", object: admissiontest.Pod(func(p *corev1.Pod) { name := ".."; p.Spec.RuntimeClassName = &name }),
			want: `invalid resource name "..": [may not be '..']`},
		{plugin: "RuntimeClass", verb: "create", resource: "pods", object: admissiontest.Pod(func(p *corev1.Pod) { p.Spec.Overhead = list("cpu", "1") }),
			want: "Pod Overhead set without corresponding RuntimeClass defined Overhead"},
		{plugin: "RuntimeClass", verb: "create", resource: "pods", object: admissiontest.Pod(func(p *corev1.Pod) { p.Spec.Overhead = corev1.ResourceList{} }),
			want: "Pod Overhead set without corresponding RuntimeClass defined Overhead"},
		{plugin: "LimitRanger", verb: "create", resource: "pods", object: admissiontest.Pod(nil), check: func(p *corev1.Pod) bool {
			return p.Annotations[limitRangerAnnotation] == "LimitRanger plugin set: cpu request for container main; cpu limit for container main"
		}},
		{plugin: "LimitRanger", verb: "create", resource: "pods", object: admissiontest.Pod(func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: list("cpu", "3"), Requests: list("cpu", "1")}
		}), want: "maximum cpu usage per Container is 2, but limit is 3"},
		{plugin: "PodNodeSelector", verb: "create", resource: "pods", object: admissiontest.Pod(nil), check: func(p *corev1.Pod) bool { return p.Spec.NodeSelector["env"] == "test" }},
		{plugin: "PodNodeSelector", verb: "create", resource: "pods", object: admissiontest.Pod(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"env": "prod"} }),
			want: "pod node label selector conflicts with its namespace node label selector"},
		{plugin: "PodTolerationRestriction", verb: "create", resource: "pods",
			object: admissiontest.Pod(func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: "b", Operator: corev1.TolerationOpExists}}
			}),
			want: "conflict with its namespace whitelist"},
		{plugin: "PodTolerationRestriction", verb: "create", resource: "pods",
			object: admissiontest.Pod(func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
			})},
		{plugin: "PodTolerationRestriction", verb: "create", resource: "pods", object: admissiontest.Pod(func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
			p.Spec.Containers[0].Resources.Requests = list("cpu", "1")
		}), check: func(p *corev1.Pod) bool { // what the plugin adds is last
			return len(p.Spec.Tolerations) == 2 && p.Spec.Tolerations[0].Key == "a" && p.Spec.Tolerations[1].Key == corev1.TaintNodeMemoryPressure
		}},
		{plugin: "AlwaysPullImages", verb: "create", resource: "pods", object: admissiontest.Pod(nil),
			check: func(p *corev1.Pod) bool { return p.Spec.Containers[0].ImagePullPolicy == corev1.PullAlways }},
		{plugin: "ExtendedResourceToleration", verb: "create", resource: "pods",
			object: admissiontest.Pod(func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests = list("example.com/gpu", "1", "cpu", "1")
			}),
			check: func(p *corev1.Pod) bool {
				return len(p.Spec.Tolerations) == 1 && p.Spec.Tolerations[0].Key == "example.com/gpu"
			}},
		{plugin: "LimitPodHardAntiAffinityTopology", verb: "create", resource: "pods", object: admissiontest.Pod(func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}}}}
		}), want: "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed"},
		{plugin: "DenyServiceExternalIPs", verb: "create", resource: "services", object: &corev1.Service{Spec: corev1.ServiceSpec{ExternalIPs: []string{"1.2.3.4"}}},
			want: "Use of external IPs is denied by admission control."},
		{plugin: "NodeRestriction", verb: "create", resource: "nodes", user: "system:node:n1",
			object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"node-role.kubernetes.io/x": "", "node.kubernetes.io/y": ""}}},
			want:   `node "n1" is not allowed to set the following labels: node-role.kubernetes.io/x`},
		{plugin: "NodeRestriction", verb: "create", resource: "nodes", user: "system:node:n1", object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}},
			want: `node "n1" is not allowed to modify node "n2"`},
		{plugin: "NodeRestriction", verb: "delete", resource: "pods", user: "system:node:n1", old: admissiontest.Pod(nil),
			want: `node "n1" can only delete pods with spec.nodeName set to itself`},
		{plugin: "NodeRestriction", verb: "delete", resource: "pods", user: "jane", old: admissiontest.Pod(nil)},
		{plugin: "ServiceAccount", verb: "create", resource: "pods", object: admissiontest.Pod(func(p *corev1.Pod) { p.Spec.ServiceAccountName = "nobody" }),
			want: `error looking up service account ns/nobody: serviceaccount "nobody" not found`},
		{plugin: "ServiceAccount", verb: "create", resource: "pods", object: admissiontest.Pod(func(p *corev1.Pod) { p.Spec.ServiceAccountName = "../a" }),
			want: `error looking up service account ns/../a: invalid resource name "../a": [may not contain '/']`},
		{plugin: "AlwaysDeny", verb: "create", resource: "pods", object: admissiontest.Pod(nil), want: "admission control is denying all modifications"},
		{plugin: "PodSecurity", verb: "create", resource: "namespaces", object: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "x"}}},
			want: "must be one of privileged, baseline, restricted"},
	} {
		a := admissiontest.Write(t, tt.verb, tt.resource, tt.object, tt.old)
		if tt.user != "" {
			a.User = &request.User{Name: tt.user, Groups: []string{"system:nodes"}}
		}
		got := admissiontest.Run(t, newPlugin(t, tt.plugin, config), a)
		if (got == "") != (tt.want == "") || !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s: %s %s: %q, want ... %q", tt.plugin, tt.verb, tt.resource, got, tt.want)
		}
		if tt.check != nil && !tt.check(tt.object.(*corev1.Pod)) {
			t.Errorf("%s: %+v", tt.plugin, tt.object)
		}
	}
}

// TestConflictingTolerations checks that a conflict with the tolerations that a namespace lists is an
// internal error already in mutating admission, as in kube-apiserver.
func TestConflictingTolerations(t *testing.T) {
	objects := admissiontest.Objects(t, admissiontest.Namespace(tolerationsListAnnotation, `[{"key":"a","operator":"Exists"}]`))
	pod := admissiontest.Pod(func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "b", Operator: corev1.TolerationOpExists}}
	})
	p := newPlugin(t, "PodTolerationRestriction", Config{Objects: objects})
	err := p.Mutate(t.Context(), admissiontest.Write(t, "create", "pods", pod, nil))
	if err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		t.Errorf("got %v", err)
	}
}

// TestSigners checks the rejection of users without permission, and permissions for all signers of
// a domain.
func TestSigners(t *testing.T) {
	allowed := admission.Allowed(func(_ context.Context, user *request.User, info *request.Info) (bool, string, error) {
		return user.Name == "one" && info.Name == "example.com/a" || user.Name == "domain" && info.Name == "example.com/*", "", nil
	})
	for user, want := range map[string]bool{"one": true, "domain": true, "none": false} {
		if got := maySigner(t.Context(), allowed, &request.User{Name: user}, "approve", "example.com/a"); got != want {
			t.Errorf("%s: %t", user, got)
		}
	}
}

func TestEventRateLimit(t *testing.T) {
	now := time.Unix(0, 0)
	b := &eventBuckets{limit: eventLimit{Type: "User", QPS: 2, Burst: 3, CacheSize: 2}, now: func() time.Time { return now }, tokens: lru.New(2)}
	taken := func(key string, n int) (got int) {
		for range n {
			if b.takeToken(key) {
				got++
			}
		}
		return got
	}
	if n := taken("a", 10); n != 3 {
		t.Errorf("burst: %d", n)
	}
	now = now.Add(time.Second)
	if n := taken("a", 10); n != 2 {
		t.Errorf("after a second: %d", n)
	}
	for i, key := range []string{"b", "c", "d"} {
		now = now.Add(time.Duration(i) * time.Millisecond)
		if taken(key, 1); b.tokens.Len() > 2 {
			t.Errorf("%d are remembered", b.tokens.Len())
		}
	}
	for _, file := range []string{"", "limits: [{type: Nobody, qps: 1, burst: 1}]", "limits: [{type: User, qps: 0, burst: 1}]"} {
		if _, err := readEventLimits([]byte(file)); err == nil {
			t.Errorf("%q is taken for a configuration", file)
		}
	}
}

// BenchmarkDefaultChain measures admission of creates with the default plugins: of a pod, which
// most of them handle, and of a ConfigMap.
func BenchmarkDefaultChain(b *testing.B) {
	objects := admissiontest.Objects(b, admissiontest.Namespace(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "ns"}},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100})
	c, err := New(Config{Objects: objects, NotReadySeconds: 300, UnreachableSeconds: 300})
	if err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct {
		resource string
		object   func() api.Object
	}{
		{"pods", func() api.Object { return admissiontest.Pod(nil) }},
		{"configmaps", func() api.Object { return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}} }},
	} {
		b.Run(bb.resource, func(b *testing.B) {
			ctx := request.With(b.Context(), &request.Scope{})
			like := admissiontest.Write(b, api.VerbCreate, bb.resource, nil, nil)
			b.ReportAllocs()
			for b.Loop() {
				a := &registry.Attributes{Verb: like.Verb, Resource: like.Resource, Version: like.Version, Namespace: "ns", Name: "x", User: like.User, Scope: request.From(ctx), Object: bb.object()}
				if err := c.Mutate(ctx, a); err != nil {
					b.Fatal(err)
				}
				if err := c.Validate(ctx, a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestCheckNames(t *testing.T) {
	for _, tt := range []struct {
		enable, disable []string
		want            string
	}{
		{nil, nil, ""},
		{[]string{"AlwaysDeny"}, []string{"Priority"}, ""},
		{[]string{"Nonsense"}, nil, `enable-admission-plugins plugin "Nonsense" is unknown`},
		{nil, []string{"Nonsense"}, `disable-admission-plugins plugin "Nonsense" is unknown`},
		{[]string{"Priority", "AlwaysDeny"}, []string{"AlwaysDeny", "Priority"}, `[AlwaysDeny Priority] in enable-admission-plugins and disable-admission-plugins overlapped`},
	} {
		got := ""
		if err := CheckNames(tt.enable, tt.disable); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%v %v: %q, want %q", tt.enable, tt.disable, got, tt.want)
		}
	}
}

// TestStorageProtectionOfClasses checks that volume attributes classes get a finalizer only if their
// feature is enabled.
func TestStorageProtectionOfClasses(t *testing.T) {
	for enabled, want := range map[bool][]string{true: {VACProtection}, false: nil} {
		plugin := newPlugin(t, "StorageObjectInUseProtection", Config{Objects: admissiontest.Objects(t), Gates: features.Gates{features.VolumeAttributesClass: enabled}})
		class := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
		if fault := admissiontest.Run(t, plugin, admissiontest.Write(t, api.VerbCreate, "volumeattributesclasses", class, nil)); fault != "" {
			t.Error(fault)
		}
		if got := class.Finalizers; !slices.Equal(got, want) {
			t.Errorf("enabled %t: finalizers %q, want %q", enabled, got, want)
		}
	}
}

// TestPluginsOfGates checks that a plugin does nothing if its gate is disabled.
func TestPluginsOfGates(t *testing.T) {
	denies := admission.Plugin{Name: "MutatingAdmissionPolicy", Handles: []admission.Handles{{Verbs: []string{api.VerbCreate}}},
		Mutate: func(context.Context, *registry.Attributes) error { return errors.New("it runs") }}
	for release, want := range map[string]string{"1.34": "", "1.35": "", "1.36": "it runs", "1.37": "it runs"} {
		gates, err := features.Emulated(kubeversion.Emulating(kubeversion.MustParse(release)), nil)
		if err != nil {
			t.Fatal(err)
		}
		plugin := newPlugin(t, denies.Name, Config{Objects: admissiontest.Objects(t), Plugins: []admission.Plugin{denies}, Gates: gates})
		if got := admissiontest.Run(t, plugin, admissiontest.Write(t, api.VerbCreate, "pods", admissiontest.Pod(nil), nil)); got != want {
			t.Errorf("%s: got %q, want %q", release, got, want)
		}
	}
}
