// Package pod describes Pod with its subresources (binding, eviction, exec, log, resize,
// status ...), and the defaults, rules and warnings of pod templates, which the kinds of
// other groups use.
//
// Read pod.go first: it is the description. pod_default.go has the defaults,
// pod_validate.go the rules of a pod as a whole; the rules of its parts are in files named
// for the part (container_validate.go, volume_validate.go, security_validate.go ...), and
// the rules of updates in pod_update.go and pod_resize.go.
package pod
