package controllers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setNamespaceConditions sets the conditions of a terminating namespace, in the order and with the
// texts of kube-controller-manager, and reports whether any changed.
func setNamespaceConditions(status *corev1.NamespaceStatus, content *namespaceContent, now time.Time) (changed bool) {
	for _, c := range content.conditions() {
		changed = setNamespaceCondition(status, c, now) || changed
	}
	return changed
}

// setNamespaceCondition sets a condition and reports whether it changed.
func setNamespaceCondition(status *corev1.NamespaceStatus, c corev1.NamespaceCondition, now time.Time) bool {
	c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
	i := slices.IndexFunc(status.Conditions, func(old corev1.NamespaceCondition) bool { return old.Type == c.Type })
	if i < 0 {
		status.Conditions = append(status.Conditions, c)
		return true
	}
	old := &status.Conditions[i]
	if old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	if *old == c {
		return false
	}
	*old = c
	return true
}

// conditions returns the conditions that describe the content.
func (n *namespaceContent) conditions() []corev1.NamespaceCondition {
	condition := func(t corev1.NamespaceConditionType, failure, failureReason, reason, message string) corev1.NamespaceCondition {
		if failure != "" {
			return corev1.NamespaceCondition{Type: t, Status: corev1.ConditionTrue, Reason: failureReason, Message: failure}
		}
		return corev1.NamespaceCondition{Type: t, Status: corev1.ConditionFalse, Reason: reason, Message: message}
	}
	return []corev1.NamespaceCondition{
		condition(corev1.NamespaceDeletionDiscoveryFailure, n.discoveryFailure(),
			"DiscoveryFailed", "ResourcesDiscovered", "All resources successfully discovered"),
		// Group versions are parsed when they are registered, so this one never fails.
		condition(corev1.NamespaceDeletionGVParsingFailure, "",
			"GroupVersionParsingFailed", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
		condition(corev1.NamespaceDeletionContentFailure, n.deletionFailure(),
			"ContentDeletionFailed", "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
		condition(corev1.NamespaceContentRemaining, countsText("Some resources are remaining: ", n.resources, "%s has %d resource instances"),
			"SomeResourcesRemain", "ContentRemoved", "All content successfully removed"),
		condition(corev1.NamespaceFinalizersRemaining,
			countsText("Some content in the namespace has finalizers remaining: ", n.finalizers,
				"%s in %d resource instances"),
			"SomeFinalizersRemain", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
	}
}

// discoveryFailure describes the group versions whose resources are unknown, or is empty.
func (n *namespaceContent) discoveryFailure() string {
	if len(n.undiscovered) == 0 {
		return ""
	}
	var parts []string
	for _, gv := range n.undiscovered {
		parts = append(parts, fmt.Sprintf("%[1]s: stale GroupVersion discovery: %[1]s", gv))
	}
	slices.Sort(parts)
	return fmt.Sprintf("Discovery failed for some groups, %d failing: unable to retrieve the complete list of server APIs: %s",
		len(parts), strings.Join(parts, ", "))
}

// deletionFailure describes the failed deletions, or is empty.
func (n *namespaceContent) deletionFailure() string {
	if len(n.failures) == 0 {
		return ""
	}
	var parts []string
	for _, err := range n.failures {
		parts = append(parts, err.Error())
	}
	slices.Sort(parts)
	return fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(parts), strings.Join(parts, ", "))
}

// countsText lists counts in a format after an introduction. It is empty if there are none.
func countsText(introduction string, counts map[string]int, format string) string {
	if len(counts) == 0 {
		return ""
	}
	var parts []string
	for name, n := range counts {
		parts = append(parts, fmt.Sprintf(format, name, n))
	}
	slices.Sort(parts)
	return introduction + strings.Join(parts, ", ")
}
