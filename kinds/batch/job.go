package batch

import (
	"math"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

// Job describes the kind Job, which runs pods to completion.
func Job(gates features.Gates) *api.Resource {
	labels := api.WithFieldLabels(api.Served(batchv1.SchemeGroupVersion), api.NameLabel, api.NamespaceLabel, "status.successful")
	labels[0].FieldLabelError = "field label %q not supported for Job"
	return api.NewResource(pod.WithPodTemplate(gates, templateOfJob, api.Kind[*batchv1.Job]{
		Names:    api.Names{Name: "jobs", Singular: "job", Kind: "Job", Categories: []string{"all"}, Namespaced: true},
		Versions: labels,
		Default:  defaultJob,
		Storage:  api.Storage{Prefix: "jobs"},
		Prepare:  api.Prepare(func(obj *batchv1.Job) { selectJobPods(obj) }, nil),
		Checks: api.Checks(
			api.Metadata,
			api.OnCreate(api.Rules(jobRules)),
			api.Changes(jobChanges(gates)),
			api.Declared,
			api.WarnOfChange(jobWarnings(gates)),
		),
		HasGeneration: true,
		Status:        api.NewStatus(nil, api.Metadata, api.Changes(jobStatusChanges), api.Declared),
		Selectable: func(obj *batchv1.Job) map[string]string {
			return map[string]string{"status.successful": strconv.Itoa(int(obj.Status.Succeeded))}
		},
		Delete: api.Deletion{
			OrphanByDefault: true,
			OrphanWarning:   "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
		},
		Table: api.Rows(jobRow),
	}))
}

func templateOfJob(obj *batchv1.Job) *corev1.PodTemplateSpec { return &obj.Spec.Template }

func defaultJob(j *batchv1.Job) {
	pod.DefaultTemplate(&j.Spec.Template)
	defaultFailurePolicy(j.Spec.PodFailurePolicy)
	if len(j.Labels) == 0 {
		// Both share the map: the labels of the selector become labels of the job, too.
		j.Labels = j.Spec.Template.Labels
	}
	s := &j.Spec
	// Completions has no default if parallelism is set: one successful pod is enough then.
	if s.Completions == nil && s.Parallelism == nil {
		s.Completions = new(int32(1))
	}
	api.SetDefault(&s.Parallelism, 1)
	api.SetDefault(&s.CompletionMode, batchv1.NonIndexedCompletion)
	api.SetDefault(&s.Suspend, false)
	api.SetDefault(&s.ManualSelector, false)
	if s.BackoffLimitPerIndex != nil {
		api.SetDefault(&s.BackoffLimit, math.MaxInt32)
	}
	api.SetDefault(&s.BackoffLimit, 6)
	if s.PodFailurePolicy != nil {
		api.SetDefault(&s.PodReplacementPolicy, batchv1.Failed)
	}
	api.SetDefault(&s.PodReplacementPolicy, batchv1.TerminatingOrFailed)
}

// defaultFailurePolicy sets the status of conditions without one to True.
func defaultFailurePolicy(p *batchv1.PodFailurePolicy) {
	if p == nil {
		return
	}
	for i := range p.Rules {
		for j := range p.Rules[i].OnPodConditions {
			if c := &p.Rules[i].OnPodConditions[j]; c.Status == "" {
				c.Status = corev1.ConditionTrue
			}
		}
	}
}

// selectJobPods sets the selector and the pod labels that select the pods of the job by its
// UID, unless the selector is manual.
func selectJobPods(j *batchv1.Job) {
	if j.Spec.ManualSelector != nil && *j.Spec.ManualSelector {
		return
	}
	uid, t := string(j.UID), &j.Spec.Template
	// Older clients use the labels without a prefix.
	for _, l := range [][2]string{
		{"job-name", j.Name}, {"controller-uid", uid},
		{batchv1.JobNameLabel, j.Name}, {batchv1.ControllerUidLabel, uid},
	} {
		if _, ok := t.Labels[l[0]]; !ok {
			metav1.SetMetaDataLabel(&t.ObjectMeta, l[0], l[1])
		}
	}
	if j.Spec.Selector == nil {
		j.Spec.Selector = &metav1.LabelSelector{}
	}
	if _, ok := j.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !ok {
		metav1.AddLabelToSelector(j.Spec.Selector, batchv1.ControllerUidLabel, uid)
	}
}

func jobRow(row *table.Row, j *batchv1.Job) {
	took := any("")
	switch start, end := j.Status.StartTime, j.Status.CompletionTime; {
	case start == nil:
	case end == nil:
		took = table.Elapsed{Since: start.Time}
	default:
		took = duration.HumanDuration(end.Sub(start.Time))
	}
	row.Name(j.Name)
	row.Text("Status", "Status of the job.", jobState(j))
	row.Text("Completions", ".status.succeeded", completionsCell(j))
	row.Text("Duration", "Time required to complete the job.", took)
	row.Age(j)
	row.Wide().Containers(j.Spec.Template.Spec.Containers)
	row.Wide().Text("Selector", ".spec.selector", metav1.FormatLabelSelector(j.Spec.Selector))
}

// jobState returns the cell Status: the first state that applies.
func jobState(j *batchv1.Job) string {
	has := func(t batchv1.JobConditionType) bool {
		for _, c := range j.Status.Conditions {
			if c.Type == t {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	}
	switch {
	case has(batchv1.JobComplete):
		return "Complete"
	case has(batchv1.JobFailed):
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case has(batchv1.JobSuspended):
		return "Suspended"
	case has(batchv1.JobFailureTarget):
		return "FailureTarget"
	}
	return "Running"
}

// completionsCell returns the numbers of succeeded and required pods. If one success
// completes the job, it also has the parallelism.
func completionsCell(j *batchv1.Job) string {
	if n := j.Spec.Completions; n != nil {
		return table.Ratio(j.Status.Succeeded, *n)
	}
	text := table.Ratio(j.Status.Succeeded, 1)
	if n := table.ValueOrZero(j.Spec.Parallelism); n > 1 {
		text += " of " + strconv.Itoa(int(n))
	}
	return text
}

func jobWarnings(gates features.Gates) func(j, old *batchv1.Job) []string {
	return func(j, old *batchv1.Job) []string {
		return validation.Warn(func(at *validation.Path) {
			if old == nil {
				pod.HostnameWarning(at, j.Name, pod.NameUse)
			}
			if api.SpecChanged(j, old) {
				jobSpecWarnings(at.Child("spec"), &j.Spec, gates)
			}
		})
	}
}

func jobSpecWarnings(at *validation.Path, s *batchv1.JobSpec, gates features.Gates) {
	if s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion &&
		s.Completions != nil && *s.Completions > maxIndexed && s.Parallelism != nil && *s.Parallelism > maxManyParallel {
		at.Warn("In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, " +
			"Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	pod.PodSpecWarnings(at.Child("template"), &s.Template.ObjectMeta, &s.Template.Spec, true, gates)
}
