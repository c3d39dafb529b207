package api

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// podWarnings are said when a pod is made, and not of every change of it.
func podWarnings(obj, old Object) []string {
	if old != nil {
		return nil
	}
	pod := obj.(*corev1.Pod)
	return warn(func(at *place) {
		hostnameWarning(at, pod.Name, "this is used in the Pod's hostname")
		for i := range pod.Spec.Containers {
			key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + pod.Spec.Containers[i].Name
			if _, ok := pod.Annotations[key]; ok && !hasAppArmor(&pod.Spec, &pod.Spec.Containers[i]) {
				at.of("metadata").of("annotations").key(key).warn(`deprecated since v1.30; use the "appArmorProfile" field instead`)
			}
		}
		podSpecWarnings(at, &pod.ObjectMeta, &pod.Spec, false)
	})
}

// hostnameWarning is about names that pods are called by.
func hostnameWarning(at *place, name, use string) {
	if faults := validation.IsDNS1123Label(name); len(faults) > 0 {
		at.of("metadata").of("name").warn(fmt.Sprintf("%s, which can result in surprising behavior; a DNS label is recommended: %v", use, faults))
	}
}

// templateWarnings makes the warnings of a kind with a pod template, which is at
// path.
func templateWarnings(template func(Object) *corev1.PodTemplateSpec, path ...string) func(obj, old Object) []string {
	return func(obj, old Object) []string {
		if !edited(obj, old) {
			return nil
		}
		return warn(func(at *place) {
			for _, name := range path {
				at = at.of(name)
			}
			t := template(obj)
			podSpecWarnings(at, &t.ObjectMeta, &t.Spec, true)
		})
	}
}

