// Package claim describes PersistentVolumeClaim, and the rules and defaults for the claim
// templates of pods and StatefulSets.
package claim
