package quota

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

func amounts(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func container(name string, requests, limits corev1.ResourceList) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
}

// TestPodUsage checks the usage of containers, init containers, sidecars, overhead, and of pods whose
// resize is in progress.
func TestPodUsage(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	sidecar := container("s", amounts("cpu", "1"), nil)
	sidecar.RestartPolicy = &always
	one := corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "1"), nil)}}
	limited := corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "0"), amounts("cpu", "0"))}, Overhead: amounts("cpu", "1")}
	allocated := func(cpu string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "a", AllocatedResources: amounts("cpu", cpu)}}}
	}
	running := corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "a",
		Resources: &corev1.ResourceRequirements{Requests: amounts("cpu", "3"), Limits: amounts("cpu", "5")}}}}
	infeasible := allocated("1")
	infeasible.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible}}
	for name, tt := range map[string]struct {
		spec   corev1.PodSpec
		status corev1.PodStatus
		want   string
	}{
		"allocated more than requested": {one, allocated("4"), "cpu=4,requests.cpu=4"},
		"allocated less than requested": {one, allocated("500m"), "cpu=1,requests.cpu=1"},
		"running with more":             {one, running, "cpu=3,limits.cpu=5,requests.cpu=3"},
		"infeasible resize": {corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "9"), nil)}}, infeasible,
			"cpu=1,requests.cpu=1"},
		"overhead beside a limit of zero": {limited, corev1.PodStatus{}, "cpu=1,limits.cpu=0,requests.cpu=1"},
	} {
		used := podUsage(&corev1.Pod{Spec: tt.spec, Status: tt.status}, time.Now(), Exclusions{})
		delete(used, "count/pods")
		delete(used, "pods")
		if got := formatAmounts(used); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	for _, tt := range []struct {
		spec corev1.PodSpec
		want string
	}{
		{corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "1"), nil), container("b", amounts("cpu", "2"), nil)}}, "cpu=3"},
		{corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "1"), nil)},
			InitContainers: []corev1.Container{container("i", amounts("cpu", "4"), nil), container("j", amounts("cpu", "2"), nil)}}, "cpu=4"},
		{corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "1"), nil)}, InitContainers: []corev1.Container{sidecar}}, "cpu=2"},
		{corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "1"), nil)},
			InitContainers: []corev1.Container{sidecar, container("i", amounts("cpu", "4"), nil)}}, "cpu=5"},
		{corev1.PodSpec{Containers: []corev1.Container{container("a", amounts("cpu", "1"), nil)},
			Resources: &corev1.ResourceRequirements{Requests: amounts("cpu", "9")}}, "cpu=9"},
	} {
		used := podUsage(&corev1.Pod{Spec: tt.spec}, time.Now(), Exclusions{})
		if got := formatAmounts(mask(used, []corev1.ResourceName{"cpu"})); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// TestCheck compares writes with quotas.
func TestCheck(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: corev1.PodStatus{QOSClass: corev1.PodQOSBestEffort},
			Spec: corev1.PodSpec{Containers: []corev1.Container{container("main", nil, nil)}}}
		if change != nil {
			change(p)
		}
		return p
	}
	claim := func(size string) *corev1.PersistentVolumeClaim {
		class := "fast"
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}, Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, Resources: corev1.VolumeResourceRequirements{Requests: amounts("storage", size)}}}
	}
	pods, claims := corev1.Resource("pods"), corev1.Resource("persistentvolumeclaims")
	for _, tt := range []struct {
		gr          schema.GroupResource
		object, old api.Object
		hard, used  corev1.ResourceList
		scopes      []corev1.ResourceQuotaScope
		want        string
	}{
		{pods, pod(nil), nil, amounts("pods", "2"), amounts("pods", "1"), nil, "pods=1"},
		{pods, pod(nil), nil, amounts("pods", "1"), amounts("pods", "1"), nil, "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"},
		{pods, pod(nil), nil, amounts("pods", "1"), nil, nil, "status unknown for quota: q, resources: pods"},
		{pods, pod(nil), nil, amounts("services", "0"), amounts("services", "0"), nil, ""},
		{pods, pod(nil), nil, amounts("cpu", "1", "limits.memory", "1"), amounts("cpu", "0", "limits.memory", "0"), nil,
			"failed quota: q: must specify cpu for: main; limits.memory for: main"},
		{pods, pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), nil, amounts("pods", "0", "count/pods", "1"), amounts("pods", "0", "count/pods", "0"), nil, "count/pods=1"},
		{pods, pod(nil), nil, amounts("pods", "1"), amounts("pods", "1"), []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotBestEffort}, ""},
		{pods, pod(nil), nil, amounts("pods", "1"), amounts("pods", "0"), []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotTerminating}, "pods=1"},
		{pods, pod(func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = amounts("example.com/gpu", "2") }), nil,
			amounts("requests.example.com/gpu", "1"), amounts("requests.example.com/gpu", "0"), nil,
			"exceeded quota: q, requested: requests.example.com/gpu=2, used: requests.example.com/gpu=0, limited: requests.example.com/gpu=1"},
		{claims, claim("2Gi"), claim("1Gi"), amounts("requests.storage", "5Gi", "persistentvolumeclaims", "1"), amounts("requests.storage", "1Gi", "persistentvolumeclaims", "1"), nil, "requests.storage=1Gi"},
		{claims, claim("1Gi"), claim("2Gi"), amounts("requests.storage", "0"), amounts("requests.storage", "2Gi"), nil, ""},
		{claims, claim("2Gi"), nil, amounts("fast.storageclass.storage.k8s.io/requests.storage", "1Gi"), amounts("fast.storageclass.storage.k8s.io/requests.storage", "0"), nil,
			"exceeded quota: q, requested: fast.storageclass.storage.k8s.io/requests.storage=2Gi, used: fast.storageclass.storage.k8s.io/requests.storage=0, limited: fast.storageclass.storage.k8s.io/requests.storage=1Gi"},
		{claims, claim("2Gi"), nil, amounts("slow.storageclass.storage.k8s.io/requests.storage", "1Gi"), amounts("slow.storageclass.storage.k8s.io/requests.storage", "0"), nil, ""},
		{schema.GroupResource{Group: "apps", Resource: "deployments"}, pod(nil), nil, nil, nil, nil, ""},
	} {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: tt.hard, Scopes: tt.scopes},
			Status: corev1.ResourceQuotaStatus{Hard: tt.hard, Used: tt.used}}
		c, err := newCharge(tt.gr, tt.object, tt.old, time.Now(), Exclusions{})
		if err != nil {
			t.Fatal(err)
		}
		more, err := c.Check(q)
		got := formatAmounts(more)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s under %s: %s, want %s", tt.gr, formatAmounts(tt.hard), got, tt.want)
		}
	}
}

