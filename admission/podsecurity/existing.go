package podsecurity

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	psa "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// Limits for checking the pods of a namespace whose level becomes stricter.
const (
	maxExistingPods     = 3000
	existingPodsTimeout = time.Second
)

// existingViolations returns warnings for the pods of a namespace that violate a level which is to
// be enforced.
func (p *podSecurity) existingViolations(ctx context.Context, namespace string, enforce psa.LevelVersion) []string {
	bound := existingPodsTimeout
	if deadline, ok := ctx.Deadline(); ok {
		bound = min(bound, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	pods, err := p.pods.List(ctx, namespace)
	if err != nil {
		return []string{"failed to list pods while checking new PodSecurity enforce level"}
	}
	pods = p.prioritizePods(pods)
	type finding struct {
		first string
		count int
	}
	found := map[string]finding{}
	checked := 0
	for _, pod := range pods[:min(len(pods), maxExistingPods)] {
		r := policy.AggregateCheckResults(p.evaluator.EvaluatePod(enforce, &pod.ObjectMeta, &pod.Spec))
		if !r.Allowed {
			f := found[r.ForbiddenReason()]
			if f.count == 0 || pod.Name < f.first {
				f.first = pod.Name
			}
			f.count++
			found[r.ForbiddenReason()] = f
		}
		if checked++; ctx.Err() != nil {
			break
		}
	}
	var warnings, lines []string
	if checked < len(pods) {
		warnings = append(warnings, fmt.Sprintf("new PodSecurity enforce level only checked against the first %d of %d existing pods",
			checked, len(pods)))
	}
	for reason, f := range found {
		switch others := f.count - 1; others {
		case 0:
			lines = append(lines, fmt.Sprintf("%s: %s", f.first, reason))
		case 1:
			lines = append(lines, fmt.Sprintf("%s (and 1 other pod): %s", f.first, reason))
		default:
			lines = append(lines, fmt.Sprintf("%s (and %d other pods): %s", f.first, others, reason))
		}
	}
	if len(lines) > 0 {
		warnings = append(warnings, fmt.Sprintf("existing pods in namespace %q violate the new PodSecurity enforce level %q",
			namespace, enforce.String()))
	}
	slices.Sort(lines)
	return append(warnings, lines...)
}

// prioritizePods puts one pod of each controller first, since the others are likely to be equal.
func (p *podSecurity) prioritizePods(pods []*corev1.Pod) []*corev1.Pod {
	var first, others []*corev1.Pod
	seen := map[types.UID]bool{}
	for _, pod := range pods {
		if p.exemptClass(pod.Spec.RuntimeClassName) {
			continue
		}
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner != nil && seen[owner.UID] {
			others = append(others, pod)
			continue
		}
		if owner != nil {
			seen[owner.UID] = true
		}
		first = append(first, pod)
	}
	return append(first, others...)
}
