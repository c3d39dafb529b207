package plugins

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/admission/admissiontest"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// TestRefusePrivileged checks that privileged containers are refused in pods and in the
// templates of workloads, with the path of the field.
func TestRefusePrivileged(t *testing.T) {
	yes, no := true, false
	with := func(privileged *bool) corev1.PodSpec {
		return corev1.PodSpec{
			Containers:     []corev1.Container{{Name: "a"}},
			InitContainers: []corev1.Container{{Name: "b"}, {Name: "c", SecurityContext: &corev1.SecurityContext{Privileged: privileged}}},
		}
	}
	template := func(privileged *bool) corev1.PodTemplateSpec { return corev1.PodTemplateSpec{Spec: with(privileged)} }
	debugged := &corev1.Pod{Spec: with(nil)}
	debugged.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "d", SecurityContext: &corev1.SecurityContext{Privileged: &yes},
	}}}
	job := func(privileged *bool) *batchv1.CronJob {
		return &batchv1.CronJob{Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template(privileged)}}}}
	}
	for _, c := range []struct {
		object api.Object
		path   string // of the refused field; empty if there is none
	}{
		{&corev1.Pod{Spec: with(nil)}, ""},
		{&corev1.Pod{Spec: with(&no)}, ""},
		{&corev1.Pod{Spec: with(&yes)}, "spec.initContainers[1].securityContext.privileged"},
		{debugged, "spec.ephemeralContainers[0].securityContext.privileged"},
		{&corev1.PodTemplate{Template: template(&yes)}, "template.spec.initContainers[1].securityContext.privileged"},
		{&corev1.ReplicationController{}, ""},
		{&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template(&yes)}}, "spec.template.spec.initContainers[1].securityContext.privileged"},
		{job(&no), ""},
		{job(&yes), "spec.jobTemplate.spec.template.spec.initContainers[1].securityContext.privileged"},
		{&corev1.ConfigMap{}, ""},
	} {
		got := admissiontest.Run(t, refusePrivileged(), &registry.Attributes{Object: c.object})
		if c.path == "" && got != "" || c.path != "" && !strings.HasSuffix(got, " is invalid: "+c.path+": Forbidden: disallowed by cluster policy") {
			t.Errorf("%T: got %q, want %s", c.object, got, c.path)
		}
	}
}
