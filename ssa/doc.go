// Package ssa is field management: it keeps metadata.managedFields on every
// write, and merges what is applied server-side.
//
// The nouns: a Set is a tree of the fields that somebody owns, as fieldsV1
// spells it; an owner is one entry of managedFields, a manager with its Set; a
// Type is what the schema says of a value, which decides how far ownership goes
// into it (a set, a list of keyed items, or one atomic whole); a difference is
// a Set whose members say how two objects differ.
//
// Read manager.go first: Update and Apply are the two things that happen to an
// object (update.go, apply.go). Both come down to the difference between what is
// there and what will be, which every other owner loses and the writer gains.
// differ_go.go finds it between Go objects by reflection, along a plan (plan.go)
// made once per type, since all writes but applies need no more; differ.go finds
// it between plain JSON values, for applies and custom resources. set.go is the
// algebra of Sets, merge.go, fields.go, remove.go and prune.go what applies do.
//
// The behaviour is that of kube-apiserver's field manager, and the tests hold
// it to k8s.io/apimachinery's managedfields over random histories.
package ssa
