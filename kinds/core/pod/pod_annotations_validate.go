package pod

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Annotations of pods that the server interprets.
const (
	mirrorAnnotation     = corev1.MirrorPodAnnotationKey
	tolerationAnnotation = corev1.TolerationsAnnotationKey
	seccompPod           = "seccomp.security.alpha.kubernetes.io/pod"
	seccompContainer     = "container.seccomp.security.alpha.kubernetes.io/"
	appArmorContainer    = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix
	localhostProfile     = "localhost/"
)

// annotationRules validates the annotations of a pod or pod template that the server interprets.
func annotationRules(at *validation.Path, annotations map[string]string, s *corev1.PodSpec, lenient annotationLeniency) {
	if len(annotations) == 0 {
		return
	}
	if value, ok := annotations[mirrorAnnotation]; ok && s.NodeName == "" {
		at.Key(mirrorAnnotation).Invalid(value, "must set spec.nodeName if mirror pod annotation is set")
	}
	if value := annotations[tolerationAnnotation]; value != "" {
		var list []corev1.Toleration
		if err := json.Unmarshal([]byte(value), &list); err != nil {
			at.Invalid(tolerationAnnotation, err.Error())
		} else {
			TolerationRules(at.Child(tolerationAnnotation), list, lenient.comparisons || at.Enabled(features.TaintTolerationComparisonOperators))
		}
	}
	if cost := annotations[corev1.PodDeletionCost]; !lenient.deletionCost && hasInvalidDeletionCost(annotations) &&
		at.Enabled(features.PodDeletionCost) {
		at.Key(corev1.PodDeletionCost).Invalid(cost, "must be a 32bit integer")
	}
	for _, key := range validation.SortedKeys(annotations) {
		value := annotations[key]
		if key == seccompPod || strings.HasPrefix(key, seccompContainer) {
			seccompName(at.Child(key), value)
		}
		if name, ok := strings.CutPrefix(key, appArmorContainer); ok {
			appArmorName(at.Key(key), value, name, s)
		}
	}
}

// TemplateAnnotationRules validates the annotations of a pod template. old is the stored template, or nil.
func TemplateAnnotationRules(at *validation.Path, t, old *corev1.PodTemplateSpec) {
	var lenient annotationLeniency
	if old != nil {
		lenient = annotationFailings(old.Annotations, &old.Spec)
	}
	annotationRules(at.Child("annotations"), t.Annotations, &t.Spec, lenient)
}

func hasInvalidDeletionCost(annotations map[string]string) bool {
	cost, ok := annotations[corev1.PodDeletionCost]
	return ok && !canonicalInt32(cost)
}

func seccompName(at *validation.Path, profile string) {
	switch local, ok := strings.CutPrefix(profile, localhostProfile); {
	case ok:
		descendingPath(at, local)
	case profile != "runtime/default" && profile != "docker/default" && profile != "unconfined":
		at.Invalid(profile, "must be a valid seccomp profile")
	}
}

func appArmorName(at *validation.Path, profile, container string, s *corev1.PodSpec) {
	found := false
	visitContainers(at, s, func(_ *validation.Path, ctr *corev1.Container) { found = found || ctr.Name == container })
	if !found {
		at.Invalid(container, "container not found")
	}
	switch profile {
	case "", corev1.DeprecatedAppArmorBetaProfileRuntimeDefault, corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return
	}
	if !strings.HasPrefix(profile, localhostProfile) {
		at.Invalid(profile, fmt.Sprintf("invalid AppArmor profile name: %q", profile))
	}
}

// profileAnnotationRules validates that the profiles in deprecated annotations equal those in
// fields. at is the path of the spec.
func profileAnnotationRules(at *validation.Path, annotations map[string]string, s *corev1.PodSpec) {
	if len(annotations) == 0 {
		return
	}
	var ofPod *corev1.AppArmorProfile
	if c := s.SecurityContext; c != nil {
		ofPod = c.AppArmorProfile
		if value, ok := annotations[seccompPod]; ok && c.SeccompProfile != nil {
			sameSeccomp(at.Child("securityContext").Child("seccompProfile"), value, c.SeccompProfile)
		}
	}
	visitContainers(at, s, func(at *validation.Path, ctr *corev1.Container) {
		c := ctr.SecurityContext
		if value, ok := annotations[seccompContainer+ctr.Name]; ok && c != nil && c.SeccompProfile != nil {
			sameSeccomp(at.Child("securityContext").Child("seccompProfile"), value, c.SeccompProfile)
		}
	})
	if s.OS != nil && s.OS.Name == corev1.Windows {
		return
	}
	visitContainers(at, s, func(at *validation.Path, ctr *corev1.Container) {
		c, profile := ctr.SecurityContext, ofPod
		if c != nil && c.AppArmorProfile != nil {
			profile = c.AppArmorProfile
		}
		if value, ok := annotations[appArmorContainer+ctr.Name]; ok && profile != nil {
			sameAppArmor(at.Child("securityContext").Child("appArmorProfile"), value, profile)
		}
	})
}

