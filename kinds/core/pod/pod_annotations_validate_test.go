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

// TestSeccompAnnotations checks the older annotations that name seccomp profiles.
func TestSeccompAnnotations(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.securityContext.seccompProfile: {type: RuntimeDefault}")
	k.Create(kindtest.Rules{
		{"profile of the pod", "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: runtime/default",
			"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: unconfined",
			"spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"},
		{"profile of Docker", "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: docker/default",
			"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: other",
			`metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "other": must ` +
				"be a valid seccomp profile; spec.securityContext.seccompProfile.type: Forbidden: seccomp " +
				"type in annotation and field must match"},
		{"profile of the node",
			"spec.securityContext.seccompProfile: {type: Localhost, localhostProfile: a}; " +
				"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: localhost/a",
			"spec.securityContext.seccompProfile: {type: Localhost, localhostProfile: a}; " +
				"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: localhost/b",
			"spec.securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in " +
				"annotation and field must match"},
		{"parent of a profile", "metadata.annotations: {a: b}",
			"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: localhost/../a",
			`metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "../a": must ` +
				"not contain '..'; spec.securityContext.seccompProfile.type: Forbidden: seccomp type in " +
				"annotation and field must match"},
		{"unconfined",
			"spec.securityContext.seccompProfile: {type: Unconfined}; " +
				"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: unconfined",
			"spec.securityContext.seccompProfile: {type: Unconfined}; " +
				"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: runtime/default",
			"spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"},
		{"profile of a container",
			"spec.containers[0].securityContext.seccompProfile: {type: Unconfined}; " +
				"metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: unconfined",
			"spec.containers[0].securityContext.seccompProfile: {type: Unconfined}; " +
				"metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: docker/default",
			"spec.containers[0].securityContext.seccompProfile.type: Forbidden: seccomp type in " +
				"annotation and field must match"},
	})
}

// TestAppArmorAnnotations checks the older annotations that name AppArmor profiles.
func TestAppArmorAnnotations(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"profile", "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: runtime/default",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: other",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Invalid value: " +
				`"other": invalid AppArmor profile name: "other"`},
		{"container", "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: localhost/a",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]: localhost/a",
			`metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: "d": ` +
				"container not found"},
		{"field of the container",
			"spec.containers[0].securityContext.appArmorProfile: {type: RuntimeDefault}; " +
				"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: runtime/default",
			"spec.containers[0].securityContext.appArmorProfile: {type: RuntimeDefault}; " +
				"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: unconfined",
			"spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in " +
				"annotation and field must match"},
		{"profile of the node",
			"spec.containers[0].securityContext.appArmorProfile: {type: Localhost, localhostProfile: a}; " +
				"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: localhost/a",
			"spec.containers[0].securityContext.appArmorProfile: {type: Localhost, localhostProfile: a}; " +
				"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: localhost/b",
			"spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden: apparmor " +
				"profile in annotation and field must match"},
	})
}

// TestAppArmorOfAnnotations checks that the annotation of a container becomes its field.
func TestAppArmorOfAnnotations(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Created(kindtest.Cases{
		{"runtime's profile",
			"metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: runtime/default",
			`spec.containers[0].securityContext.appArmorProfile: {"type":"RuntimeDefault"}`},
		{"profile of the node", "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: localhost/a",
			`spec.containers[0].securityContext.appArmorProfile: {"localhostProfile":"a","type":"Localhost"}`},
		{"field", "spec.containers[0].securityContext.appArmorProfile: {type: Unconfined}",
			"metadata.annotations: null"},
	})
}

// TestOtherAnnotations checks other annotations that the server reads.
func TestOtherAnnotations(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"deletion cost", `metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: "-1"`,
			`metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: "+1"`,
			`metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must ` +
				"be a 32bit integer"},
		{"cost that is no number", `metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: "2147483647"`,
			`metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: "2147483648"`,
			"metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: " +
				`"2147483648": must be a 32bit integer`},
		{"mirror pod without a node", "spec.nodeName: node; metadata.annotations[kubernetes.io/config.mirror]: a",
			"metadata.annotations[kubernetes.io/config.mirror]: a",
			`metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "a": must set ` +
				"spec.nodeName if mirror pod annotation is set"},
	})
}
