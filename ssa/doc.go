// Package ssa implements field management: it maintains metadata.managedFields on every write, and
// merges server-side apply patches.
//
// A Set is a tree of owned fields, in JSON fieldsV1. An owner is one entry of managedFields: a
// manager with its Set. A Type is the compiled schema of a value, which determines the granularity
// of ownership: a set, a list of keyed items, or an atomic value. A difference is a Set that marks
// how two objects differ.
//
// Read manager.go first. Update and Apply (update.go, apply.go) are the two operations. Both
// compute the difference between the object before and after the write; all other owners lose the
// changed fields and the writer gains them. diff_typed.go compares Go objects by reflection, along a
// plan (plan.go) compiled once per type, which suffices for all writes except applies. diff.go
// compares decoded JSON, for applies and custom resources. set.go implements the algebra of Sets;
// merge.go, fields.go, remove.go and prune.go implement apply.
//
// The behaviour is the one of kube-apiserver's field manager. Tests compare it with managedFields
// of k8s.io/apimachinery over random histories.
package ssa
