package plugins

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	podkind "github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/registry"
)

// refusePrivileged refuses pods and pod templates with privileged containers, for
// --allow-privileged=false. It is no plugin of kube-apiserver, where validation does this,
// and has its error.
func refusePrivileged() admission.Plugin {
	return admission.Plugin{
		Name: "refusePrivileged",
		Handles: []admission.Handles{{
			Verbs: []string{api.VerbCreate, api.VerbUpdate},
			Resources: append(admission.CoreResources("pods", "pods/ephemeralcontainers", "pods/resize", "podtemplates", "replicationcontrollers"),
				schema.GroupResource{Group: appsv1.GroupName, Resource: "replicasets"},
				schema.GroupResource{Group: appsv1.GroupName, Resource: "deployments"},
				schema.GroupResource{Group: appsv1.GroupName, Resource: "daemonsets"},
				schema.GroupResource{Group: appsv1.GroupName, Resource: "statefulsets"},
				schema.GroupResource{Group: batchv1.GroupName, Resource: "jobs"},
				schema.GroupResource{Group: batchv1.GroupName, Resource: "cronjobs"},
			),
		}},
		Validate: func(_ context.Context, a *registry.Attributes) error {
			spec, at := podSpecOf(a.Object)
			if spec == nil {
				return nil
			}
			if errs := privilegedContainers(spec, at); len(errs) > 0 {
				return validation.NewInvalid(a.Kind.GroupKind(), a.Object.GetName(), errs)
			}
			return nil
		},
	}
}

// podSpecOf returns the pod spec of a pod or a workload and its path; nil if it has none.
func podSpecOf(obj api.Object) (*corev1.PodSpec, *field.Path) {
	at := field.NewPath("spec")
	switch o := obj.(type) {
	case *corev1.Pod:
		return &o.Spec, at
	case *corev1.PodTemplate:
		return &o.Template.Spec, field.NewPath("template", "spec")
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template.Spec, at.Child("jobTemplate", "spec", "template", "spec")
	}
	if template := podkind.PodTemplateOf(obj); template != nil {
		return &template.Spec, at.Child("template", "spec")
	}
	return nil, nil
}

func privilegedContainers(spec *corev1.PodSpec, at *field.Path) (errs field.ErrorList) {
	check := func(s *corev1.SecurityContext, list string, i int) {
		if s != nil && s.Privileged != nil && *s.Privileged {
			errs = append(errs, field.Forbidden(at.Child(list).Index(i).Child("securityContext", "privileged"), "disallowed by cluster policy"))
		}
	}
	for i, c := range spec.Containers {
		check(c.SecurityContext, "containers", i)
	}
	for i, c := range spec.InitContainers {
		check(c.SecurityContext, "initContainers", i)
	}
	for i, c := range spec.EphemeralContainers {
		check(c.SecurityContext, "ephemeralContainers", i)
	}
	return errs
}
