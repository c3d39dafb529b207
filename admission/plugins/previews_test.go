package plugins

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/admissiontest"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// TestGatedPlugins checks that plugins for kinds that are not served handle nothing, whatever gates
// are enabled.
func TestGatedPlugins(t *testing.T) {
	off, on := admissiontest.Objects(t), admissiontest.PreviewObjects(t)
	all := admissiontest.Gates(t, "AllAlpha", "AllBeta")
	if p := newPlugin(t, "PodGroupProtection", Config{Objects: off, Gates: all}); len(p.Handles) != 0 {
		t.Errorf("PodGroupProtection handles %v of a server without its kind", p.Handles)
	}
	if p := newPlugin(t, "PodGroupProtection", Config{Objects: on, Gates: all}); len(p.Handles) != 1 {
		t.Errorf("PodGroupProtection handles %v of a server with its kind", p.Handles)
	}
	handlesGroups := func(o *admission.Objects, g features.Gates) bool {
		return slices.ContainsFunc(newPlugin(t, "Priority", Config{Objects: o, Gates: g}).Handles, func(h admission.Handles) bool { return slices.Contains(h.Resources, podGroups()[0]) })
	}
	if handlesGroups(on, features.Default()) || handlesGroups(off, all) || !handlesGroups(on, all) {
		t.Error("priorities of pod groups do not follow their gate and kind")
	}
}

// TestPluginsOfServedKinds checks that each resource a plugin names is served. It leaves out
// plugins that require a configuration file.
func TestPluginsOfServedKinds(t *testing.T) {
	for name, o := range map[string]*admission.Objects{"default": admissiontest.Objects(t), "all": admissiontest.PreviewObjects(t)} {
		g := features.Default()
		if name == "all" {
			g = admissiontest.Gates(t, "AllAlpha", "AllBeta")
		}
		for _, e := range registrations() {
			if e.build == nil || e.name == "EventRateLimit" || e.name == "ImagePolicyWebhook" {
				continue
			}
			for _, h := range newPlugin(t, e.name, Config{Objects: o, Gates: g}).Handles {
				for _, r := range h.Resources {
					r.Resource, _, _ = strings.Cut(r.Resource, "/")
					if !o.Serves(r) {
						t.Errorf("%s, server %s: it handles %s, which is not served", e.name, name, r)
					}
				}
			}
		}
	}
}

