package kinds

import (
	"fmt"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// TestEndedContainers checks which containers that have ended may start again, by the policies and rules of
// the pod and of the container.
func TestEndedContainers(t *testing.T) {
	const never, onFailure, always = `"restartPolicy":"Never"`, `"restartPolicy":"OnFailure"`, `"restartPolicy":"Always"`
	rules := func(action, operator string) string {
		return fmt.Sprintf(`,"restartPolicy":"Never","restartPolicyRules":[{"action":%q,"exitCodes":{"operator":%q,"values":[3]}}]`, action, operator)
	}
	body := func(policy, list, container, other string, status string) string {
		return fmt.Sprintf(`{"spec":{%s,%q:[{"name":"c","image":"i"%s}],"containers":[{"name":"o","image":"i"%s}]},"status":{%s}}`, policy, list, container, other, status)
	}
	status := func(list, name, state string) string {
		return fmt.Sprintf(`%q:[{"name":%q,"state":%s}]`, list, name, state)
	}
	const init, of, running = "initContainers", "initContainerStatuses", `{"running":{}}`
	ended := func(code int) string { return fmt.Sprintf(`{"terminated":{"exitCode":%d}}`, code) }
	for _, c := range []struct {
		name                     string
		policy, container, other string
		code                     int
		on, off                  bool // may start again
	}{
		{"never", never, "", "", 3, false, false},
		{"on failure", onFailure, "", "", 3, true, true},
		{"on failure, succeeded", onFailure, "", "", 0, false, false},
		{"always", always, "", "", 0, true, true},
		{"sidecar", never, "," + always, "", 0, true, true},
		{"its own policy", always, "," + never, "", 3, false, false},
		{"its own policy, failed", never, "," + onFailure, "", 3, true, true},
		{"a matching rule", always, rules("Restart", "In"), "", 3, true, true},
		{"no matching rule", always, rules("Restart", "In"), "", 4, false, false},
		{"no matching rule, for others", always, rules("Restart", "NotIn"), "", 3, false, false},
		{"a matching rule for others", always, rules("Restart", "NotIn"), "", 4, true, true},
		{"a rule of another for all", never, "", rules("RestartAllContainers", "In"), 4, true, true},
		{"a rule of another", never, "", rules("Restart", "In"), 3, false, false},
	} {
		for enabled, want := range map[bool]bool{true: c.on, false: c.off} {
			gates := features.Default()
			if !enabled {
				gates = gatesOf(t, "1.37", "ContainerRestartRules", "RestartAllContainersOnContainerExits")
			}
			r := declaredKind(t, gates, "pods")
			old := ruleObject(t, r, body(c.policy, init, c.container, c.other, status(of, "c", ended(c.code))))
			updated := ruleObject(t, r, body(c.policy, init, c.container, c.other, status(of, "c", running)))
			prepareStatus(r, updated, old)
			fault := "status.initContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
			if want {
				fault = ""
			}
			t.Run(fmt.Sprintf("%s/%t", c.name, enabled), func(t *testing.T) { wantFaults(t, besideMetadata(checkStatus(r, nil, updated, old)), fault) })
		}
	}
	r := declaredKind(t, features.Default(), "pods")
	old := ruleObject(t, r, body(always, init, "", "", status("ephemeralContainerStatuses", "e", ended(1))))
	updated := ruleObject(t, r, body(always, init, "", "", status("ephemeralContainerStatuses", "e", running)))
	prepareStatus(r, updated, old)
	wantFaults(t, besideMetadata(checkStatus(r, nil, updated, old)), "status.ephemeralContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state")
	old = ruleObject(t, r, body(always, init, "", "", status("containerStatuses", "unknown", ended(1))))
	updated = ruleObject(t, r, body(always, init, "", "", status("containerStatuses", "unknown", running)))
	prepareStatus(r, updated, old)
	wantFaults(t, besideMetadata(checkStatus(r, nil, updated, old)), "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state")
}
