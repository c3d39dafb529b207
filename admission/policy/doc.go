// Package policy is the two plugins whose decisions are expressions:
// ValidatingAdmissionPolicy and MutatingAdmissionPolicy.
//
// The nouns: a policy is compiled once for each generation of its object; a
// binding says where a policy applies, with which parameters and what comes of
// it; a hook is a policy with its bindings. Objects are followed in the caches,
// so that a policy is in force as soon as the cache has it; when there is none, a
// write costs two comparisons.
//
// What a request is to expressions, and whether rules are about it, is package
// match's business; compiling and evaluating that of package expression. The
// Checker tells, for the status of policies, what is wrong with expressions when
// the types of the objects they are about are known.
package policy
