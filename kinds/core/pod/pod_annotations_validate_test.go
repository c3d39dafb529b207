package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestPodAnnotationRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"AppArmor", "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: runtime/default",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: other",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Invalid value: " +
				`"other": invalid AppArmor profile name: "other"`},
		{"container of AppArmor",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: localhost/a",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]: localhost/a",
			`metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: "d": ` +
				"container not found"},
		{"AppArmor and its field",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: unconfined",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: unconfined; " +
				"spec.containers[0].securityContext.appArmorProfile.type: RuntimeDefault",
			"spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in " +
				"annotation and field must match"},
		{"seccomp and its field",
			"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: unconfined; " +
				"spec.securityContext.seccompProfile.type: Unconfined",
			"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: unconfined; " +
				"spec.securityContext.seccompProfile.type: RuntimeDefault",
			"spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"},
		{"mirror", "metadata.annotations[kubernetes.io/config.mirror]: a; spec.nodeName: node",
			"metadata.annotations[kubernetes.io/config.mirror]: a",
			`metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "a": must set ` +
				"spec.nodeName if mirror pod annotation is set"},
		{"tolerations", `metadata.annotations[scheduler.alpha.kubernetes.io/tolerations]: "[]"`,
			`metadata.annotations[scheduler.alpha.kubernetes.io/tolerations]: "{"`,
			`metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/tolerations": ` +
				"unexpected end of JSON input"},
	})
}