// annotatedAppArmor calls visit for the containers whose AppArmor profile is in an annotation, with
// the key of the annotation and the profile, which is nil if it is invalid.
func annotatedAppArmor(p *corev1.Pod, visit func(ctr *corev1.Container, key string, profile *corev1.AppArmorProfile)) {
	if len(p.Annotations) == 0 || p.Spec.OS != nil && p.Spec.OS.Name == corev1.Windows {
		return
	}
	eachContainerOf(&p.Spec, func(ctr *corev1.Container) {
		key := appArmorContainer + ctr.Name
		value, ok := p.Annotations[key]
		if !ok || ctr.SecurityContext != nil && ctr.SecurityContext.AppArmorProfile != nil {
			return
		}
		profile := annotatedProfile(value)
		if len(validation.Check(func(at *validation.Path) { appArmorRules(at, profile) })) > 0 {
			profile = nil
		}
		visit(ctr, key, profile)
	})
}

// annotatedProfile returns the AppArmor profile that the value of an annotation names, or nil.
func annotatedProfile(value string) *corev1.AppArmorProfile {
	switch value {
	case corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	}
	if local, ok := strings.CutPrefix(value, localhostProfile); ok && local != "" {
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &local}
	}
	return nil
}

// podAppArmor returns the AppArmor profile of the pod, or nil.
func podAppArmor(s *corev1.PodSpec) *corev1.AppArmorProfile {
	if s.SecurityContext == nil {
		return nil
	}
	return s.SecurityContext.AppArmorProfile
}

const appArmorDeprecation = `deprecated since v1.30; use the "appArmorProfile" field instead`

// appArmorWarnings warns about annotations that are invalid or have no corresponding field.
// Preparation sets the field, so the pod as it was sent is what matters.
func appArmorWarnings(p *corev1.Pod) []string {
	return validation.Warn(func(at *validation.Path) {
		annotatedAppArmor(p, func(_ *corev1.Container, key string, profile *corev1.AppArmorProfile) {
			if profile == nil || !equality.Semantic.DeepEqual(profile, podAppArmor(&p.Spec)) {
				at.Child("metadata").Child("annotations").Key(key).Warn(appArmorDeprecation)
			}
		})
	})
}

func sameSeccomp(at *validation.Path, value string, p *corev1.SeccompProfile) {
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
			at.Child("localhostProfile").Forbidden("seccomp profile in annotation and field must match")
		}
	}
	if !same {
		at.Child("type").Forbidden("seccomp type in annotation and field must match")
	}
}

func sameAppArmor(at *validation.Path, value string, p *corev1.AppArmorProfile) {
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
			at.Child("localhostProfile").Forbidden("apparmor profile in annotation and field must match")
		}
	}
	if !same {
		at.Child("type").Forbidden("apparmor type in annotation and field must match")
	}
}

// podAnnotationChanges validates an update of annotations. Those for AppArmor and mirror pods
// can only be set at creation.
func podAnnotationChanges(at *validation.Path, obj, stored *corev1.Pod) {
	values, old := obj.Annotations, stored.Annotations
	for _, key := range validation.SortedKeys(old) {
		if value, ok := values[key]; ok && value == old[key] {
			continue
		}
		if strings.HasPrefix(key, appArmorContainer) {
			at.Key(key).Forbidden("may not remove or update AppArmor annotations")
		}
		if key == mirrorAnnotation {
			at.Key(key).Forbidden("may not remove or update mirror pod annotation")
		}
	}
	for _, key := range validation.SortedKeys(values) {
		if _, ok := old[key]; ok {
			continue
		}
		if strings.HasPrefix(key, appArmorContainer) {
			at.Key(key).Forbidden("may not add AppArmor annotations")
		}
		if key == mirrorAnnotation {
			at.Key(key).Forbidden("may not add mirror pod annotation")
		}
	}
	annotationRules(at, values, &obj.Spec, annotationFailings(old, &stored.Spec))
}
