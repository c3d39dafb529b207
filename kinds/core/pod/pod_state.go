package pod

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api/table"
)

// podSummary is the content of the columns Ready, Status and Restarts.
type podSummary struct {
	// ready and containers count containers and sidecars.
	ready, containers int32
	state             string
	restarts          restartCount
}

// summarizePod evaluates first the init containers in their order, then the containers. Later
// results replace earlier ones.
func summarizePod(p *corev1.Pod) podSummary {
	s := podSummary{state: podReason(p), containers: int32(len(p.Spec.Containers))}
	for i := range p.Spec.InitContainers {
		if IsSidecar(&p.Spec.InitContainers[i]) {
			s.containers++
		}
	}
	sidecars, initializing := s.lookAtInit(p)
	if !initializing || podConditionTrue(&p.Status, corev1.PodInitialized) {
		// Restarts of init containers no longer count, those of sidecars do.
		s.restarts = sidecars
		s.lookAtContainers(&p.Status)
	}
	switch {
	case p.DeletionTimestamp == nil:
	case p.Status.Reason == "NodeLost": // the node no longer reports
		s.state = "Unknown"
	case p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed:
		s.state = "Terminating"
	}
	return s
}

// podReason returns the reason in the pod's own status.
func podReason(p *corev1.Pod) string {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			return corev1.PodReasonSchedulingGated
		}
	}
	return cmp.Or(p.Status.Reason, string(p.Status.Phase))
}

// lookAtInit evaluates the init containers up to the first that has not finished, for which
// the pod waits. It returns the restarts of the sidecars before that.
func (s *podSummary) lookAtInit(p *corev1.Pod) (sidecars restartCount, initializing bool) {
	for i := range p.Status.InitContainerStatuses {
		c := &p.Status.InitContainerStatuses[i]
		s.restarts.add(c)
		sidecar := isSidecarName(p, c.Name)
		if sidecar {
			sidecars.add(c)
		}
		ended, waiting := c.State.Terminated, c.State.Waiting
		switch {
		case ended != nil && ended.ExitCode == 0:
		case sidecar && c.Started != nil && *c.Started:
			if c.Ready {
				s.ready++
			}
		case ended != nil:
			s.state = "Init:" + endedReason(ended)
			return sidecars, true
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			s.state = "Init:" + waiting.Reason
			return sidecars, true
		default:
			s.state = "Init:" + table.Ratio(int32(i), int32(len(p.Spec.InitContainers)))
			return sidecars, true
		}
	}
	return sidecars, false
}

// lookAtContainers evaluates the containers from the last to the first, so that the first
// container with a state determines the summary.
func (s *podSummary) lookAtContainers(status *corev1.PodStatus) {
	running := false
	for i := len(status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &status.ContainerStatuses[i]
		s.restarts.add(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.state = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.state = endedReason(c.State.Terminated)
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	// A pod with a running container has not completed.
	if s.state == "Completed" && running {
		s.state = "NotReady"
		if podConditionTrue(status, corev1.PodReady) {
			s.state = "Running"
		}
	}
}

// endedReason returns the reason for which a container ended.
func endedReason(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return "Signal:" + strconv.Itoa(int(t.Signal))
	}
	return "ExitCode:" + strconv.Itoa(int(t.ExitCode))
}

// isSidecarName reports whether the init container of a name is a sidecar.
func isSidecarName(p *corev1.Pod, name string) bool {
	for i := range p.Spec.InitContainers {
		if p.Spec.InitContainers[i].Name == name {
			return IsSidecar(&p.Spec.InitContainers[i])
		}
	}
	return false
}
