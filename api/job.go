package api

import (
	"maps"
	"math"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// job is pods that run until their work is done.
func job() *Resource {
	labels := selectable(served(batchv1.SchemeGroupVersion), nameLabel, namespaceLabel, "status.successful")
	labels[0].FieldLabelError = "field label %q not supported for Job"
	return withPodTemplate(templateOfJob, &Resource{
		Name: "jobs", Singular: "job", Kind: "Job",
		Categories:           []string{"all"},
		Namespaced:           true,
		Versions:             labels,
		New:                  func() Object { return &batchv1.Job{} },
		ObjectWarnings:       jobWarnings,
		Rows:                 &Table{Columns: jobColumns, Cells: jobCells},
		Prefix:               "jobs",
		Generation:           true,
		OrphanByDefault:      true,
		OrphanWarning:        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
		HasStatus:            true,
		Default:              defaultJob,
		Validate:             rulesOf(jobRules),
		ValidateUpdate:       changesOf(jobChanges),
		WholeUpdate:          true,
		MetadataRevalidated:  true,
		ValidateStatusUpdate: changesOf(jobStatusChanges),
		PrepareCreate:        func(obj Object) { selectJobPods(obj.(*batchv1.Job)) },
		Fields: func(obj Object) map[string]string {
			return map[string]string{"status.successful": strconv.Itoa(int(obj.(*batchv1.Job).Status.Succeeded))}
		},
	})
}

func templateOfJob(obj Object) *corev1.PodTemplateSpec { return &obj.(*batchv1.Job).Spec.Template }

func defaultJob(obj Object) {
	j := obj.(*batchv1.Job)
	defaultTemplate(&j.Spec.Template)
	defaultFailurePolicy(j.Spec.PodFailurePolicy)
	if len(j.Labels) == 0 {
		j.Labels = maps.Clone(j.Spec.Template.Labels)
	}
	s := &j.Spec
	// With a parallelism alone, one pod that succeeds is enough.
	if s.Completions == nil && s.Parallelism == nil {
		s.Completions = new(int32(1))
	}
	setDefault(&s.Parallelism, 1)
	setDefault(&s.CompletionMode, batchv1.NonIndexedCompletion)
	setDefault(&s.Suspend, false)
	setDefault(&s.ManualSelector, false)
	if s.BackoffLimitPerIndex != nil {
		setDefault(&s.BackoffLimit, math.MaxInt32)
	}
	setDefault(&s.BackoffLimit, 6)
	if s.PodFailurePolicy != nil {
		setDefault(&s.PodReplacementPolicy, batchv1.Failed)
	}
	setDefault(&s.PodReplacementPolicy, batchv1.TerminatingOrFailed)
}

// defaultFailurePolicy sets the status True in conditions of a rule that name none.
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

// selectJobPods makes a job find its own pods and no others: by its uid, unless
// the user takes care of that.
func selectJobPods(j *batchv1.Job) {
	if j.Spec.ManualSelector != nil && *j.Spec.ManualSelector {
		return
	}
	uid, t := string(j.UID), &j.Spec.Template
	// The first pair is what older clients look for.
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