// TestCheckMove checks what an update adds to a quota: all usage of an object that it moves into the
// scopes, the increase of one that was in scope, nothing for one that leaves.
func TestCheckMove(t *testing.T) {
	deadline := int64(60)
	short, long := &corev1.Pod{}, &corev1.Pod{}
	for _, p := range []*corev1.Pod{short, long} {
		p.ResourceVersion = "1"
		p.Spec.Containers = []corev1.Container{container("main", amounts("cpu", "2"), nil)}
	}
	short.Spec.ActiveDeadlineSeconds = &deadline
	larger := long.DeepCopy()
	larger.Spec.Containers[0].Resources.Requests = amounts("cpu", "3")
	claim := func(class string, modified *corev1.ModifyVolumeStatus) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"},
			Spec: corev1.PersistentVolumeClaimSpec{VolumeAttributesClassName: &class}, Status: corev1.PersistentVolumeClaimStatus{ModifyVolumeStatus: modified}}
	}
	terminating := []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopeTerminating, Operator: corev1.ScopeSelectorOpExists}}
	lasting := []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopeNotTerminating, Operator: corev1.ScopeSelectorOpExists}}
	gold := []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopeVolumeAttributesClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"gold"}}}
	hard := amounts("pods", "2", "cpu", "4", "persistentvolumeclaims", "0")
	for name, tt := range map[string]struct {
		object, old api.Object
		scopes      []corev1.ScopedResourceSelectorRequirement
		unlimited   bool
		want        string
		affects     bool
	}{
		"into the scope":           {short, long, terminating, false, "cpu=2,pods=1", true},
		"out of the scope":         {short, long, lasting, false, "", true},
		"in a quota without scope": {short, long, nil, false, "", true},
		"more in the same scope":   {larger, long, lasting, false, "cpu=1", true},
		"less in the same scope":   {long, larger, lasting, false, "", true},
		"unchanged":                {long, long, nil, false, "", false},
		"to a class": {claim("gold", nil), claim("iron", nil), gold, false,
			"exceeded quota: q, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=0, limited: persistentvolumeclaims=0", true},
		"reported to be changed to a class": {claim("iron", &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: "gold"}), claim("iron", nil), gold, true,
			"persistentvolumeclaims=1", true},
	} {
		gr := corev1.Resource("pods")
		if _, isClaim := tt.object.(*corev1.PersistentVolumeClaim); isClaim {
			gr = corev1.Resource("persistentvolumeclaims")
		}
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Status: corev1.ResourceQuotaStatus{Hard: hard, Used: amounts("pods", "0", "cpu", "0", "persistentvolumeclaims", "0")},
			Spec: corev1.ResourceQuotaSpec{Hard: hard, ScopeSelector: &corev1.ScopeSelector{MatchExpressions: tt.scopes}}}
		c, err := newCharge(gr, tt.object, tt.old, time.Now(), Exclusions{})
		if err != nil {
			t.Fatal(err)
		}
		c.unlimited = tt.unlimited
		more, err := c.Check(q)
		got := formatAmounts(more)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
		if raises := c.raises([]*corev1.ResourceQuota{q}); raises != (tt.want != "") {
			t.Errorf("%s: raises %t", name, raises)
		}
		if got := Affects(gr, tt.old, tt.object, time.Now(), Exclusions{}); got != tt.affects {
			t.Errorf("%s: affects quotas: %t", name, got)
		}
	}
}

