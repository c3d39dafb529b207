package pod

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// podWarnings returns the warnings for a new pod. Updates have none.
func podWarnings(gates features.Gates) func(pod *corev1.Pod) []string {
	return func(pod *corev1.Pod) []string {
		return validation.Warn(func(at *validation.Path) {
			HostnameWarning(at, pod.Name, "this is used in the Pod's hostname")
			PodSpecWarnings(at, &pod.ObjectMeta, &pod.Spec, false, gates)
		})
	}
}

// podStatusWarnings warns about addresses that are not in canonical form.
func podStatusWarnings(pod *corev1.Pod) []string {
	return validation.Warn(func(at *validation.Path) {
		status := at.Child("status")
		for i, ip := range pod.Status.PodIPs {
			validation.WarnIPForm(status.Child("podIPs").Index(i).Child("ip"), ip.IP)
		}
		for i, ip := range pod.Status.HostIPs {
			validation.WarnIPForm(status.Child("hostIPs").Index(i).Child("ip"), ip.IP)
		}
	})
}

// HostnameWarning warns about a name that is not a DNS label, because names of pods and hosts
// are made from it.
func HostnameWarning(at *validation.Path, name, use string) {
	if faults := utilvalidation.IsDNS1123Label(name); len(faults) > 0 {
		at.Child("metadata").Child("name").Warn(fmt.Sprintf("%s, which can result in surprising behavior; a DNS label is recommended: %v", use, faults))
	}
}

// NameUse is the reason in warnings about the names of objects from which the names of pods are made.
const NameUse = "this is used in Pod names and hostnames"

// WarnOfName is a check of a kind with a pod template that warns about the name of a new object, if the names of
// its pods are made from it.
func WarnOfName[T api.Object](w *api.Write[T]) {
	api.OnCreate(api.Warn(func(obj T) []string {
		return validation.Warn(func(at *validation.Path) { HostnameWarning(at, obj.GetName(), NameUse) })
	}))(w)
}

// TemplateWarnings returns the warnings of a kind with a pod template at path.
func TemplateWarnings[T api.Object](gates features.Gates, template func(T) *corev1.PodTemplateSpec,
	path ...string) func(obj, old T) []string {
	return func(obj, old T) []string {
		if !api.SpecChanged(obj, old) {
			return nil
		}
		return validation.Warn(func(at *validation.Path) {
			for _, name := range path {
				at = at.Child(name)
			}
			t := template(obj)
			PodSpecWarnings(at, &t.ObjectMeta, &t.Spec, true, gates)
		})
	}
}

