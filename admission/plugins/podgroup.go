package plugins

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// PodGroupProtection is the finalizer that prevents deletion of a pod group while it has pods.
const PodGroupProtection = "scheduling.k8s.io/podgroup-protection"

func podGroups() []schema.GroupResource {
	return []schema.GroupResource{schedulingv1beta1.Resource("podgroups")}
}

// podGroupProtection adds the finalizer to new pod groups. A controller removes it when no pod is
// in the group.
func podGroupProtection(*admission.Objects) admission.Plugin {
	return admission.Plugin{
		Handles: admission.HandlesFor(podGroups(), api.VerbCreate),
		Mutate: func(_ context.Context, a *registry.Attributes) error {
			if !slices.Contains(a.Object.GetFinalizers(), PodGroupProtection) {
				a.Object.SetFinalizers(append(a.Object.GetFinalizers(), PodGroupProtection))
			}
			return nil
		},
	}
}

// podGroupWorkloadExists rejects pod groups that refer to a missing template.
func podGroupWorkloadExists(o *admission.Objects) admission.Plugin {
	workloads := admission.NewReader[*schedulingv1beta1.Workload](o, schedulingv1beta1.Resource("workloads"))
	return admission.Plugin{
		Handles: admission.HandlesFor(podGroups(), api.VerbCreate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			ref := a.Object.(*schedulingv1beta1.PodGroup).Spec.WorkloadRef
			if ref == nil {
				return nil
			}
			name, template := ref.WorkloadName, ref.TemplateName
			w, err := workloads.Get(ctx, a.Namespace, name)
			switch {
			case apierrors.IsNotFound(err):
				return admission.Forbiddenf(a, "PodGroup rejected: Workload %q not found", name)
			case err != nil:
				return apierrors.NewInternalError(err)
			case w.DeletionTimestamp != nil:
				return admission.Forbiddenf(a, "PodGroup rejected: Workload %q is being deleted", name)
			case hasTemplate(template, w.Spec.PodGroupTemplates, w.Spec.CompositePodGroupTemplates):
				return nil
			}
			return admission.Forbiddenf(a, "PodGroup rejected: PodGroupTemplate %q not found in Workload %q", template, name)
		},
	}
}

// hasTemplate reports whether a template of pod groups has a name. The others may contain it.
func hasTemplate(name string, groups []schedulingv1beta1.PodGroupTemplate, composites []schedulingv1beta1.CompositePodGroupTemplate) bool {
	return slices.ContainsFunc(groups, func(t schedulingv1beta1.PodGroupTemplate) bool { return t.Name == name }) ||
		slices.ContainsFunc(composites, func(t schedulingv1beta1.CompositePodGroupTemplate) bool {
			return hasTemplate(name, t.PodGroupTemplates, t.CompositePodGroupTemplates)
		})
}

// jobValidation rejects changes of the parallelism of jobs whose pods are gang-scheduled.
func jobValidation(o *admission.Objects) admission.Plugin {
	groups := admission.NewReader[*schedulingv1beta1.PodGroup](o, schedulingv1beta1.Resource("podgroups"))
	return admission.Plugin{
		Handles: admission.HandlesFor([]schema.GroupResource{batchv1.Resource("jobs")}, api.VerbUpdate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			job, oldJob := a.Object.(*batchv1.Job), a.Old.(*batchv1.Job)
			if equality.Semantic.DeepEqual(job.Spec.Parallelism, oldJob.Spec.Parallelism) {
				return nil
			}
			for _, g := range podGroupsOf(ctx, groups, oldJob) {
				if g.Spec.SchedulingPolicy.Gang != nil {
					return admission.Forbiddenf(a, "cannot change parallelism for a Job referencing gang-scheduled PodGroup %q", g.Name)
				}
			}
			return nil
		},
	}
}

// podGroupsOf returns the pod group in the template of a job, or the groups that the job controls.
// Groups that cannot be read are left out and so reject nothing.
func podGroupsOf(ctx context.Context, groups *admission.Reader[*schedulingv1beta1.PodGroup], job *batchv1.Job) []*schedulingv1beta1.PodGroup {
	if g := job.Spec.Template.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		found, err := groups.Cached(ctx, job.Namespace, *g.PodGroupName)
		if err != nil {
			return nil
		}
		return []*schedulingv1beta1.PodGroup{found}
	}
	all, err := groups.List(ctx, job.Namespace)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(g *schedulingv1beta1.PodGroup) bool { return !metav1.IsControlledBy(g, job) })
}
