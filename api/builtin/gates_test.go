package builtin

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// TestGatesOfOlderVersions checks what changes with gates that older versions of Kubernetes do not
// have enabled.
func TestGatesOfOlderVersions(t *testing.T) {
	without := func(name, gate string) *api.Resource {
		gates := features.Default()
		delete(gates, gate)
		for _, r := range KindsFor(gates) {
			if r.Name == name {
				return r
			}
		}
		t.Fatalf("no kind %s", name)
		return nil
	}
	const scheduling, resources = features.MutableSchedulingDirectivesForSuspendedJobs, features.MutablePodResourcesForSuspendedJobs
	stopped := batchv1.JobStatus{StartTime: &metav1.Time{}, Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}}}
	place := func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"a": "b"} }
	resize := func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}
	}
	for _, c := range []struct {
		name, gate string
		status     batchv1.JobStatus
		change     func(*corev1.PodSpec)
		refused    string
	}{
		{"a stopped job is placed", "", stopped, place, ""},
		{"a stopped job is resized", "", stopped, resize, ""},
		{"a stopped job is placed", scheduling, stopped, place, "spec.template.spec: Invalid value"},
		{"a stopped job is resized", resources, stopped, resize, "spec.template: Invalid value"},
		{"a fresh job is placed", scheduling, batchv1.JobStatus{}, place, ""},
		{"a fresh job is placed", resources, batchv1.JobStatus{}, place, ""},
		{"a fresh job is resized", resources, batchv1.JobStatus{}, resize, "spec.template: Invalid value"},
	} {
		r := without("jobs", c.gate)
		old := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns", UID: "1", ResourceVersion: "1"}, Status: c.status, Spec: batchv1.JobSpec{
			Suspend: new(true), ManualSelector: new(true), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
		}}
		r.Default(old)
		obj := old.DeepCopy()
		c.change(&obj.Spec.Template.Spec)
		errs := r.Update.ValidateUpdate(obj, old).ToAggregate()
		if (errs == nil) != (c.refused == "") || errs != nil && !strings.Contains(errs.Error(), c.refused) {
			t.Errorf("%s without %q: got %v, want %q", c.name, c.gate, errs, c.refused)
		}
	}
	for gate, refused := range map[string]bool{"": true, features.DRAResourceClaimGranularStatusAuthorization: false} {
		claim := &resourcev1.ResourceClaim{Status: resourcev1.ResourceClaimStatus{ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Name: "p"}}}}
		if errs := without("resourceclaims", gate).Create.ValidateAccess(t.Context(), access{}, claim, &resourcev1.ResourceClaim{}, true); len(errs) > 0 != refused {
			t.Errorf("without %q, a claim is reserved: %v", gate, errs)
		}
	}
	if faults := without("services", features.RelaxedServiceNameValidation).Create.ValidateName("1x", false); len(faults) == 0 {
		t.Error("the name of a service may begin with a digit")
	}
	if faults := without("services", "").Create.ValidateName("1x", false); len(faults) > 0 {
		t.Errorf("the name of a service: %v", faults)
	}
	for gate, want := range map[string]bool{"": true, features.AuthorizePodWebsocketUpgradeCreatePermission: false} {
		if got := without("pods", gate).Subresource("exec").Connection.RequiresCreate; got != want {
			t.Errorf("without %q, GET of pods/exec requires create: %t", gate, got)
		}
	}
}
