package api

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
)

func replicationControllerWarnings(obj, old Object) []string {
	template := obj.(*corev1.ReplicationController).Spec.Template
	if template == nil {
		return nil
	}
	return templateWarnings(func(Object) *corev1.PodTemplateSpec { return template }, "spec", "template")(obj, old)
}

func statefulSetWarnings(obj, old Object) []string {
	s := &obj.(*appsv1.StatefulSet).Spec
	return warn(func(at *place) {
		spec := at.of("spec")
		if edited(obj, old) {
			podSpecWarnings(spec.of("template"), &s.Template.ObjectMeta, &s.Template.Spec, true)
		}
		for i := range s.VolumeClaimTemplates {
			claimSpecWarnings(spec.of("volumeClaimTemplates").item(i).of("Spec"), &s.VolumeClaimTemplates[i].Spec)
		}
		if n := s.RevisionHistoryLimit; n != nil && *n < 0 {
			spec.of("revisionHistoryLimit").warn("a negative value retains all historical revisions; a value >= 0 is recommended")
		}
	})
}

// podNameUse is how pods of a job are called.
const podNameUse = "this is used in Pod names and hostnames"

func jobWarnings(obj, old Object) []string {
	j := obj.(*batchv1.Job)
	return warn(func(at *place) {
		if old == nil {
			hostnameWarning(at, j.Name, podNameUse)
		}
		if edited(obj, old) {
			jobSpecWarnings(at.of("spec"), &j.Spec)
		}
	})
}

func cronJobWarnings(obj, old Object) []string {
	c := obj.(*batchv1.CronJob)
	return warn(func(at *place) {
		if old == nil {
			hostnameWarning(at, c.Name, podNameUse)
		}
		if edited(obj, old) {
			jobSpecWarnings(at.of("spec").of("jobTemplate").of("spec"), &c.Spec.JobTemplate.Spec)
		}
		if old != nil && strings.Contains(c.Spec.Schedule, "TZ") {
			at.warnings([]string{"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"})
		}
	})
}

// Of an indexed job with more completions and more pods at a time than these,
// what failed cannot be kept track of.
const (
	manyCompletions = 100_000
	manyAtATime     = 10_000
)

func jobSpecWarnings(at *place, s *batchv1.JobSpec) {
	if s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion &&
		s.Completions != nil && *s.Completions > manyCompletions && s.Parallelism != nil && *s.Parallelism > manyAtATime {
		at.warn("In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, " +
			"Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	podSpecWarnings(at.of("template"), &s.Template.ObjectMeta, &s.Template.Spec, true)
}

func storageClassWarnings(obj, _ Object) []string {
	return warn(func(at *place) {
		for i, t := range obj.(*storagev1.StorageClass).AllowedTopologies {
			for j, e := range t.MatchLabelExpressions {
				if instead := oldNodeLabel(e.Key); instead != "" {
					at.of("allowedTopologies").item(i).of("matchLabelExpressions").item(j).of("key").warn(instead)
				}
			}
		}
	})
}

func capacityWarnings(obj, _ Object) []string {
	return warn(func(at *place) {
		nodeSelectorWarnings(at.of("nodeTopology"), obj.(*storagev1.CSIStorageCapacity).NodeTopology)
	})
}

func runtimeClassWarnings(obj, _ Object) []string {
	s := obj.(*nodev1.RuntimeClass).Scheduling
	if s == nil {
		return nil
	}
	var out []string
	for _, key := range sortedKeys(s.NodeSelector) {
		if instead := oldNodeLabel(key); instead != "" {
			out = append(out, fmt.Sprintf("scheduling.nodeSelector: %s", instead))
		}
	}
	return out
}