// TestScopeSelects checks the operators of scope selectors.
func TestScopeSelects(t *testing.T) {
	for _, tt := range []struct {
		operator corev1.ScopeSelectorOperator
		values   []string
		class    string
		want     bool
	}{
		{corev1.ScopeSelectorOpExists, nil, "high", true},
		{corev1.ScopeSelectorOpExists, nil, "", false},
		{corev1.ScopeSelectorOpDoesNotExist, nil, "", true},
		{corev1.ScopeSelectorOpIn, []string{"high"}, "high", true},
		{corev1.ScopeSelectorOpIn, []string{"high"}, "low", false},
		{corev1.ScopeSelectorOpNotIn, []string{"high"}, "low", true},
		{corev1.ScopeSelectorOpNotIn, []string{"high"}, "", true},
	} {
		s := corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: tt.operator, Values: tt.values}
		pod := &corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: tt.class}}
		if got, err := inScope(s, pod, Exclusions{}); err != nil || got != tt.want {
			t.Errorf("%s %v of %q: %t, %v", tt.operator, tt.values, tt.class, got, err)
		}
	}
}

// TestExclusions checks that resources at pod level and volume attributes classes do not count if their
// features are disabled.
func TestExclusions(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{container("a", amounts("cpu", "1"), nil)}, Resources: &corev1.ResourceRequirements{Requests: amounts("cpu", "9", "memory", "1")},
	}}
	claim := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeAttributesClassName: new("fast")}}
	scope := corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopeVolumeAttributesClass, Operator: corev1.ScopeSelectorOpExists}
	for enabled, want := range map[bool]struct {
		cpu, fault string
		inScope    bool
	}{true: {"9", "", true}, false: {"1", "must specify memory for: a", false}} {
		x := ExclusionsOf(features.Gates{features.PodLevelResources: enabled, features.VolumeAttributesClass: enabled})
		used := podUsage(pod, time.Now(), x)
		if got := used.Cpu().String(); got != want.cpu {
			t.Errorf("enabled %t: %s CPUs, want %s", enabled, got, want.cpu)
		}
		fault := ""
		if err := checkContainers(pod, []corev1.ResourceName{corev1.ResourceMemory}, x); err != nil {
			fault = err.Error()
		}
		if fault != want.fault {
			t.Errorf("enabled %t: got %q, want %q", enabled, fault, want.fault)
		}
		if in, err := inScope(scope, claim, x); in != want.inScope || err != nil {
			t.Errorf("enabled %t: the claim is in scope: %t, %v", enabled, in, err)
		}
	}
}
