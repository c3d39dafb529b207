package gated

import (
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/gotype"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// programFor returns the program of a type with some gates disabled, and all others enabled.
func programFor(t testing.TB, obj runtime.Object, disabled ...string) *Program {
	t.Helper()
	table, err := New(func(gate string) bool { return !slices.Contains(disabled, gate) })
	if err != nil {
		t.Fatal(err)
	}
	p, err := table.Program(reflect.TypeOf(obj))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func podWithModes(modes ...*int32) *corev1.Pod {
	pod := &corev1.Pod{}
	for _, mode := range modes {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Mode: mode}}})
	}
	return pod
}

// TestDrop has an object, a stored object or nil, and what is left with the gate disabled.
func TestDrop(t *testing.T) {
	mode := new(int32(0o700))
	stopping := func(handler *corev1.LifecycleHandler, signal *corev1.Signal) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Lifecycle: &corev1.Lifecycle{PreStop: handler, StopSignal: signal}}}}}
	}
	withoutLifecycle := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{}}}}
	sleep := &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}
	elected := func(holder *string, strategy *coordinationv1.CoordinatedLeaseStrategy) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{PreferredHolder: holder, Strategy: strategy}}
	}
	node := func(rootless *bool) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{RunningInUserNamespace: rootless}}}
	}
	shared := func(capacity map[resourcev1.QualifiedName]resourcev1.DeviceCapacity) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Devices: []resourcev1.Device{{Capacity: capacity}}}}
	}
	userOf := func(policy *corev1.SupplementalGroupsPolicy, user *corev1.ContainerUser) *corev1.Pod {
		return &corev1.Pod{
			Spec:   corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{SupplementalGroupsPolicy: policy}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{User: user}}},
		}
	}
	mounted := func(status *corev1.VolumeStatus) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{VolumeMounts: []corev1.VolumeMountStatus{{VolumeStatus: status}}}}}}
	}
	strict, anyone := new(corev1.SupplementalGroupsPolicyStrict), &corev1.ContainerUser{}
	claimTemplate := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
		Spec: corev1.PersistentVolumeClaimSpec{VolumeAttributesClassName: new("fast")},
	}}}}
	failed := func(attach, detach *int32) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{Status: storagev1.VolumeAttachmentStatus{
			AttachError: &storagev1.VolumeError{ErrorCode: attach}, DetachError: &storagev1.VolumeError{ErrorCode: detach},
		}}
	}
	for _, c := range []struct {
		name, gate     string
		obj, old, want runtime.Object
	}{
		{"new", "EmptyDirVolumeMode", podWithModes(mode, nil), nil, podWithModes(nil, nil)},
		{"unused before", "EmptyDirVolumeMode", podWithModes(mode), podWithModes(nil), podWithModes(nil)},
		{"used elsewhere before", "EmptyDirVolumeMode", podWithModes(mode, mode), podWithModes(nil, mode), podWithModes(mode, mode)},
		{"another gate", "EvictionRequestAPI", podWithModes(mode), nil, podWithModes(mode)},
		{"emptied", "ContainerStopSignals", stopping(nil, new(corev1.SIGHUP)), nil, withoutLifecycle},
		{"not emptied", "ContainerStopSignals", stopping(sleep, new(corev1.SIGHUP)), nil, stopping(sleep, nil)},
		{"alone", "CoordinatedLeaderElection", elected(new("a"), new(coordinationv1.OldestEmulationVersion)), elected(new("b"), nil), elected(new("a"), nil)},
		{"only updates: new", "KubeletInUserNamespace", node(new(true)), nil, node(new(true))},
		{"only updates: changed", "KubeletInUserNamespace", node(new(true)), node(nil), node(nil)},
		{"in maps", "DRAConsumableCapacity", shared(map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"a": {RequestPolicy: &resourcev1.CapacityRequestPolicy{}}}), nil,
			shared(map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"a": {}})},
		{"kept by the spec", "SupplementalGroupsPolicy", userOf(strict, anyone), userOf(strict, nil), userOf(strict, anyone)},
		{"not kept by itself", "SupplementalGroupsPolicy", userOf(nil, anyone), userOf(nil, anyone), userOf(nil, nil)},
		{"an empty struct", "ImageVolumeWithDigest", mounted(&corev1.VolumeStatus{}), nil, mounted(nil)},
		{"kept by an empty struct", "ImageVolumeWithDigest", mounted(&corev1.VolumeStatus{}), mounted(&corev1.VolumeStatus{}), mounted(&corev1.VolumeStatus{})},
		{"in another kind", "VolumeAttributesClass", claimTemplate, nil, claimTemplate.DeepCopy()},
		{"one of two paths", "MutableCSINodeAllocatableCount", failed(new(int32(1)), new(int32(2))), failed(new(int32(3)), nil), failed(new(int32(1)), nil)},
	} {
		obj := c.obj.DeepCopyObject()
		p := programFor(t, obj, c.gate)
		switch {
		case p == nil:
		case c.old == nil:
			p.DropFromNew(obj)
		default:
			p.Drop(obj, c.old)
		}
		if !equality.Semantic.DeepEqual(obj, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, obj, c.want)
		}
	}
}