// PodSpecWarnings adds the warnings about the spec of a pod or, if template is true, of a pod
// template.
func PodSpecWarnings(at *validation.Path, meta *metav1.ObjectMeta, s *corev1.PodSpec, template bool, gates features.Gates) {
	spec, annotations := at.Child("spec"), at.Child("metadata").Child("annotations")
	placementWarnings(spec, s)
	for _, a := range []struct{ key, text string }{
		{"scheduler.alpha.kubernetes.io/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`},
		{"security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
		{"security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
	} {
		if _, ok := meta.Annotations[a.key]; ok {
			annotations.Key(a.key).Warn(a.text)
		}
	}
	podVolumeWarnings(spec.Child("volumes"), s.Volumes, gates.Enabled(features.GitRepoVolumeDriver))
	podNameWarnings(spec, s)
	wholeBytes(spec.Child("overhead"), s.Overhead)
	const seccomp = `non-functional in v1.27+; use the "seccompProfile" field instead`
	if _, ok := meta.Annotations[corev1.SeccompPodAnnotationKey]; ok && (s.SecurityContext == nil || s.SecurityContext.SeccompProfile == nil) {
		annotations.Key(corev1.SeccompPodAnnotationKey).Warn(seccomp)
	}
	visitContainers(spec, s, func(at *validation.Path, c *corev1.Container) {
		key := corev1.SeccompContainerAnnotationKeyPrefix + c.Name
		if _, ok := meta.Annotations[key]; ok && (c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil) {
			annotations.Key(key).Warn(seccomp)
		}
		key = appArmorContainer + c.Name
		if value, ok := meta.Annotations[key]; ok && template && (c.SecurityContext == nil || c.SecurityContext.AppArmorProfile == nil) {
			if ofPod := podAppArmor(s); ofPod == nil || !equality.Semantic.DeepEqual(ofPod, annotatedProfile(value)) {
				annotations.Key(key).Warn(appArmorDeprecation)
			}
		}
		wholeBytes(at.Child("resources").Child("limits"), c.Resources.Limits)
		wholeBytes(at.Child("resources").Child("requests"), c.Resources.Requests)
		envWarnings(at.Child("env"), c.Env)
	})
	portWarnings(spec, s)
	if g := s.TerminationGracePeriodSeconds; g != nil && *g < 0 {
		spec.Child("terminationGracePeriodSeconds").Warn("must be >= 0; negative values are invalid and will be treated as 1")
	}
	if s.Affinity != nil {
		affinityWarnings(spec.Child("affinity"), s.Affinity)
	}
	if s.DNSConfig != nil {
		for i, server := range s.DNSConfig.Nameservers {
			validation.WarnIPForm(spec.Child("dnsConfig").Child("nameservers").Index(i), server)
		}
	}
	for i, alias := range s.HostAliases {
		validation.WarnIPForm(spec.Child("hostAliases").Index(i).Child("ip"), alias.IP)
	}
}

// placementWarnings warns about node selectors, affinity and topology spread constraints.
func placementWarnings(spec *validation.Path, s *corev1.PodSpec) {
	for _, key := range validation.SortedKeys(s.NodeSelector) {
		if instead := validation.NodeLabelDeprecation(key); instead != "" {
			spec.Child("nodeSelector").Key(key).Warn(instead)
		}
	}
	if s.Affinity != nil && s.Affinity.NodeAffinity != nil {
		at := spec.Child("affinity").Child("nodeAffinity")
		if r := s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			for i := range r.NodeSelectorTerms {
				validation.NodeTermWarnings(at.Child("requiredDuringSchedulingIgnoredDuringExecution").Child("nodeSelectorTerms").Index(i), &r.NodeSelectorTerms[i], false)
			}
		}
		for i := range s.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			p := &s.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
			validation.NodeTermWarnings(at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("preference"),
				&p.Preference, true)
		}
	}
	for i := range s.TopologySpreadConstraints {
		c := &s.TopologySpreadConstraints[i]
		at := spec.Child("topologySpreadConstraints").Index(i)
		validation.WarnDeprecatedNodeLabel(at.Child("topologyKey"), c.TopologyKey)
		someSelector(at, c.LabelSelector)
	}
}

// someSelector warns about a nil selector where nil selects nothing.
func someSelector(at *validation.Path, s *metav1.LabelSelector) {
	if s == nil {
		at.Child("labelSelector").Warn("a null labelSelector results in matching no pod")
	}
}

func affinityWarnings(at *validation.Path, a *corev1.Affinity) {
	terms := func(at *validation.Path, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			someSelector(at.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i), required[i].LabelSelector)
		}
		for i := range preferred {
			someSelector(at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("podAffinityTerm"),
				preferred[i].PodAffinityTerm.LabelSelector)
		}
	}
	if p := a.PodAffinity; p != nil {
		terms(at.Child("podAffinity"), p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		terms(at.Child("podAntiAffinity"), p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

// podNameWarnings warns about duplicate names and addresses.
func podNameWarnings(spec *validation.Path, s *corev1.PodSpec) {
	seen := map[string]bool{}
	for i, alias := range s.HostAliases {
		if seen[alias.IP] {
			spec.Child("hostAliases").Index(i).Child("ip").Warn(fmt.Sprintf("duplicate ip %q", alias.IP))
		}
		seen[alias.IP] = true
	}
	clear(seen)
	for i, secret := range s.ImagePullSecrets {
		if seen[secret.Name] {
			spec.Child("imagePullSecrets").Index(i).Child("name").Warn(fmt.Sprintf("duplicate name %q", secret.Name))
		}
		seen[secret.Name] = true
	}
	for i, secret := range s.ImagePullSecrets {
		if secret.Name == "" {
			spec.Child("imagePullSecrets").Index(i).Child("name").Warn(`invalid empty name ""`)
		}
	}
}

// wholeBytes warns about fractions of bytes.
func wholeBytes(at *validation.Path, list corev1.ResourceList) {
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if value, ok := list[name]; ok {
			validation.WarnFractionalBytes(at.Key(string(name)), value)
		}
	}
}

// envWarnings warns about variables that are set twice, unless the later value extends the
// earlier one.
func envWarnings(at *validation.Path, env []corev1.EnvVar) {
	if len(env) < 2 {
		return
	}
	seen := make(map[string]bool, len(env))
	for i, v := range env {
		reference := "$(" + v.Name + ")"
		if seen[v.Name] && (v.ValueFrom != nil || v.Value == reference || !strings.Contains(v.Value, reference)) {
			at.Index(i).Warn(fmt.Sprintf("hides previous definition of %q, which may be dropped when using apply", v.Name))
		}
		seen[v.Name] = true
	}
}

// maxCompared is the number of pairs of ports, or of files of a volume, that are compared for warnings.
// Further pairs have none, so that a pod with many does not cost the square of their number.
const maxCompared = 1 << 20

// portWarnings warns about duplicate ports in all containers.
func portWarnings(spec *validation.Path, s *corev1.PodSpec) {
	type portKey struct {
		port     int32
		protocol corev1.Protocol
	}
	type defined struct {
		at   *validation.Path
		port corev1.ContainerPort
	}
	seen, names, compared := map[portKey][]defined{}, map[string]*validation.Path{}, 0
	visitContainers(spec, s, func(at *validation.Path, c *corev1.Container) {
		for i, port := range c.Ports {
			at := at.Child("ports").Index(i)
			if port.HostIP != "" && port.HostPort == 0 {
				at.Warn(fmt.Sprintf("hostIP set without hostPort: %+v", port))
			}
			key := portKey{port.ContainerPort, port.Protocol}
			for _, other := range seen[key] {
				if compared++; compared > maxCompared || at.IsFull() {
					break
				}
				if how := portConflict(&port, &other.port); how != "" {
					at.Warn(how + " port definition with " + other.at.ToField().String())
				}
			}
			seen[key] = append(seen[key], defined{at, port})
		}
	})
	visitContainers(spec, s, func(at *validation.Path, c *corev1.Container) {
		for i, port := range c.Ports {
			at := at.Child("ports").Index(i)
			if first := names[port.Name]; port.Name != "" && first != nil {
				at.Warn(fmt.Sprintf("duplicate port name %q with %s, services and probes that select ports by name will use %[2]s",
					port.Name, first.ToField()))
			} else if port.Name != "" {
				names[port.Name] = at
			}
		}
	})
}

// portConflict describes how two definitions of a port conflict; empty if they don't.
func portConflict(a, b *corev1.ContainerPort) string {
	switch {
	case a.HostIP == b.HostIP && a.HostPort == b.HostPort:
		return "duplicate"
	case a.HostPort == 0 || b.HostPort == 0:
		return "overlapping"
	case a.HostPort == b.HostPort && (a.HostIP == "") != (b.HostIP == ""):
		return "dangerously ambiguous"
	}
	return ""
}