func TestTrustBundleAttest(t *testing.T) {
	bundle := func(signer, text string) *certificatesv1.ClusterTrustBundle {
		return &certificatesv1.ClusterTrustBundle{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: certificatesv1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: text}}
	}
	allowed := func(_ context.Context, _ *request.User, info *request.Info) (bool, string, error) {
		return info.Verb == "attest" && info.Name == "example.com/s", "", nil
	}
	p := newPlugin(t, "ClusterTrustBundleAttest", Config{Objects: admissiontest.Objects(t), Allowed: allowed})
	const refused = `user not permitted to attest for signerName "example.com/t"`
	for name, c := range map[string]struct {
		is, was api.Object
		want    string
	}{
		"nobody's":     {bundle("", "x"), nil, ""},
		"its signer's": {bundle("example.com/s", "x"), nil, ""},
		"another's":    {bundle("example.com/t", "x"), nil, refused},
		"changed":      {bundle("example.com/t", "x"), bundle("example.com/t", "y"), refused},
		"unchanged":    {bundle("example.com/t", "x"), bundle("example.com/t", "x"), ""},
	} {
		if got := admissiontest.Run(t, p, admissiontest.Write(t, "create", "clustertrustbundles", c.is, c.was)); !strings.HasSuffix(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestPodGroupPlugins(t *testing.T) {
	c := Config{Objects: admissiontest.PreviewObjects(t, admissiontest.Namespace(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100, PreemptionPolicy: new(corev1.PreemptLowerPriority)}),
		Gates: admissiontest.Gates(t, "GenericWorkload")}
	g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}, Spec: schedulingv1beta1.PodGroupSpec{
		PriorityClassName: "high", SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}}}
	protection := newPlugin(t, "PodGroupProtection", c)
	for range 2 {
		if got := admissiontest.Run(t, protection, admissiontest.Write(t, "create", "podgroups", g, nil)); got != "" || !slices.Equal(g.Finalizers, []string{"scheduling.k8s.io/podgroup-protection"}) {
			t.Errorf("%q %q", got, g.Finalizers)
		}
	}
	prio := newPlugin(t, "Priority", c)
	if got := admissiontest.Run(t, prio, admissiontest.Write(t, "create", "podgroups", g, nil)); got != "" || *g.Spec.Priority != 100 {
		t.Errorf("%q %v", got, g.Spec.Priority)
	}
	if g.Spec.PreemptionPolicy != nil {
		t.Errorf("a preemption policy without its gate: %q", *g.Spec.PreemptionPolicy)
	}
	c.Gates = admissiontest.Gates(t, "GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup", "PodGroupPreemptionPolicy")
	gated := newPlugin(t, "Priority", c)
	composite := &schedulingv1alpha3.CompositePodGroup{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
	composite.Spec.PriorityClassName = "high"
	if got := admissiontest.Run(t, gated, admissiontest.Write(t, "create", "compositepodgroups", composite, nil)); got != "" || *composite.Spec.Priority != 100 || *composite.Spec.PreemptionPolicy != "PreemptLowerPriority" {
		t.Errorf("%q %+v", got, composite.Spec)
	}
	composite.Spec.PreemptionPolicy = new(schedulingv1alpha3.PreemptionPolicy("Never"))
	if got := admissiontest.Run(t, gated, admissiontest.Write(t, "create", "compositepodgroups", composite, nil)); !strings.HasSuffix(got, "preemptionPolicy set in the composite pod group (Never) must match the preemptionPolicy computed (PreemptLowerPriority) based on the priority class set in the spec") {
		t.Error(got)
	}
	g.Spec.Priority = new(int32(7))
	if got := admissiontest.Run(t, prio, admissiontest.Write(t, "create", "podgroups", g, nil)); !strings.HasSuffix(got, "priority set in the pod group (7) must match the priority computed (100) based on the priority class set in the spec") {
		t.Error(got)
	}
}

