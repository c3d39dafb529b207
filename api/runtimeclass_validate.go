package api

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
)

func runtimeClassRules(at *place, c *nodev1.RuntimeClass) {
	needs(at.of("handler"), c.Handler, dnsLabel)
	if c.Overhead != nil {
		limits := at.of("overhead").of("limits")
		for name, value := range c.Overhead.PodFixed {
			podResource(limits.key(string(name)), name, value)
		}
	}
	if s := c.Scheduling; s != nil {
		scheduling := at.of("scheduling")
		labelRules(scheduling.of("nodeSelector"), s.NodeSelector)
		tolerationRules(scheduling.of("tolerations"), s.Tolerations, false)
		uniqueTolerations(scheduling.of("tolerations"), s.Tolerations)
	}
}

// uniqueTolerations refuses tolerations that differ in nothing.
func uniqueTolerations(at *place, list []corev1.Toleration) {
	for i := range list {
		for j := range i {
			if sameToleration(&list[i], &list[j]) {
				at.item(i).duplicate(list[i])
				break
			}
		}
	}
}

func sameToleration(a, b *corev1.Toleration) bool {
	seconds := func(t *corev1.Toleration) int64 {
		if t.TolerationSeconds == nil {
			return -1
		}
		return *t.TolerationSeconds
	}
	return a.Key == b.Key && a.Operator == b.Operator && a.Value == b.Value && a.Effect == b.Effect && seconds(a) == seconds(b)
}
