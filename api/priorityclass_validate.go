package api

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
)

const (
	systemPriorityPrefix = "system-"
	maxUserPriority      = 1000000000
)

func priorityClassRules(at *place, c *schedulingv1.PriorityClass) {
	if strings.HasPrefix(c.Name, systemPriorityPrefix) {
		if fault := systemPriorityFault(c); fault != "" {
			at.of("metadata").of("name").forbidden("priority class names with '" + systemPriorityPrefix +
				"' prefix are reserved for system use only. error: " + fault)
		}
	} else if c.Value > maxUserPriority {
		at.of("value").forbidden(fmt.Sprintf("maximum allowed value of a user defined priority is %v", maxUserPriority))
	}
	if c.PreemptionPolicy != nil {
		enum(at.of("preemptionPolicy"), *c.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)
	}
}

// systemPriorityFault tells how a class differs from the one of the system's
// own whose name it has.
func systemPriorityFault(c *schedulingv1.PriorityClass) string {
	values := map[string]int32{"system-cluster-critical": 2 * maxUserPriority, "system-node-critical": 2*maxUserPriority + 1000}
	switch value, ok := values[c.Name]; {
	case !ok:
		return c.Name + " is not a known system priority class"
	case c.Value != value:
		return fmt.Sprintf("value of %v PriorityClass must be %v", c.Name, value)
	case c.GlobalDefault:
		return fmt.Sprintf("globalDefault of %v PriorityClass must be %v", c.Name, false)
	}
	return ""
}

func priorityClassChanges(at *place, is, was *schedulingv1.PriorityClass) {
	if is.Value != was.Value {
		at.of("value").forbidden("may not be changed in an update.")
	}
	fixed(at.of("preemptionPolicy"), is.PreemptionPolicy, was.PreemptionPolicy)
}
