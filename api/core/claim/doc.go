// Package claim describes PersistentVolumeClaim, with the rules and defaults that the claims
// of a pod or of a StatefulSet have too.
package claim
