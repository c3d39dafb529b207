// Package declarative applies the validation rules that the published types of Kubernetes state
// in markers, such as +k8s:required and +k8s:maxItems=4.
//
// The rules are a table, rules.txt, which internal/markers writes from the types. A Table is the
// parsed table with the rules that a server enforces: a rule without a stage always, one in the
// stage beta(1.37) from release 1.37 on, one in alpha never. Table.Program compiles the rules for
// the objects of one Go type, and Program.Validate applies them:
//
//	k8s.io/api/core/v1.PodSpec
//		EvictionResponders maxItems=10
//		EvictionResponders optional
//
// The order of checks, their messages and causes are those of kube-apiserver:
//
//   - The rules of a type come before those of its fields.
//   - The short-circuit rules of a field come first (required, optional, immutable, maxItems ...).
//     If one of them fails, the other rules of the field and the value's own rules are not checked.
//     An optional field that is empty fails without an error. A short-circuit rule that is not
//     enforced hides later rules all the same.
//   - An update does not check again what it does not change: a field that is equal to the field
//     of the corresponding stored value. Elements of a list correspond by their keys (items=map),
//     by their value (items=set), or not at all.
//
// Merge joins the errors with those of rules that are written by hand.
//
// Read table.go first, then program.go, walk.go and rules.go.
package declarative

//go:generate go run ./internal/markers
