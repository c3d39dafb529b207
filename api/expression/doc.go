// Package expression compiles and evaluates the CEL expressions of admission:
// those of policies and of the match conditions of webhooks.
//
// A Compiler has the environment of an expression and the variables that were declared
// before it. A Program is a compiled expression, or its compile error. A Frame evaluates
// programs for one request within a cost budget, and computes each variable at most once,
// when it is first needed.
//
// The function libraries are those of kube-apiserver. Package api compiles expressions to
// validate policies and webhooks; package admission evaluates them. This package does not
// depend on kinds.
package expression
