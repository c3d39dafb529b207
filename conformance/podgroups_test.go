package conformance

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission/plugins"
	"github.com/miniapiserver/miniapiserver/server"
)

// workloadOptions enables workloads and pod groups, with further gates.
func workloadOptions(gates ...string) server.Options {
	o := server.Options{
		RuntimeConfig: map[string]string{"scheduling.k8s.io/v1beta1": "true"},
		FeatureGates:  map[string]bool{"GenericWorkload": true},
	}
	for _, g := range gates {
		o.FeatureGates[g] = true
	}
	return o
}

// TestPodGroupProtection deletes a pod group with a pod: the group remains until the pod has
// terminated.
func TestPodGroupProtection(t *testing.T) {
	_, c := startWith(t, workloadOptions())
	ctx, groups, pods := t.Context(), c.SchedulingV1beta1().PodGroups("default"), c.CoreV1().Pods("default")
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"used", "ended", "unused"} {
		group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}}}
		group, err := groups.Create(ctx, group, metav1.CreateOptions{})
		must(group, err)
		if !slices.Equal(group.Finalizers, []string{plugins.PodGroupProtection}) {
			t.Fatalf("%s: finalizers %q", name, group.Finalizers)
		}
	}
	pod := func(name, group string) *corev1.Pod {
		pod, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
			SchedulingGroup: &corev1.PodSchedulingGroup{PodGroupName: &group}, Containers: []corev1.Container{{Name: "main", Image: "image"}}}}, metav1.CreateOptions{})
		must(pod, err)
		return pod
	}
	pod("a", "used")
	running := pod("b", "ended")
	groupGone := func(name string) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			_, err := groups.Get(ctx, name, metav1.GetOptions{})
			return gone(err)
		}
	}
	for _, name := range []string{"used", "ended", "unused"} {
		must(nil, groups.Delete(ctx, name, metav1.DeleteOptions{}))
	}
	eventually(t, "unused group gone", groupGone("unused"))
	for _, name := range []string{"used", "ended"} {
		if is, err := groupGone(name)(ctx); is || err != nil {
			t.Fatalf("%s is gone while a pod is in it: %v", name, err)
		}
	}
	running.Status.Phase = corev1.PodSucceeded
	must(pods.UpdateStatus(ctx, running, metav1.UpdateOptions{}))
	eventually(t, "group of an ended pod gone", groupGone("ended"))
	if is, err := groupGone("used")(ctx); is || err != nil {
		t.Fatalf("used is gone while a pod is in it: %v", err)
	}
	must(nil, pods.Delete(ctx, "a", *metav1.NewDeleteOptions(0)))
	eventually(t, "group of a deleted pod gone", groupGone("used"))
}

// TestPodGroupWithoutFinalizer checks that the controller does not add the finalizer to a group
// that lost it.
func TestPodGroupWithoutFinalizer(t *testing.T) {
	_, c := startWith(t, workloadOptions())
	groups := c.SchedulingV1beta1().PodGroups("default")
	for _, name := range []string{"first", "second"} {
		group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}}}
		if _, err := groups.Create(t.Context(), group, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	group, err := groups.Get(t.Context(), "first", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	group.Finalizers = nil
	if group, err = groups.Update(t.Context(), group, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	// One loop handles both groups in order: when it has released the second group, it has
	// processed the first one.
	if err := groups.Delete(t.Context(), "second", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "second group gone", func(ctx context.Context) (bool, error) {
		_, err := groups.Get(ctx, "second", metav1.GetOptions{})
		return gone(err)
	})
	now, err := groups.Get(t.Context(), "first", metav1.GetOptions{})
	if err != nil || now.ResourceVersion != group.ResourceVersion {
		t.Fatalf("finalizers %q, %v", now.Finalizers, err)
	}
}

// TestDisruptionModeDefault checks the default disruption mode of pod groups, which is set on
// every read. Templates have no default.
func TestDisruptionModeDefault(t *testing.T) {
	_, c := startWith(t, workloadOptions())
	policy := schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}
	chosen := &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
	for name, mode := range map[string]*schedulingv1beta1.DisruptionMode{"default": nil, "chosen": chosen} {
		group, err := c.SchedulingV1beta1().PodGroups("default").Create(t.Context(), &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: policy, DisruptionMode: mode}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := group.Spec.DisruptionMode; got == nil || (got.All != nil) != (mode != nil) || (got.Single != nil) != (mode == nil) {
			t.Errorf("%s group: got %v", name, got)
		}
	}
	w, err := c.SchedulingV1beta1().Workloads("default").Create(t.Context(), &schedulingv1beta1.Workload{ObjectMeta: metav1.ObjectMeta{Name: "w"},
		Spec: schedulingv1beta1.WorkloadSpec{PodGroupTemplates: []schedulingv1beta1.PodGroupTemplate{{Name: "t", SchedulingPolicy: policy}}}}, metav1.CreateOptions{})
	if err != nil || w.Spec.PodGroupTemplates[0].DisruptionMode != nil {
		t.Errorf("workload: %+v, %v", w, err)
	}
}

// TestSchedulingVersions writes a workload in one version, reads it in the other, and creates a
// composite pod group, which exists in the older one only.
func TestSchedulingVersions(t *testing.T) {
	o := workloadOptions("TopologyAwareWorkloadScheduling", "CompositePodGroup")
	o.RuntimeConfig["scheduling.k8s.io/v1alpha3"] = "true"
	_, c := startWith(t, o)
	w := &schedulingv1beta1.Workload{ObjectMeta: metav1.ObjectMeta{Name: "w"}, Spec: schedulingv1beta1.WorkloadSpec{PodGroupTemplates: []schedulingv1beta1.PodGroupTemplate{{
		Name: "t", SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2}}}}}}
	if _, err := c.SchedulingV1beta1().Workloads("default").Create(t.Context(), w, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	older, err := c.SchedulingV1alpha3().Workloads("default").Get(t.Context(), "w", metav1.GetOptions{})
	if err != nil || older.Spec.PodGroupTemplates[0].SchedulingPolicy.Gang.MinCount != 2 {
		t.Fatalf("%+v %v", older, err)
	}
	older.Spec.PodGroupTemplates[0].SchedulingPolicy.Gang.MinCount = 3
	if _, err := c.SchedulingV1alpha3().Workloads("default").Update(t.Context(), older, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
	groups := c.SchedulingV1alpha3().CompositePodGroups("default")
	group, err := groups.Create(t.Context(), &schedulingv1alpha3.CompositePodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g"}, Spec: schedulingv1alpha3.CompositePodGroupSpec{
		WorkloadRef:      &schedulingv1alpha3.WorkloadReference{WorkloadName: "w", TemplateName: "t"},
		SchedulingPolicy: schedulingv1alpha3.CompositePodGroupSchedulingPolicy{Basic: &schedulingv1alpha3.CompositeBasicSchedulingPolicy{}}}}, metav1.CreateOptions{})
	if err != nil || group.Spec.DisruptionMode.Single == nil || group.Spec.Priority == nil {
		t.Fatalf("%+v %v", group, err)
	}
	group.Status.Conditions = []metav1.Condition{{Type: "DisruptionTarget", Status: "True", Reason: "PreemptionByScheduler", LastTransitionTime: metav1.Now()}}
	group.Spec.PriorityClassName = "another"
	if group, err = groups.UpdateStatus(t.Context(), group, metav1.UpdateOptions{}); err != nil || len(group.Status.Conditions) != 1 || group.Spec.PriorityClassName != "" {
		t.Errorf("%+v %v", group, err)
	}
}
