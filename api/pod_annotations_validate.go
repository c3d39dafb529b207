package api

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Annotations of pods that mean something to the server.
const (
	mirrorAnnotation     = corev1.MirrorPodAnnotationKey
	tolerationAnnotation = corev1.TolerationsAnnotationKey
	seccompPod           = "seccomp.security.alpha.kubernetes.io/pod"
	seccompContainer     = "container.seccomp.security.alpha.kubernetes.io/"
	appArmorContainer    = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix
	localhostProfile     = "localhost/"
)

func podAnnotationRules(at *place, annotations map[string]string, s *corev1.PodSpec) {
	if len(annotations) == 0 {
		return
	}
	if value, ok := annotations[mirrorAnnotation]; ok && s.NodeName == "" {
		at.key(mirrorAnnotation).invalid(value, "must set spec.nodeName if mirror pod annotation is set")
	}
	if value := annotations[tolerationAnnotation]; value != "" {
		var list []corev1.Toleration
		if err := json.Unmarshal([]byte(value), &list); err != nil {
			at.invalid(tolerationAnnotation, err.Error())
		} else {
			tolerationRules(at.of(tolerationAnnotation), list, false)
		}
	}
	if cost, ok := annotations[corev1.PodDeletionCost]; ok && !canonicalInt32(cost) {
		at.key(corev1.PodDeletionCost).invalid(cost, "must be a 32bit integer")
	}
	for _, key := range sortedKeys(annotations) {
		value := annotations[key]
		if key == seccompPod || strings.HasPrefix(key, seccompContainer) {
			seccompName(at.of(key), value)
		}
		if name, ok := strings.CutPrefix(key, appArmorContainer); ok {
			appArmorName(at.key(key), value, name, s)
		}
	}
}

func seccompName(at *place, profile string) {
	switch local, ok := strings.CutPrefix(profile, localhostProfile); {
	case ok:
		descendingPath(at, local)
	case profile != "runtime/default" && profile != "docker/default" && profile != "unconfined":
		at.invalid(profile, "must be a valid seccomp profile")
	}
}

func appArmorName(at *place, profile, container string, s *corev1.PodSpec) {
	found := false
	visitContainers(at, s, func(_ *place, ctr *corev1.Container) { found = found || ctr.Name == container })
	if !found {
		at.invalid(container, "container not found")
	}
	switch profile {
	case "", corev1.DeprecatedAppArmorBetaProfileRuntimeDefault, corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return
	}
	if !strings.HasPrefix(profile, localhostProfile) {
		at.invalid(profile, fmt.Sprintf("invalid AppArmor profile name: %q", profile))
	}
}

// profileAnnotationRules: what an annotation says as well as a field, both say
// alike. at is the spec.
func profileAnnotationRules(at *place, annotations map[string]string, s *corev1.PodSpec) {
	if len(annotations) == 0 {
		return
	}
	var ofPod *corev1.AppArmorProfile
	if c := s.SecurityContext; c != nil {
		ofPod = c.AppArmorProfile
		if value, ok := annotations[seccompPod]; ok && c.SeccompProfile != nil {
			sameSeccomp(at.of("securityContext").of("seccompProfile"), value, c.SeccompProfile)
		}
	}
	visitContainers(at, s, func(at *place, ctr *corev1.Container) {
		c := ctr.SecurityContext
		if value, ok := annotations[seccompContainer+ctr.Name]; ok && c != nil && c.SeccompProfile != nil {
			sameSeccomp(at.of("securityContext").of("seccompProfile"), value, c.SeccompProfile)
		}
	})
	if s.OS != nil && s.OS.Name == corev1.Windows {
		return
	}
	visitContainers(at, s, func(at *place, ctr *corev1.Container) {
		c, profile := ctr.SecurityContext, ofPod
		if c != nil && c.AppArmorProfile != nil {
			profile = c.AppArmorProfile
		}
		if value, ok := annotations[appArmorContainer+ctr.Name]; ok && profile != nil {
			sameAppArmor(at.of("securityContext").of("appArmorProfile"), value, profile)
		}
	})
}

func sameSeccomp(at *place, value string, p *corev1.SeccompProfile) {
	same := true
	switch p.Type {
	case corev1.SeccompProfileTypeUnconfined:
		same = value == "unconfined"
	case corev1.SeccompProfileTypeRuntimeDefault:
		same = value == "runtime/default" || value == "docker/default"
	case corev1.SeccompProfileTypeLocalhost:
		local, ok := strings.CutPrefix(value, localhostProfile)
		same = ok
		if ok && (p.LocalhostProfile == nil || *p.LocalhostProfile != local) {
			at.of("localhostProfile").forbidden("seccomp profile in annotation and field must match")
		}
	}
	if !same {
		at.of("type").forbidden("seccomp type in annotation and field must match")
	}
}

func sameAppArmor(at *place, value string, p *corev1.AppArmorProfile) {
	same := true
	switch p.Type {
	case corev1.AppArmorProfileTypeUnconfined:
		same = value == corev1.DeprecatedAppArmorBetaProfileNameUnconfined
	case corev1.AppArmorProfileTypeRuntimeDefault:
		same = value == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault
	case corev1.AppArmorProfileTypeLocalhost:
		local, ok := strings.CutPrefix(value, localhostProfile)
		same = ok
		if ok && (p.LocalhostProfile == nil || *p.LocalhostProfile != local) {
			at.of("localhostProfile").forbidden("apparmor profile in annotation and field must match")
		}
	}
	if !same {
		at.of("type").forbidden("apparmor type in annotation and field must match")
	}
}

// podAnnotationChanges: some annotations stay as they are, and come with the pod
// or not at all.
func podAnnotationChanges(at *place, is, was map[string]string, s *corev1.PodSpec) {
	for _, key := range sortedKeys(was) {
		if value, ok := is[key]; ok && value == was[key] {
			continue
		}
		if strings.HasPrefix(key, appArmorContainer) {
			at.key(key).forbidden("may not remove or update AppArmor annotations")
		}
		if key == mirrorAnnotation {
			at.key(key).forbidden("may not remove or update mirror pod annotation")
		}
	}
	for _, key := range sortedKeys(is) {
		if _, ok := was[key]; ok {
			continue
		}
		if strings.HasPrefix(key, appArmorContainer) {
			at.key(key).forbidden("may not add AppArmor annotations")
		}
		if key == mirrorAnnotation {
			at.key(key).forbidden("may not add mirror pod annotation")
		}
	}
	podAnnotationRules(at, is, s)
}