// podSpecWarnings are about a pod or, if template is set, about what pods are to
// be made of.
func podSpecWarnings(at *place, meta *metav1.ObjectMeta, s *corev1.PodSpec, template bool) {
	spec, annotations := at.of("spec"), at.of("metadata").of("annotations")
	placementWarnings(spec, s)
	for _, a := range []struct{ key, text string }{
		{"scheduler.alpha.kubernetes.io/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`},
		{"security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
		{"security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
	} {
		if _, ok := meta.Annotations[a.key]; ok {
			annotations.key(a.key).warn(a.text)
		}
	}
	podVolumeWarnings(spec.of("volumes"), s.Volumes)
	podNameWarnings(spec, s)
	wholeBytes(spec.of("overhead"), s.Overhead)
	const seccomp = `non-functional in v1.27+; use the \"seccompProfile\" field instead`
	if _, ok := meta.Annotations[corev1.SeccompPodAnnotationKey]; ok && (s.SecurityContext == nil || s.SecurityContext.SeccompProfile == nil) {
		annotations.key(corev1.SeccompPodAnnotationKey).warn(seccomp)
	}
	everyContainer(spec, s, func(at *place, c *corev1.Container) {
		key := corev1.SeccompContainerAnnotationKeyPrefix + c.Name
		if _, ok := meta.Annotations[key]; ok && (c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil) {
			annotations.key(key).warn(seccomp)
		}
		key = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + c.Name
		if _, ok := meta.Annotations[key]; ok && template && !hasAppArmor(s, c) {
			annotations.key(key).warn(`deprecated since v1.30; use the \"appArmorProfile\" field instead`)
		}
		wholeBytes(at.of("resources").of("limits"), c.Resources.Limits)
		wholeBytes(at.of("resources").of("requests"), c.Resources.Requests)
		envWarnings(at.of("env"), c.Env)
	})
	portWarnings(spec, s)
	if g := s.TerminationGracePeriodSeconds; g != nil && *g < 0 {
		spec.of("terminationGracePeriodSeconds").warn("must be >= 0; negative values are invalid and will be treated as 1")
	}
	if s.Affinity != nil {
		affinityWarnings(spec.of("affinity"), s.Affinity)
	}
}

func hasAppArmor(s *corev1.PodSpec, c *corev1.Container) bool {
	return s.SecurityContext != nil && s.SecurityContext.AppArmorProfile != nil ||
		c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil
}

// everyContainer goes over the containers of every sort.
func everyContainer(spec *place, s *corev1.PodSpec, f func(at *place, c *corev1.Container)) {
	for i := range s.InitContainers {
		f(spec.of("initContainers").item(i), &s.InitContainers[i])
	}
	for i := range s.Containers {
		f(spec.of("containers").item(i), &s.Containers[i])
	}
	for i := range s.EphemeralContainers {
		c := corev1.Container(s.EphemeralContainers[i].EphemeralContainerCommon)
		f(spec.of("ephemeralContainers").item(i), &c)
	}
}

// placementWarnings are about where a pod is to run.
func placementWarnings(spec *place, s *corev1.PodSpec) {
	for _, key := range sortedKeys(s.NodeSelector) {
		if instead := oldNodeLabel(key); instead != "" {
			spec.of("nodeSelector").key(key).warn(instead)
		}
	}
	if s.Affinity != nil && s.Affinity.NodeAffinity != nil {
		at := spec.of("affinity").of("nodeAffinity")
		if r := s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			for i := range r.NodeSelectorTerms {
				nodeTermWarnings(at.of("requiredDuringSchedulingIgnoredDuringExecution").of("nodeSelectorTerms").item(i), &r.NodeSelectorTerms[i], false)
			}
		}
		for i := range s.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			p := &s.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
			nodeTermWarnings(at.of("preferredDuringSchedulingIgnoredDuringExecution").item(i).of("preference"), &p.Preference, true)
		}
	}
	for i := range s.TopologySpreadConstraints {
		c := &s.TopologySpreadConstraints[i]
		at := spec.of("topologySpreadConstraints").item(i)
		currentLabel(at.of("topologyKey"), c.TopologyKey)
		someSelector(at, c.LabelSelector)
	}
}

// someSelector warns of a selector that is not there, where that means nothing
// and not everything.
func someSelector(at *place, s *metav1.LabelSelector) {
	if s == nil {
		at.of("labelSelector").warn("a null labelSelector results in matching no pod")
	}
}

func affinityWarnings(at *place, a *corev1.Affinity) {
	terms := func(at *place, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			someSelector(at.of("requiredDuringSchedulingIgnoredDuringExecution").item(i), required[i].LabelSelector)
		}
		for i := range preferred {
			someSelector(at.of("preferredDuringSchedulingIgnoredDuringExecution").item(i).of("podAffinityTerm"), preferred[i].PodAffinityTerm.LabelSelector)
		}
	}
	if p := a.PodAffinity; p != nil {
		terms(at.of("podAffinity"), p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		terms(at.of("podAntiAffinity"), p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

// podVolumeWarnings are about volumes of kinds that are gone, and files that two
// sources of a volume write.
func podVolumeWarnings(at *place, volumes []corev1.Volume) {
	tokens := map[string]bool{}
	for i := range volumes {
		v, at := &volumes[i], at.item(i)
		for _, w := range []struct {
			set         bool
			field, text string
		}{
			{v.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
			{v.GitRepo != nil, "gitRepo", "deprecated in v1.11"},
			{v.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
			{v.Flocker != nil, "flocker", "deprecated in v1.22, non-functional in v1.25+"},
			{v.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
			{v.Quobyte != nil, "quobyte", "deprecated in v1.22, non-functional in v1.25+"},
			{v.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
		} {
			if w.set {
				at.of(w.field).warn(w.text)
			}
		}
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			claimSpecWarnings(at.of("ephemeral").of("volumeClaimTemplate").of("spec"), &v.Ephemeral.VolumeClaimTemplate.Spec)
		}
		if v.CephFS != nil {
			at.of("cephfs").warn("deprecated in v1.28, non-functional in v1.31+")
		}
		if v.RBD != nil {
			at.of("rbd").warn("deprecated in v1.28, non-functional in v1.31+")
		}
		if v.Projected != nil {
			for _, source := range v.Projected.Sources {
				if t := source.ServiceAccountToken; t != nil {
					tokens[t.Path] = true
				}
			}
		}
	}
	if len(tokens) == 0 {
		return
	}
	for i := range volumes {
		if p := volumes[i].Projected; p != nil {
			tokenPathWarnings(at.item(i).of("projected").of("sources"), p.Sources, tokens)
		}
	}
}

// tokenPathWarnings are about files that would be in the place of tokens.
func tokenPathWarnings(at *place, sources []corev1.VolumeProjection, tokens map[string]bool) {
	twice := func(at *place, path string) {
		if tokens[path] {
			at.warn(fmt.Sprintf("has duplicated path with ServiceAccountToken %q", path))
		}
	}
	for _, source := range sources {
		if m := source.ConfigMap; m != nil {
			for j := range m.Items {
				twice(at.of("configMap").item(j), m.Items[j].Path)
			}
		}
		if s := source.Secret; s != nil {
			for j := range s.Items {
				twice(at.of("secrets").item(j), s.Items[j].Path)
			}
		}
		if d := source.DownwardAPI; d != nil {
			for j := range d.Items {
				twice(at.of("downwardAPI").item(j), d.Items[j].Path)
			}
		}
		if b := source.ClusterTrustBundle; b != nil {
			twice(at.of("ClusterTrustBundle"), b.Path)
		}
	}
}

// podNameWarnings are about lists in which a name or an address should stand
// once, and be written as it is usual.
func podNameWarnings(spec *place, s *corev1.PodSpec) {
	seen := map[string]bool{}
	for i, alias := range s.HostAliases {
		if seen[alias.IP] {
			spec.of("hostAliases").item(i).of("ip").warn(fmt.Sprintf("duplicate ip %q", alias.IP))
		}
		seen[alias.IP] = true
	}
	clear(seen)
	for i, secret := range s.ImagePullSecrets {
		if seen[secret.Name] {
			spec.of("imagePullSecrets").item(i).of("name").warn(fmt.Sprintf("duplicate name %q", secret.Name))
		}
		seen[secret.Name] = true
	}
	for i, secret := range s.ImagePullSecrets {
		if secret.Name == "" {
			spec.of("imagePullSecrets").item(i).of("name").warn(`invalid empty name ""`)
		}
	}
	if s.DNSConfig != nil {
		for i, server := range s.DNSConfig.Nameservers {
			plainIP(spec.of("dnsConfig").of("nameservers").item(i), server)
		}
	}
	for i, alias := range s.HostAliases {
		plainIP(spec.of("hostAliases").item(i).of("ip"), alias.IP)
	}
}

// wholeBytes warns of parts of bytes.
func wholeBytes(at *place, list corev1.ResourceList) {
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if value, ok := list[name]; ok {
			wholeByte(at.key(string(name)), value)
		}
	}
}

func wholeByte(at *place, value resource.Quantity) {
	if value.MilliValue()%1000 != 0 {
		at.warn(fmt.Sprintf("fractional byte value %q is invalid, must be an integer", value.String()))
	}
}

// envWarnings are about variables that are set twice. A value that is made of the
// one before may be meant.
func envWarnings(at *place, env []corev1.EnvVar) {
	if len(env) < 2 {
		return
	}
	seen := make(map[string]bool, len(env))
	for i, v := range env {
		reference := "$(" + v.Name + ")"
		if seen[v.Name] && (v.ValueFrom != nil || v.Value == reference || !strings.Contains(v.Value, reference)) {
			at.item(i).warn(fmt.Sprintf("hides previous definition of %q, which may be dropped when using apply", v.Name))
		}
		seen[v.Name] = true
	}
}

// portWarnings are about ports that are given twice, in any of the containers.
func portWarnings(spec *place, s *corev1.PodSpec) {
	type portKey struct {
		port     int32
		protocol corev1.Protocol
	}
	type defined struct {
		at   *place
		port corev1.ContainerPort
	}
	seen := map[portKey][]defined{}
	everyContainer(spec, s, func(at *place, c *corev1.Container) {
		for i, port := range c.Ports {
			at := at.of("ports").item(i)
			if port.HostIP != "" && port.HostPort == 0 {
				at.warn(fmt.Sprintf("hostIP set without hostPort: %+v", port))
			}
			key := portKey{port.ContainerPort, port.Protocol}
			for _, other := range seen[key] {
				if how := overlap(&port, &other.port); how != "" {
					at.warn(how + " port definition with " + other.at.path().String())
				}
			}
			seen[key] = append(seen[key], defined{at, port})
		}
	})
}

// overlap tells how two definitions of a port get into each other's way.
func overlap(a, b *corev1.ContainerPort) string {
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