// TestDropFromSharedMemory checks that a stored object is not changed through memory that the
// changed object shares with it.
func TestDropFromSharedMemory(t *testing.T) {
	old := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{User: &corev1.ContainerUser{}}}}}
	obj := *old
	programFor(t, old, "SupplementalGroupsPolicy").Drop(&obj, old)
	if obj.Status.ContainerStatuses[0].User != nil || old.Status.ContainerStatuses[0].User == nil {
		t.Errorf("%+v, %+v", obj.Status, old.Status)
	}
}

// TestTables checks that the tables name fields and gates that exist, and that each exception
// changes something.
func TestTables(t *testing.T) {
	marked, err := readTables(markedText, "")
	if err != nil {
		t.Fatal(err)
	}
	known := features.Known(kubeversion.Default())
	names, err := Gates()
	if err != nil {
		t.Fatal(err)
	}
	gone := []string{
		"CSIStorageCapacity", "PodCertificateProjection", "TopologyAwareHints", // of versions that are no longer served
	}
	for _, name := range names {
		if _, ok := known[name]; !ok && !slices.Contains(gone, name) {
			t.Errorf("%s is no gate", name)
		}
	}
	for words := range linesOf(exceptionsText) {
		_, isMarked := marked[qualified(words[0])]
		if len(words) == 1 || slices.Contains(words, "never") && !isMarked {
			t.Errorf("the exception of %s changes nothing", words[0])
		}
	}
	if _, err := readTables("", "core/v1.Pod.spec nonsense"); err == nil {
		t.Error("an undefined word is accepted")
	}
}

// TestExceptionsAreFields checks that the exceptions about types of Pods are names of fields.
func TestExceptionsAreFields(t *testing.T) {
	found := map[string]bool{}
	var visit func(rt reflect.Type)
	visit = func(rt reflect.Type) {
		if found[gotype.Name(rt)] {
			return
		}
		found[gotype.Name(rt)] = true
		for _, f := range gotype.Fields(rt) {
			found[gotype.Name(rt)+"."+f.Name] = true
			if element := gotype.Element(f.Type); element.Kind() == reflect.Struct {
				visit(element)
			}
		}
	}
	for _, obj := range []any{corev1.Pod{}, corev1.Node{}, corev1.PersistentVolume{}, corev1.PersistentVolumeClaim{}} {
		visit(reflect.TypeOf(obj))
	}
	for words := range linesOf(exceptionsText) {
		if name := qualified(words[0]); len(name) > len("k8s.io/api/core/") && name[:len("k8s.io/api/core/")] == "k8s.io/api/core/" && !found[name] {
			t.Errorf("%s does not exist", words[0])
		}
	}
}

// TestNothingToDrop checks that a type without fields of disabled gates has no program.
func TestNothingToDrop(t *testing.T) {
	if p := programFor(t, &corev1.ConfigMap{}, "EmptyDirVolumeMode"); p != nil {
		t.Errorf("%+v", p)
	}
	if p := programFor(t, &corev1.Pod{}); p != nil {
		t.Errorf("%+v", p)
	}
}

func BenchmarkDropFromNew(b *testing.B) {
	gates := features.Default()
	table, err := New(gates.Enabled)
	if err != nil {
		b.Fatal(err)
	}
	p, err := table.Program(reflect.TypeFor[*corev1.Pod]())
	if err != nil {
		b.Fatal(err)
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 3), Volumes: make([]corev1.Volume, 3)}}
	b.ReportAllocs()
	for b.Loop() {
		p.DropFromNew(pod)
	}
}
