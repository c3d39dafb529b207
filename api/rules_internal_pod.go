package api

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The one type whose internal form has another shape is the spec of a pod: its
// fields are in another order, and what it shares with its node is part of the
// security context.
const (
	podSpecOrder = "Volumes InitContainers Containers EphemeralContainers RestartPolicy TerminationGracePeriodSeconds " +
		"ActiveDeadlineSeconds DNSPolicy NodeSelector ServiceAccountName AutomountServiceAccountToken NodeName SecurityContext " +
		"ImagePullSecrets Hostname Subdomain SetHostnameAsFQDN Affinity SchedulerName Tolerations HostAliases PriorityClassName " +
		"Priority PreemptionPolicy DNSConfig ReadinessGates RuntimeClassName Overhead EnableServiceLinks TopologySpreadConstraints " +
		"OS SchedulingGates ResourceClaims Resources HostnameOverride SchedulingGroup"
	sharedOrder      = "HostNetwork HostPID HostIPC ShareProcessNamespace HostUsers"
	podSecurityOrder = "SELinuxOptions WindowsOptions RunAsUser RunAsGroup RunAsNonRoot SupplementalGroups SupplementalGroupsPolicy " +
		"FSGroup FSGroupChangePolicy Sysctls SeccompProfile AppArmorProfile SELinuxChangePolicy"
)

// unnamedPodSpec shows the spec of a pod.
func unnamedPodSpec(v reflect.Value) orderedFields {
	fields := fieldsInOrder(v, podSpecOrder)
	for i := range fields {
		if fields[i].name != "SecurityContext" {
			continue
		}
		if c := v.FieldByName("SecurityContext"); !c.IsNil() {
			shared := fieldsInOrder(v, sharedOrder)
			fields[i].value = append(shared, fieldsInOrder(c.Elem(), podSecurityOrder)...)
		}
	}
	return fields
}

func fieldsInOrder(v reflect.Value, names string) orderedFields {
	var fields orderedFields
	for _, name := range strings.Fields(names) {
		if f := v.FieldByName(name); f.IsValid() {
			fields = append(fields, orderedField{name, unnamedValue(f)})
		}
	}
	return fields
}

func isPodSpec(v reflect.Value) bool { return v.Type() == reflect.TypeFor[corev1.PodSpec]() }
