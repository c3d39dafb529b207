package admission

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// PodGroupProtection is the finalizer that keeps a pod group while pods are in it.
const PodGroupProtection = "scheduling.k8s.io/podgroup-protection"

func podGroups() []groupResource {
	return []groupResource{schedulingv1alpha2.Resource("podgroups")}
}

// podGroupProtection gives new pod groups the finalizer that a controller takes
// away when no pod is in the group.
func podGroupProtection(*Objects) Plugin {
	return Plugin{
		Handles: on(podGroups(), api.VerbCreate),
		Mutate: func(_ context.Context, a *registry.Attributes) error {
			if !slices.Contains(a.Object.GetFinalizers(), PodGroupProtection) {
				a.Object.SetFinalizers(append(a.Object.GetFinalizers(), PodGroupProtection))
			}
			return nil
		},
	}
}

// podGroupWorkloadExists refuses pod groups that say to be made from a template
// which is not there.
func podGroupWorkloadExists(o *Objects) Plugin {
	workloads := read[*schedulingv1alpha2.Workload](o, schedulingv1alpha2.Resource("workloads"))
	return Plugin{
		Handles: on(podGroups(), api.VerbCreate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			ref := a.Object.(*schedulingv1alpha2.PodGroup).Spec.PodGroupTemplateRef
			if ref == nil || ref.Workload == nil {
				return nil
			}
			name, template := ref.Workload.WorkloadName, ref.Workload.PodGroupTemplateName
			w, err := workloads.get(ctx, a.Namespace, name)
			switch {
			case apierrors.IsNotFound(err):
				return forbid(a, "PodGroup rejected: Workload %q not found", name)
			case err != nil:
				return apierrors.NewInternalError(err)
			case w.DeletionTimestamp != nil:
				return forbid(a, "PodGroup rejected: Workload %q is being deleted", name)
			case slices.ContainsFunc(w.Spec.PodGroupTemplates, func(t schedulingv1alpha2.PodGroupTemplate) bool { return t.Name == template }):
				return nil
			}
			return forbid(a, "PodGroup rejected: PodGroupTemplate %q not found in Workload %q", template, name)
		},
	}
}

// jobValidation keeps the number of pods of a job whose pods start together or not
// at all.
func jobValidation(o *Objects) Plugin {
	groups := read[*schedulingv1alpha2.PodGroup](o, schedulingv1alpha2.Resource("podgroups"))
	return Plugin{
		Handles: on([]groupResource{batchv1.Resource("jobs")}, api.VerbUpdate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			is, was := a.Object.(*batchv1.Job), a.Old.(*batchv1.Job)
			if equality.Semantic.DeepEqual(is.Spec.Parallelism, was.Spec.Parallelism) {
				return nil
			}
			for _, g := range groupsOf(ctx, groups, was) {
				if g.Spec.SchedulingPolicy.Gang != nil {
					return forbid(a, "cannot change parallelism for a Job referencing gang-scheduled PodGroup %q", g.Name)
				}
			}
			return nil
		},
	}
}

// groupsOf returns the pod group that the template of a job names, or the groups that
// the job controls. Groups that cannot be read are left out: they refuse nothing.
func groupsOf(ctx context.Context, groups *reader[*schedulingv1alpha2.PodGroup], job *batchv1.Job) []*schedulingv1alpha2.PodGroup {
	if g := job.Spec.Template.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		found, err := groups.cached(ctx, job.Namespace, *g.PodGroupName)
		if err != nil {
			return nil
		}
		return []*schedulingv1alpha2.PodGroup{found}
	}
	all, err := groups.list(ctx, job.Namespace)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(g *schedulingv1alpha2.PodGroup) bool { return !metav1.IsControlledBy(g, job) })
}
