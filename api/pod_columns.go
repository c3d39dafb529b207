package api

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podColumns() []metav1.TableColumnDefinition {
	spec, status := corev1.PodSpec{}, corev1.PodStatus{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Ready", "The aggregate readiness state of this pod for accepting traffic."),
		textColumn("Status", "The aggregate status of the containers in this pod."),
		textColumn("Restarts", "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted."),
		ageColumn(),
		wide(textColumn("IP", doc(status, "podIP"))),
		wide(textColumn("Node", doc(spec, "nodeName"))),
		wide(textColumn("Nominated Node", doc(status, "nominatedNodeName"))),
		wide(textColumn("Readiness Gates", doc(spec, "readinessGates"))),
	}
}

func podCells(obj Object) []any {
	p := obj.(*corev1.Pod)
	s := summarize(p)
	ip := ""
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	}
	return []any{
		p.Name, ratio(s.ready, s.containers), s.state, s.restarts.cell(), Age(p),
		orElse(ip, cellNone), orElse(p.Spec.NodeName, cellNone), orElse(p.Status.NominatedNodeName, cellNone), gatesCell(p),
	}
}

// podConditions tells of pods that have ended.
func podConditions(obj Object) []metav1.TableRowCondition {
	done := metav1.TableRowCondition{Type: metav1.RowCompleted, Status: metav1.ConditionTrue}
	switch phase := obj.(*corev1.Pod).Status.Phase; phase {
	case corev1.PodSucceeded:
		done.Reason, done.Message = string(phase), "The pod has completed successfully."
	case corev1.PodFailed:
		done.Reason, done.Message = string(phase), "The pod failed."
	default:
		return nil
	}
	return []metav1.TableRowCondition{done}
}

// restartCount is how often containers were restarted, and when one of them
// last ended before that.
type restartCount struct {
	count int32
	last  metav1.Time
}

func (r *restartCount) add(c *corev1.ContainerStatus) {
	r.count += c.RestartCount
	if t := c.LastTerminationState.Terminated; t != nil && r.last.Before(&t.FinishedAt) {
		r.last = t.FinishedAt
	}
}

func (r *restartCount) cell() any {
	count := strconv.Itoa(int(r.count))
	if r.count == 0 || r.last.IsZero() {
		return count
	}
	return Elapsed{Before: count + " (", After: " ago)", Since: r.last.Time}
}

// gatesCell compares the readiness gates that are open with all of them.
func gatesCell(p *corev1.Pod) string {
	gates := p.Spec.ReadinessGates
	if len(gates) == 0 {
		return cellNone
	}
	open := int32(0)
	for _, g := range gates {
		if podConditionTrue(&p.Status, g.ConditionType) {
			open++
		}
	}
	return ratio(open, int32(len(gates)))
}

// podConditionTrue asks the first condition of a type.
func podConditionTrue(s *corev1.PodStatus, t corev1.PodConditionType) bool {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			return s.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}
