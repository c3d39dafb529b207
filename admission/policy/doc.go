// Package policy implements the admission plugins whose decisions are CEL expressions:
// ValidatingAdmissionPolicy and MutatingAdmissionPolicy.
//
// A policy is compiled once per generation of its object. A binding selects where a policy applies,
// its parameters and the resulting actions. A hook is a policy with its bindings. Policies are read
// from the caches, so that they apply as soon as the cache has them; without policies a write costs
// two comparisons.
//
// Package match decides whether a policy applies to a request and provides the variables; package
// expression compiles and evaluates. The Checker type-checks expressions for the status of
// policies.
package policy
