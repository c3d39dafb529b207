package pod

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/table"
)

func podRow(row *table.Row, p *corev1.Pod) {
	s := summarizePod(p)
	ip := ""
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	}
	row.Name(p.Name)
	row.Text("Ready", "The aggregate readiness state of this pod for accepting traffic.", table.Ratio(s.ready, s.containers))
	row.Text("Status", "The aggregate status of the containers in this pod.", s.state)
	row.Text("Restarts", "The number of times the containers in this pod have been restarted and "+
		"when the last container in this pod has restarted.", s.restarts.cell())
	row.Age(p)
	row.Wide().Text("IP", ".status.podIP", cmp.Or(ip, table.CellNone))
	row.Wide().Text("Node", ".spec.nodeName", cmp.Or(p.Spec.NodeName, table.CellNone))
	row.Wide().Text("Nominated Node", ".status.nominatedNodeName", cmp.Or(p.Status.NominatedNodeName, table.CellNone))
	row.Wide().Text("Readiness Gates", ".spec.readinessGates", gatesCell(p))

	switch phase := p.Status.Phase; phase {
	case corev1.PodSucceeded:
		row.Completed(string(phase), "The pod has completed successfully.")
	case corev1.PodFailed:
		row.Completed(string(phase), "The pod failed.")
	}
}

// restartCount counts the restarts of containers, and has the time at which one of them last
// ended.
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
	return table.Elapsed{Before: count + " (", After: " ago)", Since: r.last.Time}
}

// gatesCell returns the number of readiness gates that are true, and of all.
func gatesCell(p *corev1.Pod) string {
	gates := p.Spec.ReadinessGates
	if len(gates) == 0 {
		return table.CellNone
	}
	open := int32(0)
	for _, g := range gates {
		if podConditionTrue(&p.Status, g.ConditionType) {
			open++
		}
	}
	return table.Ratio(open, int32(len(gates)))
}

// podConditionTrue reports whether the first condition of a type is true.
func podConditionTrue(s *corev1.PodStatus, t corev1.PodConditionType) bool {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			return s.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}