func TestPodResizeValidators(t *testing.T) {
	node := func(name, system, memory string, declared ...string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/os": system}},
			Status: corev1.NodeStatus{DeclaredFeatures: declared, Allocatable: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse(memory)}}}
	}
	sized := func(node, cpu, memory string) *corev1.Pod {
		return admissiontest.Pod(func(p *corev1.Pod) {
			p.Spec.NodeName = node
			p.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("100m")}
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}
		})
	}
	initial := func(node, cpu string) *corev1.Pod {
		p := sized(node, "1", "1Gi")
		p.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}
		return p
	}
	whole := func(node, cpu string) *corev1.Pod {
		p := sized(node, "1", "1Gi")
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}
		return p
	}
	objects := admissiontest.Objects(t, node("n1", "linux", "4Gi"), node("win", "windows", "4Gi"), node("new", "linux", "4Gi", "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"))
	c := Config{Objects: objects, Gates: features.Default()}
	for name, test := range map[string]struct {
		plugin  string
		is, was *corev1.Pod
		want    string
	}{
		"fits":             {"PodResizeValidator", sized("n1", "1900m", "4Gi"), sized("n1", "1", "1Gi"), ""},
		"too much":         {"PodResizeValidator", sized("n1", "1901m", "5Gi"), sized("n1", "1", "1Gi"), "node didn't have enough allocatable resources: cpu, requested: 2001, allocatable: 2000; memory, requested: 5368709120, allocatable: 4294967296"},
		"windows":          {"PodResizeValidator", sized("win", "1", "2Gi"), sized("win", "1", "1Gi"), `pod resize is only supported on linux nodes, node "win" is "windows"`},
		"no node":          {"PodResizeValidator", sized("n9", "1", "2Gi"), sized("n9", "1", "1Gi"), `node "n9" not found`},
		"nowhere":          {"PodResizeValidator", sized("", "9", "2Gi"), sized("", "1", "1Gi"), ""},
		"unchanged":        {"PodResizeValidator", sized("n9", "1", "1Gi"), sized("n9", "1", "1Gi"), ""},
		"init, undeclared": {"NodeDeclaredFeatureValidator", initial("n1", "2"), initial("n1", "1"), `pod update requires features InPlacePodVerticalScalingInitContainers which are not available on node "n1"`},
		"init, declared":   {"NodeDeclaredFeatureValidator", initial("new", "2"), initial("new", "1"), ""},
		"pod, undeclared":  {"NodeDeclaredFeatureValidator", whole("n1", "2"), whole("n1", "1"), `pod update requires features InPlacePodLevelResourcesVerticalScaling which are not available on node "n1"`},
		"pod, declared":    {"NodeDeclaredFeatureValidator", whole("new", "2"), whole("new", "1"), ""},
		"needs nothing":    {"NodeDeclaredFeatureValidator", sized("n9", "2", "1Gi"), sized("n9", "1", "1Gi"), ""},
	} {
		if got := admissiontest.Run(t, newPlugin(t, test.plugin, c), admissiontest.Write(t, "update", "pods/resize", test.is, test.was)); (got == "") != (test.want == "") || !strings.HasSuffix(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestFeaturesOfChange compares the node features that the resize of a pod requires with those that the
// library of kube-apiserver infers.
func TestFeaturesOfChange(t *testing.T) {
	const was = `{"resources":{"requests":{"cpu":"1"}},
		"initContainers":[{"name":"i","resources":{"requests":{"cpu":"1"}}},{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}],
		"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}],
		"volumes":[{"name":"m","emptyDir":{"medium":"Memory","sizeLimit":"1Mi"}}]}`
	spec := func(text string) (s *corev1.PodSpec) {
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	of, initial, memory := "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers", "InPlacePodVerticalScalingMemoryBackedVolumes"
	for name, test := range map[string]struct {
		change func(*corev1.PodSpec)
		want   []string
	}{
		"a container": {func(s *corev1.PodSpec) { s.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2") }, nil},
		"a sidecar":   {func(s *corev1.PodSpec) { s.InitContainers[1].Resources.Requests["cpu"] = resource.MustParse("2") }, nil},
		"a volume":    {func(s *corev1.PodSpec) { s.Volumes[0].EmptyDir.SizeLimit = new(resource.MustParse("2Mi")) }, []string{memory}},
		"all": {func(s *corev1.PodSpec) {
			s.Resources.Requests["cpu"] = resource.MustParse("2")
			s.InitContainers[0].Resources.Requests["cpu"] = resource.MustParse("2")
			s.Volumes[0].EmptyDir.SizeLimit = new(resource.MustParse("512Ki"))
		}, []string{of, initial, memory}},
	} {
		before, after := spec(was), spec(was)
		test.change(after)
		f := nodedeclaredfeatures.DefaultFramework
		set, err := f.InferForPodUpdate(&nodedeclaredfeatures.PodInfo{Spec: before}, &nodedeclaredfeatures.PodInfo{Spec: after}, version.MustParse("1.37.0"))
		if err != nil {
			t.Fatal(err)
		}
		inferred, err := f.Unmap(set)
		if err != nil {
			t.Fatal(err)
		}
		if got := featuresOfChange(after, before); !slices.Equal(got, test.want) || !slices.Equal(inferred, test.want) {
			t.Errorf("%s: %q, want %q; the library infers %q", name, got, test.want, inferred)
		}
	}
}

// TestDevicesThatCountAsNodeResources checks that the nodes of such devices declare their support.
func TestDevicesThatCountAsNodeResources(t *testing.T) {
	const feature = "DRANodeAllocatableResources"
	node := func(name, zone string, declared ...string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": zone, "size": "5"}}, Status: corev1.NodeStatus{DeclaredFeatures: declared}}
	}
	objects := admissiontest.Objects(t, node("old", "a"), node("new", "b", feature))
	selects := func(key string, o corev1.NodeSelectorOperator, values ...string) *corev1.NodeSelector {
		return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: o, Values: values}}}}}
	}
	byName := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"new"}}}}}}
	counted := resourcev1.Device{Name: "d", NodeAllocatableResources: map[corev1.ResourceName]resourcev1.NodeAllocatableResource{"cpu": {}}}
	on := func(name string) *resourcev1.Device {
		d := counted
		d.NodeName = &name
		return &d
	}
	c := Config{Objects: objects, Gates: admissiontest.Gates(t, "NodeDeclaredFeatures")}
	if n := len(newPlugin(t, "NodeDeclaredFeatureValidator", c).Handles); n != 1 {
		t.Errorf("without its gate the plugin handles more than pods: %d", n)
	}
	c.Gates = admissiontest.Gates(t, "NodeDeclaredFeatures", feature)
	const unsupported = `node "old" does not support DRANodeAllocatableResources feature`
	for name, test := range map[string]struct {
		spec   resourcev1.ResourceSliceSpec
		device *resourcev1.Device
		want   string
	}{
		"declared":             {resourcev1.ResourceSliceSpec{NodeName: new("new")}, &counted, ""},
		"undeclared":           {resourcev1.ResourceSliceSpec{NodeName: new("old")}, &counted, unsupported},
		"missing":              {resourcev1.ResourceSliceSpec{NodeName: new("x")}, &counted, `node "x" not found for device "d"`},
		"another device":       {resourcev1.ResourceSliceSpec{NodeName: new("old")}, &resourcev1.Device{Name: "d"}, ""},
		"all nodes":            {resourcev1.ResourceSliceSpec{AllNodes: new(true)}, &counted, unsupported},
		"selected":             {resourcev1.ResourceSliceSpec{NodeSelector: selects("zone", "In", "a", "b")}, &counted, unsupported},
		"selected otherwise":   {resourcev1.ResourceSliceSpec{NodeSelector: selects("zone", "NotIn", "a")}, &counted, ""},
		"selected by a number": {resourcev1.ResourceSliceSpec{NodeSelector: selects("size", "Gt", "4")}, &counted, unsupported},
		"selected by a word": {resourcev1.ResourceSliceSpec{NodeSelector: selects("size", "Gt", "many")}, &counted,
			`failed to create node selector: nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "many": for 'Gt', 'Lt' operators, the value must be an integer`},
		"too small":               {resourcev1.ResourceSliceSpec{NodeSelector: selects("size", "Lt", "5")}, &counted, ""},
		"without a label":         {resourcev1.ResourceSliceSpec{NodeSelector: selects("x", "DoesNotExist")}, &counted, unsupported},
		"with a label":            {resourcev1.ResourceSliceSpec{NodeSelector: selects("x", "Exists")}, &counted, ""},
		"selected by name":        {resourcev1.ResourceSliceSpec{NodeSelector: byName}, &counted, ""},
		"by device, declared":     {resourcev1.ResourceSliceSpec{PerDeviceNodeSelection: new(true)}, on("new"), ""},
		"by device, undeclared":   {resourcev1.ResourceSliceSpec{PerDeviceNodeSelection: new(true)}, on("old"), unsupported},
		"no node for this device": {resourcev1.ResourceSliceSpec{PerDeviceNodeSelection: new(true)}, &counted, `device "d" in ResourceSlice has NodeAllocatableResources but does not map to any nodes`},
	} {
		test.spec.Devices = []resourcev1.Device{*test.device}
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: test.spec}
		for _, verb := range []string{"create", "update"} {
			if got := admissiontest.Run(t, newPlugin(t, "NodeDeclaredFeatureValidator", c), admissiontest.Write(t, verb, "resourceslices", slice, slice)); (got == "") != (test.want == "") || !strings.HasSuffix(got, test.want) {
				t.Errorf("%s, %s: %q, want %q", name, verb, got, test.want)
			}
		}
	}
}
