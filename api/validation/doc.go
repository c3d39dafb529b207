// Package validation contains the building blocks of validation functions.
//
// A rule is a function that takes the Path of a field and its value, and records an error
// if the value is invalid: Required, Immutable, Enum, NonNegative, Format. A kind combines
// rules in a function that takes its Go type; Rules and Changes convert this function to
// the signature of the kind's strategies. Messages, causes and the order of errors are those
// of kube-apiserver; messages print values as its internal types (internal_form.go).
//
//	func leaseRules(at *validation.Path, l *coordinationv1.Lease) {
//		if d := l.Spec.LeaseDurationSeconds; d != nil {
//			validation.Positive(at.Child("spec").Child("leaseDurationSeconds"), *d)
//		}
//	}
//
// Read path.go first, then names.go, rules_format.go, rules_object.go and declarative.go.
// Warnings are recorded in the same way (warnings.go). fastpath.go accepts common valid
// values without a regular expression.
package validation
