package podsecurity

import (
	"testing"
)

func TestPodSecurityConfig(t *testing.T) {
	const head = "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\n"
	c, err := readPodSecurityConfig([]byte(head + "defaults: {enforce: baseline, enforce-version: v1.24}\nexemptions: {namespaces: [kube-system]}\n"))
	if err != nil || c.policy.Enforce.String() != "baseline:v1.24" || c.policy.Warn.String() != "privileged:latest" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{"kind: Other", head + "defaults: {enforce: x}", head + "exemptions: {usernames: ['']}", head + "exemptions: {namespaces: [a, a]}", head + "nonsense: 1"} {
		if _, err := readPodSecurityConfig([]byte(text)); err == nil {
			t.Errorf("%q is taken for a configuration", text)
		}
	}
}
