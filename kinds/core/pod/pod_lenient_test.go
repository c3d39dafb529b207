package pod

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// TestStoredFaults checks the rules that are newer than pods may be: a new template that violates
// one is refused, and an update of a stored template that already violates it is not. Each fault is
// named for the field of kube-apiserver's PodValidationOptions.
func TestStoredFaults(t *testing.T) {
	const (
		label     = `{"matchExpressions":[{"key":"a","operator":"In","values":["Bad!"]}]}`
		merged    = `"labelSelector":{"matchLabels":{"x":"y"},"matchExpressions":[{"key":"x","operator":"In","values":["y"]}]},"matchLabelKeys":["x"]`
		hugePages = `{"hugepages-2Mi":"1Mi","cpu":"1"}`
	)
	for name, c := range map[string]struct {
		template string
		// lasting: the update of the stored template is refused as well.
		lasting string
	}{
		"AllowInvalidPodDeletionCost":                  {template: `{"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"x"}}}`},
		"AllowInvalidLabelValueInSelector":             {template: `{"spec":{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k","labelSelector":` + label + `}]}}}}`},
		"AllowInvalidLabelValueInRequiredNodeAffinity": {template: `{"spec":{"affinity":` + nodeAffinity(`"operator":"In","values":["Bad!"]`) + `}}`},
		"AllowInvalidLabelValueInRequiredNodeAffinity, other faults": {template: `{"spec":{"affinity":` + nodeAffinity(`"operator":"Other","values":["b"]`) + `}}`,
			lasting: `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "Other": not a valid selector operator`},
		"AllowInvalidTopologySpreadConstraintLabelSelector": {template: spread(`"labelSelector":` + label)},
		"OldPodViolatesMatchLabelKeysValidation": {template: spread(merged),
			lasting: `spec.topologySpreadConstraints[0].matchLabelKeys[0]: Invalid value: "x": exists in both matchLabelKeys and labelSelector`},
		"OldPodViolatesMatchLabelKeysValidation, no selector": {template: spread(`"matchLabelKeys":["x"]`),
			lasting: `spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`},
		"AllowIndivisibleHugePagesValues":            {template: `{"spec":{"containers":[` + container(`"resources":{"limits":`+hugePages+`,"requests":`+hugePages+`}`) + `]}}`},
		"AllowIndivisibleHugePagesValues, overhead":  {template: `{"spec":{"overhead":` + hugePages + `}}`},
		"AllowNonLocalProjectedTokenPath":            {template: `{"spec":{"volumes":[{"name":"v","projected":{"defaultMode":420,"sources":[{"serviceAccountToken":{"path":"../a","expirationSeconds":3600}}]}}]}}`},
		"AllowNamespacedSysctlsForHostNetAndHostIPC": {template: `{"spec":{"hostIPC":true,"securityContext":{"sysctls":[{"name":"kernel.shmmax","value":"1"}]}}}`},
		"AllowExistingRestartContainerForNonSidecarInitContainer": {template: `{"spec":{"initContainers":[` +
			container(`"resizePolicy":[{"resourceName":"cpu","restartPolicy":"RestartContainer"}]`) + `]}}`},
		"AllowUserNamespacesWithVolumeDevices": {template: `{"spec":{"hostUsers":false,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}],"containers":[` +
			container(`"volumeDevices":[{"name":"v","devicePath":"/d"}]`) + `]}}`},
		"AllowUserNamespacesHostNetworkSupport":   {template: `{"spec":{"hostUsers":false,"hostNetwork":true}}`},
		"AllowTaintTolerationComparisonOperators": {template: `{"spec":{"tolerations":[{"key":"a","operator":"Gt","value":"1"}]}}`},
		"AllowTaintTolerationComparisonOperators, annotation": {template: `{"metadata":{"annotations":{"scheduler.alpha.kubernetes.io/tolerations":"[{\"key\":\"a\",\"operator\":\"Gt\",\"value\":\"1\"}]"}},` +
			`"spec":{"tolerations":[{"key":"a","operator":"Gt","value":"1"}]}}`},
		"AllowEmptyImageVolumeReference":            {template: `{"spec":{"volumes":[{"name":"v","image":{"pullPolicy":"Always"}}]}}`},
		"AllowSysAdminWhenPrivilegeEscalationFalse": {template: `{"spec":{"containers":[` + container(`"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"add":["CAP_SYS_ADMIN"]}}`) + `]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			stored := templateOf(t, c.template)
			if got := faultsOf(stored, nil); got == "" {
				t.Error("the template can be created")
			}
			if got := faultsOf(stored, templateOf(t, `{}`)); got == "" {
				t.Error("an update can bring the fault in")
			}
			if got := faultsOf(stored, stored); got != c.lasting {
				t.Errorf("update of the stored template: %q, want %q", got, c.lasting)
			}
		})
	}
	// A stored container without allowPrivilegeEscalation allows it to become false.
	stored := templateOf(t, `{"spec":{"containers":[`+container(`"securityContext":{"capabilities":{"add":["CAP_SYS_ADMIN"]}}`)+`]}}`)
	now := stored.DeepCopy()
	now.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(false)
	if got := faultsOf(now, stored); got != "" {
		t.Errorf("CAP_SYS_ADMIN without allowPrivilegeEscalation: %s", got)
	}
}

// TestSysctlNamespaces checks which kernel parameters belong to a namespace of the node.
func TestSysctlNamespaces(t *testing.T) {
	for name, shared := range map[string]bool{
		"kernel.shm_rmid_forced": true, "kernel.msgmax": true, "kernel/sem": true, "fs.mqueue.a": true,
		"kernel.shm_other": false, "kernel.msg_other": false, "net.a": false,
	} {
		c := podCheck{spec: &corev1.PodSpec{HostIPC: true}}
		faults := validation.Check(func(at *validation.Path) { at.Add(c.hostSysctl(at, name)...) })
		if (len(faults) > 0) != shared {
			t.Errorf("%s: %v", name, faults)
		}
		if shared && faults[0].BadValue != name {
			t.Errorf("the error for %s has the value %v", name, faults[0].BadValue)
		}
	}
}

func container(fields string) string {
	return `{"name":"c","image":"i","terminationMessagePolicy":"File","imagePullPolicy":"Always",` + fields + `}`
}

func nodeAffinity(requirement string) string {
	return `{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a",` + requirement + `}]}]}}}`
}

func spread(fields string) string {
	return `{"spec":{"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule",` + fields + `}]}}`
}

// templateOf returns a valid template with the fields of data. A list of data replaces the valid one.
func templateOf(t *testing.T, data string) *corev1.PodTemplateSpec {
	t.Helper()
	template := &corev1.PodTemplateSpec{}
	if err := json.Unmarshal([]byte(data), template); err != nil {
		t.Fatal(err)
	}
	s := &template.Spec
	s.RestartPolicy, s.DNSPolicy, s.TerminationGracePeriodSeconds = corev1.RestartPolicyAlways, corev1.DNSClusterFirst, new(int64(30))
	if s.Containers == nil {
		if err := json.Unmarshal([]byte(`[`+container(`"stdin":false`)+`]`), &s.Containers); err != nil {
			t.Fatal(err)
		}
	}
	if s.InitContainers != nil {
		s.InitContainers[0].Name = "init"
	}
	return template
}

func faultsOf(template, old *corev1.PodTemplateSpec) string {
	errs := validation.Check(func(at *validation.Path) { TemplateRules(at, template, old) })
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}
